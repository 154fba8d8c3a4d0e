package compare

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fakellm/engine"
	"fakellm/timing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// refusing prices prefills only.
type refusing struct{ timing.Fixed }

func (refusing) DecodeMS(engine.DecodeBatch) (float64, error) { return 0, errors.New("no such row") }

func TestRun(t *testing.T) {
	pairs := []Pair{
		{"one", "dense", "x", timing.Fixed{Prefill: 2, Decode: 3}, timing.Fixed{Prefill: 2, Decode: 2}},
		{"two", "moe", "x", refusing{timing.Fixed{Prefill: 1}}, timing.Fixed{Prefill: 2}},
	}
	got := Run(pairs, 10, 1)
	cell := func(family, gpu string, phase Phase, n int, p ...float64) Cell {
		return Cell{family, gpu, phase, n, p[0], p[1], p[2], p[3], p[4]}
	}
	want := Report{
		Cells: []Cell{
			cell("dense", "x", Prefill, 10, 1, 1, 1, 1, 1),
			cell("dense", "x", Prefix, 10, 1, 1, 1, 1, 1),
			cell("dense", "x", Decode, 10, 1.5, 1.5, 1.5, 1.5, 1.5),
			cell("moe", "x", Prefill, 10, .5, .5, .5, .5, .5),
			cell("moe", "x", Prefix, 10, .5, .5, .5, .5, .5),
		},
		Families: []Cell{cell("dense", "", "", 30, 1, 1, 1.5, 1, 1.5), cell("moe", "", "", 20, .5, .5, .5, .5, .5)},
		All:      cell("", "", "", 50, 1, .5, 1.5, .5, 1.5),
		Within:   [3]float64{.4, .4, .4},
		Unpriced: 10,
		Reasons:  []string{"two: no such row"},
	}
	opt := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	if diff := cmp.Diff(want, got, opt); diff != "" {
		t.Error(diff)
	}
	if out := got.Outside(Accepted()); len(out) != 2 {
		t.Errorf("Outside() = %v, want both families", out)
	}
	if diff := cmp.Diff(got, Run(pairs, 10, 1)); diff != "" {
		t.Errorf("the same seed gives another table: %s", diff)
	}
}

func TestDrawnShapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for _, phase := range phases() {
			s := Draw(r, phase)
			p, d := s.Prefill, s.Decode
			switch {
			case phase == Decode && (d.Requests < 1 || d.Requests > 512 || d.MeanContext < 128 || d.ActiveKV > 2<<20):
			case phase != Decode && (p.New() < 1 || p.New() > 32<<10 || p.Requests < 1 || p.Requests > 32):
			case phase == Prefill && p.MeanPrefix != 0, phase == Prefix && (p.MeanPrefix < 1 || p.MeanPrefix > 16*p.New()):
			default:
				continue
			}
			t.Fatalf("%+v is out of range", s)
		}
	})
}

func TestQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(0, 10), 1, 40).Draw(t, "v")
		slices.Sort(v)
		if quantile(v, 0) != v[0] || quantile(v, 1) != v[len(v)-1] {
			t.Fatal("the ends are not the extremes")
		}
		below := 0
		for _, x := range v {
			if x < quantile(v, .5) {
				below++
			}
		}
		if below > (len(v)+1)/2 {
			t.Fatalf("%d of %d values below the median", below, len(v))
		}
	})
}
