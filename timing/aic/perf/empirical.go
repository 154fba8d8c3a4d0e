package perf

import (
	"fmt"
	"math"

	"fakellm/timing/aic/grid"
)

// sample is one measured utilisation at a place.
type sample struct {
	at   grid.Coord
	util float64
}

// utilAt estimates the utilisation at a place from samples (spec aic-timing §5.8): coordinates in logarithms, scaled
// to the samples' range per axis and clamped to it (an axis of one value puts everything above it at 1), the two
// nearest weighted by inverse distance; an exact hit answers alone. ok is false without samples.
func utilAt(samples []sample, at grid.Coord) (util float64, ok bool) {
	return utilNear(samples, at, 2)
}

// utilNear is utilAt over one or two points.
func utilNear(samples []sample, at grid.Coord, points int) (util float64, ok bool) {
	if len(samples) == 0 {
		return 0, false
	}
	lo, hi := lnAll(samples[0].at), lnAll(samples[0].at)
	for _, s := range samples {
		for a, v := range lnAll(s.at) {
			lo[a], hi[a] = min(lo[a], v), max(hi[a], v)
		}
	}
	scale := func(c grid.Coord) grid.Coord {
		for a, v := range lnAll(c) {
			c[a] = min(max((v-lo[a])/max(hi[a]-lo[a], 1e-12), 0), 1)
		}
		return c
	}
	q := scale(at)
	type candidate struct{ d, u float64 }
	first, second := candidate{d: math.Inf(1)}, candidate{d: math.Inf(1)}
	for _, s := range samples {
		p := scale(s.at)
		d := math.Sqrt((p[0]-q[0])*(p[0]-q[0]) + (p[1]-q[1])*(p[1]-q[1]) + (p[2]-q[2])*(p[2]-q[2]))
		switch {
		case d < first.d:
			first, second = candidate{d, s.util}, first
		case d < second.d:
			second = candidate{d, s.util}
		}
	}
	if points == 1 || first.d < 1e-12 || math.IsInf(second.d, 1) {
		return first.u, true
	}
	w1, w2 := 1/first.d, 1/second.d
	return (w1*first.u + w2*second.u) / (w1 + w2), true
}

func lnAll(c grid.Coord) grid.Coord {
	for a, v := range c {
		c[a] = math.Log(max(v, 1e-9))
	}
	return c
}

// gridSamples lists the usable utilisations of a grid in ascending order of its keys.
func gridSamples(g *grid.Grid, sol func(grid.Coord) float64) []sample {
	if g == nil {
		return nil
	}
	out := make([]sample, 0, g.Len())
	g.Each(func(at grid.Coord, ms float64) {
		if s := sol(at); s > 0 && ms > 0 {
			out = append(out, sample{at, s / ms})
		}
	})
	return out
}

// estimate is the empirical latency of a grid's own slice: the query's roofline over the estimated utilisation.
func (db *DB) estimate(o origin, slice string, g *grid.Grid, at grid.Coord, sol func(grid.Coord) float64, query float64,
) (float64, error) {
	u, ok := utilAt(gridSamples(g, sol), at)
	if !ok || !(u > 0) {
		return 0, db.miss(o, slice+" (empirical)", "")
	}
	return query / u, nil
}

// estimateCurve is estimate over one axis.
func (db *DB) estimateCurve(o origin, slice string, c *grid.Curve, x float64, sol func(float64) float64,
) (float64, error) {
	var samples []sample
	if c != nil {
		for i, v := range c.X {
			if s := sol(v); s > 0 && c.Y[i] > 0 {
				samples = append(samples, sample{grid.Coord{0, 0, v}, s / c.Y[i]})
			}
		}
	}
	u, ok := utilAt(samples, grid.Coord{0, 0, x})
	if !ok || !(u > 0) {
		return 0, db.miss(o, slice+" (empirical)", "")
	}
	return sol(x) / u, nil
}

// allReduceEmpirical estimates from the group that the table lookup would use.
func (db *DB) allReduceEmpirical(g int, elements float64) (float64, error) {
	m, scale, ok := db.groupSize(g, func(size int) bool { return db.allReduce.curves[size] != nil })
	slice := fmt.Sprintf("num_gpus=%d message_size=%g", g, elements)
	if !ok {
		return 0, db.miss(db.allReduce.origin, slice, listGroups(db.allReduce.curves))
	}
	ms, err := db.estimateCurve(db.allReduce.origin, slice, db.allReduce.curves[m], elements, proportional)
	return ms * scale, err
}

// ncclEmpirical estimates from the group that the table lookup would use.
func (db *DB) ncclEmpirical(q Quant, op string, g int, elements float64) (float64, error) {
	m, scale, ok := db.groupSize(g, func(size int) bool { return db.nccl.curves[ncclKey{q.Name, op, size}] != nil })
	slice := fmt.Sprintf("nccl_dtype=%s op_name=%s num_gpus=%d", q.Name, op, g)
	if !ok {
		return 0, db.miss(db.nccl.origin, slice, "")
	}
	ms, err := db.estimateCurve(db.nccl.origin, slice, db.nccl.curves[ncclKey{q.Name, op, m}], elements, proportional)
	return ms * scale, err
}
