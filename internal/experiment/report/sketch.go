package report

import (
	"maps"
	"math"
	"slices"
)

// alpha is the relative error of the sketch's percentiles.
const alpha = 0.001

// sketchMath holds the constants of the reference's DDSketch (spec simulation-harness §2.4).
type sketchMath struct{ gamma, perLog, logGamma float64 }

func newSketchMath() sketchMath {
	l := math.Log1p(2 * alpha / (1 - alpha))
	inv := 1 / l
	return sketchMath{gamma: 1 + 2*alpha/(1-alpha), perLog: inv, logGamma: 1 / inv}
}

// key returns the bin of x > 0.
func (m sketchMath) key(x float64) int32 { return int32(math.Ceil(math.Log(x) * m.perLog)) }

// value returns what stands for a bin.
func (m sketchMath) value(key int32) float64 {
	return math.Exp(float64(key)*m.logGamma) * (2 / (1 + m.gamma))
}

// upper returns the upper bound of a bin, up to rounding.
func (m sketchMath) upper(key int32) float64 { return math.Exp(float64(key) * m.logGamma) }

// sketch counts samples in bins of equal ratio.
type sketch struct {
	math   sketchMath
	bins   map[int32]int64
	zeros  int64
	count  int64
	single float64 // the sample, while there is only one
}

func newSketch(m sketchMath) *sketch { return &sketch{math: m, bins: make(map[int32]int64)} }

// add counts x, of bin key, n times.
func (s *sketch) add(x float64, key int32, n int64) {
	s.single = x
	s.count += n
	if x == 0 {
		s.zeros += n
		return
	}
	s.bins[key] += n
}

// percentiles returns the values at the percentiles ps. O(bins log bins).
func (s *sketch) percentiles(ps ...float64) []float64 {
	out := make([]float64, len(ps))
	if s.count == 0 {
		return out
	}
	keys := slices.Sorted(maps.Keys(s.bins))
	for i, p := range ps {
		out[i] = s.at(keys, s.index(p))
	}
	return out
}

// index returns which sample, in ascending order, stands for percentile p.
func (s *sketch) index(p float64) int64 {
	span := s.count - 1
	r := math.Floor(float64(span)*p/100 + 0.5)
	q := 1.0
	if span > 0 && r < float64(span) {
		q = (r + 0.5) / float64(span)
	}
	return int64(math.Floor(q * float64(span)))
}

func (s *sketch) at(keys []int32, index int64) float64 {
	if s.count == 1 {
		return s.single
	}
	seen := s.zeros
	if index < seen {
		return 0
	}
	for _, k := range keys {
		seen += s.bins[k]
		if index < seen {
			return s.math.value(k)
		}
	}
	return s.math.value(keys[len(keys)-1])
}
