// Package limit is rate limits as OpenAI reports them: for every API key one bucket of requests and one of tokens per
// minute, and as many again for every model that has limits of its own, with headers that are arithmetically right. Time
// is an argument, no clock is read.
//
// A Limiter is safe for concurrent use. Start reading at Limiter.Admit; bucket.go holds the arithmetic, header.go what
// a client sees.
//
// # Wiring
//
//	l, err := limit.New(limit.Config{Default: limit.Quota{RPM: 500, TPM: 30_000}})
//	who := limit.Who{Key: apiKey, Model: model}
//	d := l.Admit(time.Now(), who, promptTokens+maxTokens)
//	d.SetHeaders(w.Header())           // on success and on failure
//	if !d.OK() {
//		w.WriteHeader(http.StatusTooManyRequests)
//		w.Write(d.Body(model))         // or d.Message(model), d.Type() and Code for a dialect's own shape
//		return
//	}
//	// … and when real usage is known:
//	l.Settle(time.Now(), who, d, usage.TotalTokens)
package limit
