package compare

import (
	"math"
	"math/rand/v2"

	"fakellm/engine"
)

// Phase is a kind of half pass.
type Phase string

// The phases, in the order in which tables list them.
const (
	Prefill Phase = "prefill"
	Prefix  Phase = "with prefix"
	Decode  Phase = "decode"
)

// phases returns all phases in order.
func phases() []Phase { return []Phase{Prefill, Prefix, Decode} }

// Limits of the drawn shapes (spec analytic-timing §4).
const (
	mostNew     = 32 << 10
	mostBatch   = 32
	mostTokens  = 64 << 10 // new tokens of a batch
	mostDecode  = 512
	leastLength = 128
	mostLength  = 64 << 10
	mostKV      = 2 << 20 // batch times context
	prefixShare = 16      // a prefix is at most this many times the new tokens
)

// Shape is one half of a pass; the other one is empty.
type Shape struct {
	Phase   Phase
	Prefill engine.PrefillBatch
	Decode  engine.DecodeBatch
}

// Draw draws a shape of the phase: sizes spread evenly on a logarithmic scale, prefill of 1 to 32k new tokens in
// batches of 1 to 32, up to 32k of them cached but no more than sixteen times the new ones, decode of 1 to 512 requests
// at contexts of 128 to 64k, at most 2M tokens together.
func Draw(r *rand.Rand, phase Phase) Shape {
	s := Shape{Phase: phase}
	if phase == Decode {
		n := logUniform(r, 1, mostDecode)
		context := logUniform(r, leastLength, min(mostLength, mostKV/n))
		s.Decode = engine.DecodeBatch{Requests: n, ActiveKV: n * context, MeanContext: context, TotalKV: mostKV}
		return s
	}
	fresh := logUniform(r, 1, mostNew)
	n := logUniform(r, 1, max(1, min(mostBatch, mostTokens/fresh)))
	prefix := 0
	if phase == Prefix {
		prefix = logUniform(r, 1, min(mostNew, prefixShare*fresh))
	}
	s.Prefill = engine.PrefillBatch{Requests: n, MeanISL: fresh + prefix, MeanPrefix: prefix}
	return s
}

// logUniform draws from least to most, both included, evenly in the logarithm.
func logUniform(r *rand.Rand, least, most int) int {
	lo, hi := math.Log(float64(least)), math.Log(float64(most)+1)
	return min(most, max(least, int(math.Exp(lo+r.Float64()*(hi-lo)))))
}
