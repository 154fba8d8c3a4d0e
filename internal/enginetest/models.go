// Package enginetest holds what tests of the engine share: small timing models, a sink that keeps records and checks
// the laws, a runner of scenario files, and a slow twin of the vLLM core.
package enginetest

import (
	"errors"
	"math"
	"time"

	"fakellm/engine"
)

// Fixed takes the same time for every batch.
type Fixed struct{ PrefillTime, DecodeTime time.Duration }

// Prefill implements engine.StepModel.
func (m Fixed) Prefill(engine.PrefillBatch) (time.Duration, error) { return m.PrefillTime, nil }

// Decode implements engine.StepModel.
func (m Fixed) Decode(engine.DecodeBatch) (time.Duration, error) { return m.DecodeTime, nil }

// Poly is the reference's polynomial (spec engine-core §6.2) with its speed-ups (§6.5); 0 stands for 1.
type Poly struct{ Speedup, DecodeSpeedup float64 }

// Prefill implements engine.StepModel.
func (m Poly) Prefill(b engine.PrefillBatch) (time.Duration, error) {
	t := float64(b.Requests * b.New())
	x := float64(4.209989e-07*float64(t*t)) + float64(1.518344e-02*t)
	return scale(float64(x)+1.650142e+01, m.Speedup), nil
}

// Decode implements engine.StepModel.
func (m Poly) Decode(b engine.DecodeBatch) (time.Duration, error) {
	u := min(1, float64(b.ActiveKV)/float64(b.TotalKV))
	x := float64(-25.74*float64(u*u)) + float64(54.01*u)
	ratio := m.Speedup
	if m.DecodeSpeedup > 0 {
		ratio = max(ratio, 1) * m.DecodeSpeedup
		if m.Speedup > 0 {
			ratio = m.Speedup * m.DecodeSpeedup
		}
	}
	return scale(max(1, float64(x)+5.74), ratio), nil
}

// scale turns milliseconds into a duration under a speed-up.
func scale(ms, ratio float64) time.Duration {
	d := Nanos(ms / 1000)
	if ratio > 0 && d > 0 {
		d = Nanos(float64(d) / 1e9 / ratio)
	}
	return d
}

// Nanos rounds seconds to whole nanoseconds, ties of the exact product to even (spec §6.5).
func Nanos(seconds float64) time.Duration {
	p := float64(seconds * 1e9)
	whole := math.Floor(p)
	rest := math.FMA(seconds, 1e9, -p)
	if f := p - whole; f > 0.5 || f == 0.5 && (rest > 0 || rest == 0 && math.Mod(whole, 2) == 1) {
		whole++
	}
	return time.Duration(whole)
}

// Broken cannot time anything.
type Broken struct{}

// Prefill implements engine.StepModel.
func (Broken) Prefill(engine.PrefillBatch) (time.Duration, error) {
	return 0, errors.New("no such shape")
}

// Decode implements engine.StepModel.
func (Broken) Decode(engine.DecodeBatch) (time.Duration, error) {
	return 0, errors.New("no such shape")
}
