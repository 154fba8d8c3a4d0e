package grid

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// twin is a plain reading of spec aic-timing §5.5 over nested maps.
type twin map[float64]map[float64]map[float64]float64

func (w twin) at(at Coord, rule Rule, sol func(Coord) float64) (float64, bool) {
	v, got := w.axis0(at, rule, sol)
	if got == outside {
		return w.hold(at, sol)
	}
	return v, got == found
}

func (w twin) axis0(at Coord, rule Rule, sol func(Coord) float64) (float64, outcome) {
	return blend(keysOf(w), at, 0, rule, sol, func(k float64) (float64, outcome) {
		return blend(keysOf(w[k]), at, 1, rule, sol, func(k2 float64) (float64, outcome) {
			return blend(keysOf(w[k][k2]), at, 2, rule, sol, func(k3 float64) (float64, outcome) { return w[k][k2][k3], found })
		})
	})
}

func keysOf[V any](m map[float64]V) []float64 {
	var out []float64
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func blend(keys []float64, at Coord, a int, rule Rule, sol func(Coord) float64,
	child func(float64) (float64, outcome),
) (float64, outcome) {
	x := at[a]
	if slices.Contains(keys, x) {
		return child(x)
	}
	if x < keys[0] || x > keys[len(keys)-1] {
		return 0, outside
	}
	lo, hi := keys[0], keys[len(keys)-1]
	for _, k := range keys {
		if k < x {
			lo = max(lo, k)
		} else {
			hi = min(hi, k)
		}
	}
	v0, got0 := child(lo)
	v1, got1 := child(hi)
	w := (x - lo) / (hi - lo)
	scaled := func(v, key float64) (float64, outcome) {
		there := at
		there[a] = key
		return v * sol(at) / sol(there), found
	}
	switch {
	case got0 == found && got1 == found && rule[a] == Sqrt:
		r := math.Sqrt(v0) + (math.Sqrt(v1)-math.Sqrt(v0))*w
		return r * r, found
	case got0 == found && got1 == found:
		return v0 + (v1-v0)*w, found
	case got0 == found:
		return scaled(v0, lo)
	case got1 == found:
		return scaled(v1, hi)
	}
	return 0, outside
}

func (w twin) hold(at Coord, sol func(Coord) float64) (float64, bool) {
	var all []near2
	for a, m := range w {
		for b, m2 := range m {
			for c, ms := range m2 {
				d := 0.0
				for i, v := range []float64{a, b, c} {
					d += math.Pow(math.Log2(v)-math.Log2(at[i]), 2)
				}
				all = append(all, near2{math.Sqrt(d), sol(Coord{a, b, c}) / ms})
			}
		}
	}
	slices.SortFunc(all, func(a, b near2) int { return compare(a.d, b.d) })
	radius := math.Inf(1)
	if len(all) > 4 {
		radius, all = all[4].d, all[:4]
	}
	sw, su := 0.0, 0.0
	for _, p := range all {
		weight := 1 / (p.d*p.d + 1e-12)
		if !math.IsInf(radius, 1) {
			weight = math.Pow(max(radius-p.d, 0)/(radius*p.d+1e-12), 2)
		}
		sw += weight
		su += weight * p.u
	}
	if sw == 0 {
		return 0, false // all five as far: which four count is open
	}
	return sol(at) / (su / sw), true
}

type near2 struct{ d, u float64 }

// TestGridEqualsTwin compares ragged grids with the plain reading, inside and outside.
func TestGridEqualsTwin(t *testing.T) {
	sol := func(c Coord) float64 { return c[0] * math.Sqrt(c[1]) * c[2] * 1e-3 }
	rapid.Check(t, func(t *rapid.T) {
		coordinate := rapid.SampledFrom([]float64{1, 2, 3, 4, 8, 16, 64})
		w := twin{}
		var rows []Row
		for range rapid.IntRange(1, 40).Draw(t, "points") {
			at := Coord{coordinate.Draw(t, "a"), coordinate.Draw(t, "b"), coordinate.Draw(t, "c")}
			ms := rapid.Float64Range(0.01, 10).Draw(t, "ms")
			rows = append(rows, Row{at, ms})
			if w[at[0]] == nil {
				w[at[0]] = map[float64]map[float64]float64{}
			}
			if w[at[0]][at[1]] == nil {
				w[at[0]][at[1]] = map[float64]float64{}
			}
			if _, ok := w[at[0]][at[1]][at[2]]; !ok { // the first row wins
				w[at[0]][at[1]][at[2]] = ms
			}
		}
		g := New(rows)
		query := rapid.IntRange(1, 100)
		at := Coord{float64(query.Draw(t, "qa")), float64(query.Draw(t, "qb")), float64(query.Draw(t, "qc"))}
		rule := Rule{Linear, rapid.SampledFrom([]Blend{Linear, Sqrt}).Draw(t, "blend"), Linear}
		want, ok := w.at(at, rule, sol)
		if !ok {
			return
		}
		got, err := g.At(at, rule, sol)
		if err != nil || math.Abs(got-want) > 1e-6*want {
			t.Fatalf("At(%v) = %v, %v; want %v", at, got, err, want)
		}
	})
}

// TestCurveBetweenNeighbours checks that an interior answer lies between its neighbours' values.
func TestCurveBetweenNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []Point
		for range rapid.IntRange(2, 20).Draw(t, "n") {
			points = append(points, Point{float64(rapid.IntRange(1, 1000).Draw(t, "x")), rapid.Float64Range(0.1, 10).Draw(t, "y")})
		}
		c := NewCurve(points)
		x := float64(rapid.IntRange(1, 1000).Draw(t, "q"))
		got, err := c.At(x, func(x float64) float64 { return x })
		if err != nil {
			t.Fatal(err)
		}
		if !c.Holds(x) {
			return
		}
		i, exact := slices.BinarySearch(c.X, x)
		lo := c.Y[i]
		if !exact {
			lo = c.Y[i-1]
		}
		if got < min(lo, c.Y[i])-1e-12 || got > max(lo, c.Y[i])+1e-12 {
			t.Fatalf("At(%v) = %v outside [%v, %v]", x, got, lo, c.Y[i])
		}
	})
}
