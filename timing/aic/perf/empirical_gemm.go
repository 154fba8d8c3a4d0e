package perf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fakellm/timing/aic/grid"
)

// level is how much of its peak a class of weights usually reaches; ratios of levels carry utilisations from one class
// to another. Classes are told apart by the bytes and the speed-up of a mode.
type level struct {
	mem, compute, util float64
}

// gemmLevels and moeLevels are the levels of spec aic-timing §5.8.
var (
	gemmLevels = []level{
		{2, 1, .70}, {1, 1, .55}, {.5, 1, .45}, {9. / 16, 1, .45}, {1, 2, .45}, {.5, 2, .35}, {9. / 16, 4, .30},
	}
	moeLevels = []level{
		{2, 1, .53}, {1, 1, .45}, {.5, 1, .07}, {9. / 16, 1, .07}, {1, 2, .40}, {.5, 2, .15}, {9. / 16, 4, .23},
	}
)

func levelOf(levels []level, q Quant, fallback float64) float64 {
	for _, l := range levels {
		if l.mem == q.Mem && l.compute == q.Compute {
			return l.util
		}
	}
	return fallback
}

// gemmEmpirical estimates a GEMM from its own weight type, from one of the same class, or from the nearest class.
func (db *DB) gemmEmpirical(q Quant, m, n, k float64, sol func(m, n, k float64) float64) (float64, error) {
	at := grid.Coord{m, n, k}
	for _, other := range db.gemmLadder(q) {
		u, ok := utilAt(db.gemmSamples(other), at)
		if !ok || !(u > 0) {
			continue
		}
		if other.Mem != q.Mem || other.Compute != q.Compute {
			u *= levelOf(gemmLevels, q, .45) / levelOf(gemmLevels, other, .45)
		}
		return sol(m, n, k) / u, nil
	}
	return 0, db.miss(db.gemm.origin, fmt.Sprintf("gemm_dtype=%s m=%g n=%g k=%g (empirical)", q.Name, m, n, k),
		listKeys(db.gemm.sites, "gemm_dtype="))
}

// gemmLadder lists the types to try: the own, then by distance of the classes, the first in the table among equals.
func (db *DB) gemmLadder(q Quant) []Quant {
	out := []Quant{q}
	for _, name := range db.gemm.order {
		if other, err := GemmQuant(name); err == nil && name != q.Name {
			out = append(out, other)
		}
	}
	slices.SortStableFunc(out[1:], func(a, b Quant) int {
		return cmp.Or(
			cmp.Compare(math.Abs(a.Compute-q.Compute), math.Abs(b.Compute-q.Compute)),
			cmp.Compare(math.Abs(a.Mem-q.Mem), math.Abs(b.Mem-q.Mem)))
	})
	return out
}

// gemmSamples lists the utilisations of one weight type in ascending order of (m, n, k).
func (db *DB) gemmSamples(q Quant) []sample {
	name := q.Name
	if name == "fp8_static" {
		name = "fp8"
	}
	sites := db.gemm.sites[name]
	flops, err := peak(db.sys, q)
	if sites == nil || err != nil {
		return nil
	}
	sol := db.gemmSOL(q, flops)
	var out []sample
	sites.Each(func(s *grid.Site) {
		for i, m := range s.Curve.X {
			if v := sol(m, s.N, s.K); v > 0 && s.Curve.Y[i] > 0 {
				out = append(out, sample{grid.Coord{m, s.N, s.K}, v / s.Curve.Y[i]})
			}
		}
	})
	slices.SortFunc(out, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.at[0], b.at[0]), cmp.Compare(a.at[1], b.at[1]), cmp.Compare(a.at[2], b.at[2]))
	})
	return out
}
