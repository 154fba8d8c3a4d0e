package profile

// cell returns i such that the segment [i, i+1] of a rising axis holds x, or is the outermost one on x's side. O(log
// n).
func cell(axis []float64, x float64) int {
	lo, hi := 0, len(axis)-2
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if axis[mid] <= x {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// linear interpolates between the points around x and goes on with the end segments outside.
func linear(axis, values []float64, x float64) float64 {
	i := cell(axis, x)
	return along(axis[i], values[i], axis[i+1], values[i+1], x)
}

// bilinear interpolates in the cell around (x, y), values row by row, along x first, and goes on with the edge cells
// outside.
func bilinear(xs, ys, values []float64, x, y float64) float64 {
	i, j := cell(xs, x), cell(ys, y)
	low, high := values[i*len(ys)+j:], values[(i+1)*len(ys)+j:]
	z0 := along(xs[i], low[0], xs[i+1], high[0], x)
	z1 := along(xs[i], low[1], xs[i+1], high[1], x)
	return along(ys[j], z0, ys[j+1], z1, y)
}

// along is the value at x of the line through (x0, v0) and (x1, v1), by its slope: in this order, and without fused
// multiply-add, it rounds as the reference does.
func along(x0, v0, x1, v1, x float64) float64 {
	slope := (v1 - v0) / (x1 - x0)
	return float64(slope*(x-x0)) + v0
}

// within reports whether x lies on the axis.
func within(axis []float64, x float64) bool { return x >= axis[0] && x <= axis[len(axis)-1] }
