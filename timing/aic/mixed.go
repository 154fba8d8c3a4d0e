package aic

import (
	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/perf"
)

// Mixed is the time of one iteration that carries prompt tokens and decode requests, by its parts in milliseconds.
type Mixed struct {
	// TotalMS is the sum of the other three.
	TotalMS, SharedMS, ContextAttentionMS, DecodeAttentionMS float64
}

// MixedStep is a mixed iteration as a sweep composes it (spec aic-timing §6.3): ctx prompt tokens of requests with isl
// tokens each, prefix of them cached, and gen decode requests that will write osl tokens.
func (m *Model) MixedStep(ctx, gen, isl, osl, prefix int) (Mixed, error) {
	for _, err := range []error{
		sized("ctx", ctx, 0), sized("gen", gen, 0), sized("isl", isl, 1), sized("osl", osl, 0), sized("prefix", prefix, 0),
	} {
		if err != nil {
			return Mixed{}, err
		}
	}
	if ctx == 0 && gen == 0 {
		return Mixed{}, nil
	}
	if ctx > 0 && prefix >= isl {
		return Mixed{}, fault.New(fault.BadShape, "no new token: prefix %d of isl %d", prefix, isl)
	}
	gen *= m.dep.NextN + 1
	cached := prefix * (ctx / isl)
	x := ctx + gen - cached
	if x <= 0 {
		return Mixed{}, fault.New(fault.BadShape, "no new token: %d cached of %d", cached, ctx+gen)
	}
	var out Mixed
	var err error
	shared := perf.Shape{Tokens: x, Batch: 1, S: x, Prefix: cached}
	if out.SharedMS, err = perf.Sum(m.db, m.contextRest, shared); err != nil {
		return Mixed{}, err
	}
	if ctx > 0 && len(m.contextAttention) > 0 {
		sh := perf.Shape{Batch: ceil(ctx, isl), S: isl - prefix, Prefix: prefix}
		if out.ContextAttentionMS, err = perf.Sum(m.db, m.contextAttention, sh); err != nil {
			return Mixed{}, err
		}
		out.ContextAttentionMS /= float64(ceil(isl, ctx))
	}
	if gen > 0 {
		sh := perf.Shape{Tokens: gen, Batch: gen, S: isl + osl/2 + 1}
		if out.DecodeAttentionMS, err = perf.Sum(m.db, m.generationAttention, sh); err != nil {
			return Mixed{}, err
		}
	}
	out.TotalMS, err = finite(out.SharedMS+out.ContextAttentionMS+out.DecodeAttentionMS, nil)
	return out, err
}

func ceil(a, b int) int { return (a + b - 1) / b }

// Rank is what one attention data-parallel rank did in a pass.
type Rank struct {
	// PrefillRequests with PrefillTokens new tokens after PrefillKVTokens cached or earlier ones.
	PrefillRequests int `json:"num_prefill_requests"`
	PrefillTokens   int `json:"sum_prefill_tokens"`
	PrefillKVTokens int `json:"sum_prefill_kv_tokens"`
	// DecodeRequests that read DecodeKVTokens in all.
	DecodeRequests int `json:"num_decode_requests"`
	DecodeKVTokens int `json:"sum_decode_kv_tokens"`
}

// TelemetryMS is the time of a pass from the counters of its ranks, in milliseconds: that of the slowest (§6.4). It
// prices a mixed pass once, and does not know multi-token prediction.
func (m *Model) TelemetryMS(ranks []Rank) (float64, error) {
	worst := 0.0
	for _, r := range ranks {
		ms, err := finite(m.rankMS(r))
		if err != nil {
			return 0, err
		}
		worst = max(worst, ms)
	}
	return worst, nil
}

func (m *Model) rankMS(r Rank) (float64, error) {
	for _, err := range []error{
		sized("num_prefill_requests", r.PrefillRequests, 0), sized("sum_prefill_tokens", r.PrefillTokens, 0),
		sized("sum_prefill_kv_tokens", r.PrefillKVTokens, 0), sized("num_decode_requests", r.DecodeRequests, 0),
	} {
		if err != nil {
			return 0, err
		}
	}
	if r.DecodeKVTokens < 0 || r.DecodeKVTokens > 1<<40 {
		return 0, fault.New(fault.BadShape, "sum_decode_kv_tokens is %d, want 0 to 2^40", r.DecodeKVTokens)
	}
	if r.PrefillRequests == 0 && r.PrefillTokens+r.PrefillKVTokens > 0 {
		return 0, fault.New(fault.BadShape, "prefill tokens without num_prefill_requests")
	}
	if r.DecodeRequests == 0 && r.DecodeKVTokens > 0 {
		return 0, fault.New(fault.BadShape, "sum_decode_kv_tokens is %d without num_decode_requests", r.DecodeKVTokens)
	}
	n, d := max(r.PrefillRequests, 1), max(r.DecodeRequests, 1)
	s, prefix, kv := r.PrefillTokens/n, r.PrefillKVTokens/n, r.DecodeKVTokens/d
	decode := perf.Shape{Tokens: d, Batch: d, S: kv}
	decoding := r.DecodeRequests > 0
	switch {
	case r.PrefillTokens > 0 && decoding:
		decode.S = max(kv, 1)
		return m.rankMixed(r, max(s, 1), prefix, decode)
	case r.PrefillTokens > 0:
		s = max(s, 1)
		return perf.Sum(m.db, m.lists.Context, perf.Shape{Tokens: n * s, Batch: n, S: s, Prefix: prefix})
	case decoding:
		return perf.Sum(m.db, m.lists.Generation, decode)
	}
	return 0, nil
}

func (m *Model) rankMixed(r Rank, s, prefix int, decode perf.Shape) (float64, error) {
	x := r.PrefillTokens + r.DecodeRequests
	shared, err := perf.Sum(m.db, m.contextRest, perf.Shape{Tokens: x, Batch: 1, S: x, Prefix: r.PrefillKVTokens})
	if err != nil {
		return 0, err
	}
	prompt, err := perf.Sum(m.db, m.contextAttention, perf.Shape{Batch: ceil(r.PrefillTokens, s), S: s, Prefix: prefix})
	if err != nil {
		return 0, err
	}
	reading, err := perf.Sum(m.db, m.generationAttention, decode)
	return shared + prompt/float64(max(1, ceil(s, r.PrefillTokens))) + reading, err
}
