package profile

import "fakellm/engine"

// DecodeRowMS implements timing.RowSource: [Profile.DecodeMS] pass by pass, with the slopes of a cell kept as long as
// the passes stay in it. O(passes).
func (p *Profile) DecodeRowMS(out []float64, b engine.DecodeBatch) (outside int, err error) {
	xs, ys, columns := p.kv.points, p.contexts.points, len(p.contexts.points)
	x, y, step := float64(b.ActiveKV), float64(b.MeanContext), float64(b.Requests)
	var c gridCell
	for k := range out {
		if k == 0 || !c.holds(x, y) {
			i, j := p.kv.find(x), p.contexts.find(y)
			low, high := p.arrays.DecodeITL[i*columns+j:], p.arrays.DecodeITL[(i+1)*columns+j:]
			c = gridCell{
				x0: xs[i], x1: xs[i+1], y0: ys[j], y1: ys[j+1], v0: low[0], v1: low[1],
				slope0: (high[0] - low[0]) / (xs[i+1] - xs[i]), slope1: (high[1] - low[1]) / (xs[i+1] - xs[i]),
			}
		}
		out[k] = max(minDecodeMS, c.at(x, y))
		if !p.kv.covers(x) || !p.contexts.covers(y) {
			outside++
		}
		x, y = x+step, y+1
	}
	return outside, nil
}

// gridCell is a cell of the decode grid: its corner, its slopes along x at both ends of y.
type gridCell struct{ x0, x1, y0, y1, v0, v1, slope0, slope1 float64 }

// holds reports whether the point lies in the cell; one outside the grid never does and is looked up anew.
func (c *gridCell) holds(x, y float64) bool { return x >= c.x0 && x < c.x1 && y >= c.y0 && y < c.y1 }

// at is bilinear with the slopes at hand, in the same order of operations.
func (c *gridCell) at(x, y float64) float64 {
	z0, z1 := float64(c.slope0*(x-c.x0))+c.v0, float64(c.slope1*(x-c.x0))+c.v1
	return along(c.y0, z0, c.y1, z1, y)
}
