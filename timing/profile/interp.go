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
	return mix(values[i], values[i+1], (x-axis[i])/(axis[i+1]-axis[i]))
}

// bilinear interpolates in the cell around (x, y), values row by row, and goes on with the edge cells outside.
func bilinear(xs, ys, values []float64, x, y float64) float64 {
	i, j := cell(xs, x), cell(ys, y)
	u, v := (x-xs[i])/(xs[i+1]-xs[i]), (y-ys[j])/(ys[j+1]-ys[j])
	low, high := values[i*len(ys)+j:], values[(i+1)*len(ys)+j:]
	return mix(mix(low[0], low[1], v), mix(high[0], high[1], v), u)
}

// mix is a + (b−a)·t without fused multiply-add, so that every platform gives the same bits.
func mix(a, b, t float64) float64 { return a + float64((b-a)*t) }

// within reports whether x lies on the axis.
func within(axis []float64, x float64) bool { return x >= axis[0] && x <= axis[len(axis)-1] }
