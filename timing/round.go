package timing

import (
	"fmt"
	"math"
	"time"
)

// maxNanos is the first float64 beyond the range of time.Duration, 2^63.
const maxNanos = float64(1 << 63)

// maxSteady bounds the durations (13 days) that a conversion to seconds and back certainly returns unchanged.
const maxSteady = time.Duration(1) << 50

// roundMS turns raw milliseconds into whole nanoseconds: the float64 quotient raw/1000 in seconds, times 1e9 without a
// further rounding, to the nearest integer, ties to even (spec engine-core §6.5). It refuses NaN, infinities, negative
// values and what does not fit a Duration (292 years). O(1), no allocation.
func roundMS(raw float64) (time.Duration, error) {
	if !(raw >= 0) || math.IsInf(raw, 1) {
		return 0, fmt.Errorf("duration %v ms: must be finite and not negative", raw)
	}
	return roundSeconds(raw / 1000)
}

// roundSeconds rounds q seconds, q ≥ 0 and finite, to nanoseconds.
//
// The product p = q·1e9 is itself rounded, but below 2^52 halves are representable, so forming p cannot cross one and
// rounding p gives the rounding of the exact product unless p is exactly a half; then the sign of the exact residual
// decides. From 2^53 on p is even and the residual holds the missing units.
func roundSeconds(q float64) (time.Duration, error) {
	p := float64(q * 1e9)
	if p >= maxNanos {
		return 0, fmt.Errorf("duration %v s: beyond the largest representable duration", q)
	}
	whole := time.Duration(p)
	switch frac := p - float64(whole); {
	case frac > 0.5:
		return whole + 1, nil
	case frac == 0.5:
		if r := math.FMA(q, 1e9, -p); r > 0 || r == 0 && whole&1 == 1 {
			whole++
		}
		return whole, nil
	case p < 1<<53:
		return whole, nil
	}
	return addUnits(whole, math.RoundToEven(math.FMA(q, 1e9, -p)))
}

// addUnits adds the residual of a product beyond 2^53, in whole nanoseconds.
func addUnits(d time.Duration, units float64) (time.Duration, error) {
	sum := d + time.Duration(units)
	if sum < 0 {
		return 0, fmt.Errorf("duration %v: beyond the largest representable duration", d)
	}
	return sum, nil
}

// scale divides an already rounded duration by ratio and rounds again; ratio 0 means unscaled (spec engine-core §6.5).
func scale(d time.Duration, ratio float64) (time.Duration, error) {
	if ratio == 0 || d == 0 || ratio == 1 && d < maxSteady {
		return d, nil
	}
	return roundSeconds(seconds(d) / ratio)
}

// seconds is whole seconds plus nanoseconds/1e9, both in float64: the reference's own conversion.
func seconds(d time.Duration) float64 {
	return float64(d/time.Second) + float64(d%time.Second)/1e9
}
