package journal

import (
	"math"
	"slices"
	"strconv"
)

// Summary describes the records of a filter: how many, how they ended, and the shape of lengths and times.
type Summary struct {
	Requests     int            `json:"requests"`
	Open         int            `json:"open"`
	Streams      int            `json:"streams"`
	Retries      int            `json:"retries"`
	Disconnected int            `json:"disconnected"`
	Faulted      int            `json:"faulted"`
	Status       map[string]int `json:"status"`
	// ISL and OSL are prompt and completion tokens per request, Cached the prompt tokens of it that were reused.
	ISL    Spread `json:"isl_tokens"`
	OSL    Spread `json:"osl_tokens"`
	Cached Spread `json:"cached_tokens"`
	// Times of the model beside those observed, in milliseconds.
	PredictedTTFT Spread `json:"predicted_ttft_ms"`
	ObservedTTFT  Spread `json:"observed_ttft_ms"`
	PredictedITL  Spread `json:"predicted_itl_ms"`
	ObservedITL   Spread `json:"observed_itl_ms"`
}

// Spread is a distribution. Percentiles are of the nearest rank: the smallest value with at least that part at or
// below.
type Spread struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// spreadOf sorts v. The zero Spread stands for no values. O(n log n).
func spreadOf(v []float64) Spread {
	if len(v) == 0 {
		return Spread{}
	}
	slices.Sort(v)
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	rank := func(p float64) float64 { return v[max(int(math.Ceil(p*float64(len(v))))-1, 0)] }
	return Spread{
		Count: len(v), Mean: sum / float64(len(v)), Min: v[0],
		P50: rank(0.5), P90: rank(0.9), P99: rank(0.99), Max: v[len(v)-1],
	}
}

// Summarize describes what a filter chooses; its page is ignored.
func (j *Journal) Summarize(f Filter) Summary {
	s := Summary{Status: make(map[string]int)}
	var isl, osl, cached, pt, ot, pi, oi []float64
	latency := func(l *Latency, ttft, itl *[]float64) {
		if l == nil {
			return
		}
		*ttft = append(*ttft, l.TTFT)
		if l.ITL > 0 {
			*itl = append(*itl, l.ITL)
		}
	}
	for _, r := range j.Records() {
		if !f.Match(r) {
			continue
		}
		s.Requests++
		count := func(n *int, yes bool) {
			if yes {
				*n++
			}
		}
		count(&s.Open, r.Open)
		count(&s.Streams, r.Stream)
		count(&s.Retries, r.Retry > 0)
		count(&s.Disconnected, r.Disconnected)
		count(&s.Faulted, r.Fired != "")
		if r.Status != 0 {
			s.Status[strconv.Itoa(r.Status)]++
		}
		if u := r.Usage; u != nil {
			isl, osl = append(isl, float64(u.Prompt)), append(osl, float64(u.Completion))
			cached = append(cached, float64(u.Cached))
		}
		latency(r.Predicted, &pt, &pi)
		latency(r.Observed, &ot, &oi)
	}
	s.ISL, s.OSL, s.Cached = spreadOf(isl), spreadOf(osl), spreadOf(cached)
	s.PredictedTTFT, s.ObservedTTFT = spreadOf(pt), spreadOf(ot)
	s.PredictedITL, s.ObservedITL = spreadOf(pi), spreadOf(oi)
	return s
}
