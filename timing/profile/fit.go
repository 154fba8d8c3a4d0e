package profile

import (
	"fmt"
	"math"
)

// plane is a fit: intercept + a·x + b·y, floored at a microsecond, all in seconds.
type plane struct{ intercept, a, b float64 }

const minPredicted = 1e-6

func (p plane) at(x, y float64) float64 { return max(minPredicted, p.intercept+p.a*x+p.b*y) }

// fitLine is the least-squares line through (x, t).
func fitLine(x, t []float64) plane {
	mx, mt := mean(x), mean(t)
	var sxx, sxt float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxt += (x[i] - mx) * (t[i] - mt)
	}
	if sxx == 0 {
		return plane{intercept: mt}
	}
	a := sxt / sxx
	return plane{intercept: mt - a*mx, a: a}
}

// fitPlane is the least-squares plane through (x, y, t), the smallest one if x and y are proportional. It
// orthogonalises the centred x against the centred y, which keeps the error at the condition of the data, not its
// square.
func fitPlane(x, y, t []float64) plane {
	mx, my, mt := mean(x), mean(y), mean(t)
	var sxx, sxy, syy, sxt, syt float64
	for i := range x {
		u, v, w := x[i]-mx, y[i]-my, t[i]-mt
		sxx, sxy, syy, sxt, syt = sxx+u*u, sxy+u*v, syy+v*v, sxt+u*w, syt+v*w
	}
	if syy == 0 {
		line := fitLine(x, t)
		return line
	}
	var rr, rt float64
	for i := range x {
		r := (x[i] - mx) - sxy/syy*(y[i]-my)
		rr += r * r
		rt += r * (t[i] - mt)
	}
	var p plane
	if rr <= 1e-24*sxx || sxx == 0 {
		p.a, p.b = sxt/(sxx+syy), syt/(sxx+syy)
	} else {
		p.a = rt / rr
		p.b = (syt - p.a*sxy) / syy
	}
	p.intercept = mt - p.a*mx - p.b*my
	return p
}

func mean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// checkSlope refuses a fit in which more work takes less time.
func checkSlope(half, axis string, slope float64) error {
	if slope < 0 || math.IsNaN(slope) || math.IsInf(slope, 0) {
		return fmt.Errorf("%s: the fitted time falls with %s (slope %v s per token): more or better points are needed",
			half, axis, slope)
	}
	return nil
}
