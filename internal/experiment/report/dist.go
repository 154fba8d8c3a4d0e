package report

import (
	"math"
	"slices"
)

// Dist describes a distribution. The zero value is that of no samples.
type Dist struct {
	Count                                           int
	Mean, Min, Max, Median, P75, P90, P95, P99, Std float64
}

// Exact describes samples exactly, which it sorts: population deviation, nearest rank, halves up, no interpolation
// (spec simulation-harness §2.4). O(n log n).
func Exact(samples []float64) Dist {
	n := len(samples)
	if n == 0 {
		return Dist{}
	}
	sum := 0.0
	for _, x := range samples {
		sum += x
	}
	mean := sum / float64(n)
	squares := 0.0
	for _, x := range samples {
		squares += (x - mean) * (x - mean)
	}
	slices.Sort(samples)
	at := func(p float64) float64 { return samples[int(math.Floor(float64(n-1)*p/100+0.5))] }
	return Dist{
		Count: n, Mean: mean, Min: samples[0], Max: samples[n-1], Std: math.Sqrt(squares / float64(n)),
		Median: at(50), P75: at(75), P90: at(90), P95: at(95), P99: at(99),
	}
}
