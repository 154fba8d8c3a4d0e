package engine

import (
	"math"

	"fakellm/internal/rng"
)

// defaultAcceptRates are the conditional acceptance probabilities when none are given (spec §8).
var defaultAcceptRates = [5]float64{0.85, 0.3, 0, 0, 0}

// sampler draws how many tokens a speculative burst yields. One per rank; equal seeds give equal bursts.
type sampler struct {
	source *rng.StdRng
	// below holds, per position, the bound a draw must stay under; sure marks a rate of exactly 1, which draws nothing.
	below []uint64
	sure  []bool
}

// newSampler returns the sampler of a rank: seed + worker*ranks + rank (spec §7.2).
func newSampler(cfg Config, rank int) *sampler {
	seed := cfg.AcceptSeed + uint64(cfg.WorkerID)*uint64(cfg.DPSize) + uint64(rank)
	rates := cfg.AcceptRates
	if len(rates) == 0 {
		rates = defaultAcceptRates[:]
	}
	s := &sampler{source: rng.NewStdRng(seed)}
	for i := range cfg.NumSpeculativeTokens {
		rate := 0.0
		if i < len(rates) {
			rate = rates[i]
		}
		s.sure = append(s.sure, rate >= 1)
		bound := uint64(0)
		if rate < 1 {
			bound = uint64(math.Ldexp(rate, 64))
		}
		s.below = append(s.below, bound)
	}
	return s
}

// accept counts one forward that yielded n tokens, n-1 of them drafts.
func (p *Pass) accept(n int) {
	p.Accepted += n
	p.Forwards++
	for i := range n - 1 {
		p.AcceptedAt[i]++
	}
}

// draw returns 1 plus the number of accepted drafts.
func (s *sampler) draw() int {
	n := 1
	for i, bound := range s.below {
		if !s.sure[i] && s.source.Uint64() >= bound {
			break
		}
		n++
	}
	return n
}
