package timing

import "fakellm/engine"

// Polynomial is the default source: two fitted curves of an unnamed 8-billion-parameter deployment, spec engine-core
// §6.2. The zero value is ready for use.
type Polynomial struct{}

// PrefillMS returns 4.209989e-07·t² + 1.518344e-02·t + 16.50142 ms for t new tokens in the batch. O(1).
func (Polynomial) PrefillMS(b engine.PrefillBatch) (float64, error) {
	t := float64(b.Requests) * float64(b.New())
	// The conversions forbid fused multiply-add: another order of rounding moves results by a nanosecond.
	return float64(float64(4.209989e-07*float64(t*t))+float64(1.518344e-02*t)) + 1.650142e+01, nil
}

// DecodeMS returns max(1, −25.74·u² + 54.01·u + 5.74) ms where u is the used share of the pool, at most 1. The number
// of requests does not matter. O(1).
func (Polynomial) DecodeMS(b engine.DecodeBatch) (float64, error) {
	u := 1.0
	if b.TotalKV > 0 {
		u = min(1, float64(b.ActiveKV)/float64(b.TotalKV))
	}
	return max(1, float64(float64(-25.74*float64(u*u))+float64(54.01*u))+5.74), nil
}
