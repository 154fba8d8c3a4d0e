package journal

import (
	"strings"
	"time"
)

// Record is one request. Zero members were not known. All spans are milliseconds.
type Record struct {
	// Seq counts requests from 1; ID is the request id that the client saw and may repeat if clients choose ids.
	Seq  uint64    `json:"seq"`
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Open is true until the request has been answered.
	Open    bool   `json:"open,omitempty"`
	Method  string `json:"method"`
	Route   string `json:"route"`
	Model   string `json:"model,omitempty"`
	Session string `json:"session,omitempty"`
	// Key is the redacted API key, Header the headers with secrets redacted.
	Key    string              `json:"key,omitempty"`
	Header map[string][]string `json:"headers,omitempty"`
	// Retry is x-stainless-retry-count.
	Retry int `json:"retry"`
	// Body is the start of the body, BodyBytes the length of all of it.
	Body      string `json:"body,omitempty"`
	BodyBytes int    `json:"body_bytes"`

	// Status is 499 when the client left before the first byte, 0 when a fault ended the connection before it.
	Status int     `json:"status,omitempty"`
	TookMs float64 `json:"took_ms,omitempty"`
	Stream bool    `json:"stream,omitempty"`
	// Disconnected says that the client left before the end.
	Disconnected  bool     `json:"disconnected,omitempty"`
	Error         string   `json:"error,omitempty"`
	FinishReasons []string `json:"finish_reasons,omitempty"`
	Usage         *Usage   `json:"usage,omitempty"`
	// Events and Bytes that left as a stream.
	Events int64 `json:"events,omitempty"`
	Bytes  int64 `json:"bytes,omitempty"`
	// Predicted are the times of the model, Observed those at which bytes left; behind a fault its gap counts the tokens
	// that did.
	Predicted *Latency `json:"predicted,omitempty"`
	Observed  *Latency `json:"observed,omitempty"`
	Timeline  Timeline `json:"timeline,omitzero"`
	// Fault is the plan, Fired what of it came about.
	Fault string `json:"fault,omitempty"`
	Fired string `json:"fault_fired,omitempty"`
	// Mapping is the scripted reply that answered; NearMisses explain that none did.
	Mapping    string   `json:"mapping,omitempty"`
	NearMisses []string `json:"near_misses,omitempty"`
	// Limited is requests or tokens when a rate limit refused.
	Limited string `json:"limited,omitempty"`
}

// Usage is what was counted, in tokens.
type Usage struct {
	Prompt     int `json:"prompt_tokens"`
	Cached     int `json:"cached_tokens"`
	Completion int `json:"completion_tokens"`
	Reasoning  int `json:"reasoning_tokens,omitempty"`
}

// Latency is the time to the first token, the mean gap between tokens and the time to the last, in milliseconds.
type Latency struct {
	TTFT  float64 `json:"ttft_ms"`
	ITL   float64 `json:"itl_ms"`
	Total float64 `json:"total_ms"`
}

// Timeline are the modelled instants of a request in the engine.
type Timeline struct {
	Submitted  time.Time `json:"submitted,omitzero"`
	Admitted   time.Time `json:"admitted,omitzero"`
	FirstToken time.Time `json:"first_token,omitzero"`
	LastToken  time.Time `json:"last_token,omitzero"`
}

// Latency is what a timeline predicts for a number of tokens; nil while the last token is unknown.
func (t Timeline) Latency(tokens int) *Latency {
	if t.Submitted.IsZero() || t.FirstToken.IsZero() || t.LastToken.IsZero() {
		return nil
	}
	l := Latency{TTFT: ms(t.FirstToken.Sub(t.Submitted)), Total: ms(t.LastToken.Sub(t.Submitted))}
	if tokens > 1 {
		l.ITL = ms(t.LastToken.Sub(t.FirstToken)) / float64(tokens-1)
	}
	return &l
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// recordSize is what a Record costs beside its texts, in bytes.
const recordSize = 768

// size estimates the memory of a record, in bytes.
func (r *Record) size() int {
	n := recordSize + len(r.ID) + len(r.Model) + len(r.Session) + len(r.Body) + len(r.Error) + len(r.Fault) + len(r.Fired)
	for k, vs := range r.Header {
		n += 64 + len(k)
		for _, v := range vs {
			n += 16 + len(v)
		}
	}
	for _, s := range r.NearMisses {
		n += 16 + len(s)
	}
	return n
}

// cut keeps at most n bytes, whole characters only.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
