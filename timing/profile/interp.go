package profile

// axis is a rising axis that finds cells quickly if its points are evenly spaced, as those of a converted profile are.
type axis struct {
	points []float64
	// perToken is cells per token on average, for the first guess of find.
	perToken float64
}

func newAxis(points []float64) axis {
	n := len(points)
	return axis{points, float64(n-1) / (points[n-1] - points[0])}
}

// find returns the cell of x, see cell. O(1) on an even axis, else O(log n).
func (a *axis) find(x float64) int {
	guess, last := (x-a.points[0])*a.perToken, len(a.points)-2
	if !(guess > 0) {
		return 0
	}
	if guess >= float64(last+1) {
		return last
	}
	i := int(guess)
	if i > 0 && a.points[i] > x { // rounding put the guess one too high
		i--
	}
	if a.points[i] <= x && x < a.points[i+1] {
		return i
	}
	return cell(a.points, x)
}

// cell returns i such that the segment [i, i+1] of a rising axis holds x, or is the outermost one on x's side. O(log
// n).
func cell(points []float64, x float64) int {
	lo, hi := 0, len(points)-2
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if points[mid] <= x {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// linear interpolates between the points around x and goes on with the end segments outside.
func (a *axis) linear(values []float64, x float64) float64 {
	i := a.find(x)
	return along(a.points[i], values[i], a.points[i+1], values[i+1], x)
}

// bilinear interpolates in the cell around (x, y), values row by row, along x first, and goes on with the edge cells
// outside.
func bilinear(xs, ys *axis, values []float64, x, y float64) float64 {
	i, j, columns := xs.find(x), ys.find(y), len(ys.points)
	low, high := values[i*columns+j:], values[(i+1)*columns+j:]
	z0 := along(xs.points[i], low[0], xs.points[i+1], high[0], x)
	z1 := along(xs.points[i], low[1], xs.points[i+1], high[1], x)
	return along(ys.points[j], z0, ys.points[j+1], z1, y)
}

// along is the value at x of the line through (x0, v0) and (x1, v1), by its slope: in this order, and without fused
// multiply-add, it rounds as the reference does.
func along(x0, v0, x1, v1, x float64) float64 {
	slope := (v1 - v0) / (x1 - x0)
	return float64(slope*(x-x0)) + v0
}

// covers reports whether x lies on the axis.
func (a *axis) covers(x float64) bool { return x >= a.points[0] && x <= a.points[len(a.points)-1] }
