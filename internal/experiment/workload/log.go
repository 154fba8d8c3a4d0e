package workload

import "math"

// double is an unevaluated sum of two floats, about 106 bits.
type double struct{ hi, lo float64 }

func sum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

func (a double) plus(b double) double {
	s := sum(a.hi, b.hi)
	return sum(s.hi, s.lo+a.lo+b.lo)
}

func (a double) times(b double) double {
	p := a.hi * b.hi
	e := math.FMA(a.hi, b.hi, -p)
	return sum(p, e+(a.hi*b.lo+a.lo*b.hi))
}

func (a double) over(b double) double {
	q := a.hi / b.hi
	r := a.plus(b.times(double{-q, 0}))
	q2 := r.hi / b.hi
	r = r.plus(b.times(double{-q2, 0}))
	return sum(q, q2).plus(double{r.hi / b.hi, 0})
}

// ln returns the natural logarithm of x > 0, correctly rounded but for about one case in 10^14. The standard library's
// is one unit off now and then; the C library that the reference uses rounds correctly in all but one case in a
// thousand.
//
// x = 2^k·m, ln m = 2·atanh((m−1)/(m+1)) as a series.
func ln(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		k--
	}
	s := double{m - 1, 0}.over(sum(m, 1))
	square := s.times(s)
	series := double{}
	for i := 23; i >= 0; i-- {
		series = series.times(square).plus(double{1, 0}.over(double{float64(2*i + 1), 0}))
	}
	const ln2Low = 2.3190468138462995584e-17 // ln 2 minus its float
	out := s.times(series).times(double{2, 0})
	n := float64(k)
	out = out.plus(double{math.Ln2, ln2Low}.times(double{n, 0}))
	return out.hi
}
