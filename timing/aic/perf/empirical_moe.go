package perf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fakellm/timing/aic/grid"
)

// moeEmpirical estimates experts from their own curve, the nearest shape of the type, or the nearest type.
func (db *DB) moeEmpirical(q *MoEQuery, tokens float64, sol func(float64) float64) (float64, error) {
	for _, other := range db.moeLadder(q.Quant) {
		u, ok := db.moeUtil(q, other, tokens)
		if !ok {
			continue
		}
		if other.Mem != q.Quant.Mem || other.Compute != q.Quant.Compute {
			u *= levelOf(moeLevels, q.Quant, .30) / levelOf(moeLevels, other, .30)
		}
		return sol(tokens) / u, nil
	}
	slice := moeSlice{q.Quant.Name, q.Distribution}
	return 0, db.miss(db.moe.origin, fmt.Sprintf("moe_dtype=%s distribution=%s %v (empirical)", slice.quant,
		slice.distribution, q.shape()), db.moe.nearest(slice, q.shape()))
}

// moeUtil is the utilisation in one type: the own curve, else the nearest shape of the same parallel split.
func (db *DB) moeUtil(q *MoEQuery, other Quant, tokens float64) (float64, bool) {
	flops, err := peak(db.sys, other)
	if err != nil {
		return 0, false
	}
	slice, shape := moeSlice{other.Name, q.Distribution}, q.shape()
	c := db.moe.find(slice, shape)
	if c == nil {
		shape, c = db.moe.nearestShape(slice, shape)
	}
	if c == nil {
		return 0, false
	}
	from := *q
	from.Quant = other
	from.TopK, from.Experts = int(shape.topk), int(shape.experts)
	from.Hidden, from.Inter = int(shape.hidden), int(shape.inter)
	from.TP, from.EP = int(shape.tp), int(shape.ep)
	sol := db.moeSOL(&from, flops)
	var samples []sample
	for i, t := range c.X {
		if s := sol(t); s > 0 && c.Y[i] > 0 {
			samples = append(samples, sample{grid.Coord{0, 0, t}, s / c.Y[i]})
		}
	}
	u, ok := utilAt(samples, grid.Coord{0, 0, tokens})
	return u, ok && u > 0
}

// nearestShape finds the collected shape of the same split that is closest in normalised logarithms of top-k, experts,
// hidden and inner width.
func (t *moeTable) nearestShape(slice moeSlice, want moeShape) (moeShape, *grid.Curve) {
	shapes := t.curves[slice]
	if shapes == nil {
		shapes = t.curves[moeSlice{slice.quant, "uniform"}]
	}
	var list []moeShape
	for s := range shapes {
		if s.tp == want.tp && s.ep == want.ep {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, compareShapes)
	if len(list) == 0 {
		return want, nil
	}
	lo, hi := lnShape(list[0]), lnShape(list[0])
	for _, s := range list {
		for a, v := range lnShape(s) {
			lo[a], hi[a] = min(lo[a], v), max(hi[a], v)
		}
	}
	best, least := list[0], math.Inf(1)
	for _, s := range list {
		d := 0.0
		w, v := lnShape(want), lnShape(s)
		for a := range v {
			if hi[a] > lo[a] {
				x := (v[a] - min(max(w[a], lo[a]), hi[a])) / (hi[a] - lo[a])
				d += x * x
			}
		}
		if d < least {
			best, least = s, d
		}
	}
	return best, shapes[best]
}

func lnShape(s moeShape) [4]float64 {
	return [4]float64{
		math.Log(float64(s.topk)), math.Log(float64(s.experts)), math.Log(float64(s.hidden)), math.Log(float64(s.inter)),
	}
}

func compareShapes(a, b moeShape) int {
	return cmp.Or(cmp.Compare(a.topk, b.topk), cmp.Compare(a.experts, b.experts), cmp.Compare(a.hidden, b.hidden),
		cmp.Compare(a.inter, b.inter), cmp.Compare(a.tp, b.tp), cmp.Compare(a.ep, b.ep))
}

// moeLadder lists the types to try: the own, then by distance of the classes, the first in the table among equals.
func (db *DB) moeLadder(q Quant) []Quant {
	out := []Quant{q}
	for _, name := range db.moe.order {
		if other, err := MoEQuant(name); err == nil && name != q.Name {
			out = append(out, other)
		}
	}
	slices.SortStableFunc(out[1:], func(a, b Quant) int { return cmp.Compare(profileL1(a, q), profileL1(b, q)) })
	return out
}

func profileL1(a, b Quant) float64 { return math.Abs(a.Compute-b.Compute) + math.Abs(a.Mem-b.Mem) }
