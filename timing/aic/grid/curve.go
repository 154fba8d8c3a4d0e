// Package grid holds the interpolation rules of the AIConfigurator estimate (spec aic-timing §5): curves over one axis,
// nested ragged grids over three, and scattered GEMM sites. Values are milliseconds. Everything here is a pure function
// of its arguments; the structures are immutable after they are built and safe for concurrent use.
//
// A rule never knows what the numbers mean: the roofline of a point ("SOL", milliseconds) comes in as a function.
package grid

import (
	"errors"
	"slices"
)

// ErrMissing says that the data do not answer a query: no point, or none with a usable latency and roofline.
var ErrMissing = errors.New("no usable point")

// Curve is a set of points sorted by X, without duplicates. The zero value is empty and answers nothing.
type Curve struct {
	X, Y []float64
}

// At answers a query by the one-axis rule (§5.2): exact, linear between neighbours, and outside the utilisation of the
// nearest end held constant. sol gives the roofline at a coordinate. O(log n).
func (c *Curve) At(x float64, sol func(float64) float64) (float64, error) {
	if len(c.X) == 0 {
		return 0, ErrMissing
	}
	if y, ok := c.inside(x); ok {
		return y, nil
	}
	end := 0
	if x > c.X[0] {
		end = len(c.X) - 1
	}
	at, query := sol(c.X[end]), sol(x)
	if !(at > 0) || !(query > 0) || !(c.Y[end] > 0) {
		return 0, ErrMissing
	}
	return query / (at / c.Y[end]), nil
}

// inside answers exact and interior coordinates.
func (c *Curve) inside(x float64) (float64, bool) {
	i, exact := slices.BinarySearch(c.X, x)
	if exact {
		return c.Y[i], true
	}
	if i == 0 || i == len(c.X) {
		return 0, false
	}
	w := (x - c.X[i-1]) / (c.X[i] - c.X[i-1])
	return c.Y[i-1] + (c.Y[i]-c.Y[i-1])*w, true
}

// AtMedian is At with the GEMM's rule outside (§5.3): the median utilisation of up to three points at that end. A curve
// of one point is outside everywhere but at its point.
func (c *Curve) AtMedian(x float64, sol func(float64) float64) (float64, error) {
	if len(c.X) == 0 {
		return 0, ErrMissing
	}
	if y, ok := c.inside(x); ok {
		return y, nil
	}
	lo, hi := 0, min(3, len(c.X))
	if x > c.X[0] {
		lo, hi = max(0, len(c.X)-3), len(c.X)
	}
	var u [3]float64
	n := 0
	for i := lo; i < hi; i++ {
		at := sol(c.X[i])
		if at > 0 && c.Y[i] > 0 {
			u[n] = at / c.Y[i]
			n++
		}
	}
	query := sol(x)
	if n == 0 || !(query > 0) {
		return 0, ErrMissing
	}
	slices.Sort(u[:n])
	median := u[n/2]
	if n%2 == 0 {
		median = (u[n/2-1] + u[n/2]) / 2
	}
	return query / median, nil
}

// Holds reports whether x lies between the first and the last point.
func (c *Curve) Holds(x float64) bool {
	return len(c.X) > 0 && x >= c.X[0] && x <= c.X[len(c.X)-1]
}

// Nearest returns the X of the point closest to x, 0 for an empty curve.
func (c *Curve) Nearest(x float64) float64 {
	best := 0.0
	for i, v := range c.X {
		if i == 0 || abs(v-x) < abs(best-x) {
			best = v
		}
	}
	return best
}

func abs(v float64) float64 { return max(v, -v) }

// Point is one row on its way into a curve.
type Point struct{ X, Y float64 }

// NewCurve sorts points into a curve; of several with the same X the first in the list wins.
func NewCurve(points []Point) Curve {
	slices.SortStableFunc(points, func(a, b Point) int { return compare(a.X, b.X) })
	c := Curve{X: make([]float64, 0, len(points)), Y: make([]float64, 0, len(points))}
	for i, p := range points {
		if i > 0 && p.X == points[i-1].X {
			continue
		}
		c.X, c.Y = append(c.X, p.X), append(c.Y, p.Y)
	}
	return c
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
