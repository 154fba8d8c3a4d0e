package profile

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"fakellm/engine"
	"fakellm/timing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func load1(t testing.TB, path string) *Profile {
	t.Helper()
	p, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func rows(t testing.TB, path string) [][]float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]float64
	for _, line := range lines {
		var row []float64
		for _, field := range line {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, v)
		}
		out = append(out, row)
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(a), math.Abs(b)) }

// TestInterpolationEqualsScipy compares 1,000 random points, inside, outside and on the grid (testdata/make.py).
func TestInterpolationEqualsScipy(t *testing.T) {
	p := load1(t, "testdata/grid.npz")
	points := rows(t, "testdata/points.csv")
	if len(points) != 1000 {
		t.Fatalf("%d points, want 1000", len(points))
	}
	for _, r := range points {
		got, err := p.PrefillMS(engine.PrefillBatch{Requests: 1, MeanISL: int(r[0])})
		if err != nil || !near(got, max(0, r[1])) {
			t.Errorf("prefill %v = %v, %v; scipy %v", r[0], got, err, r[1])
		}
		got, err = p.DecodeMS(engine.DecodeBatch{Requests: 1, ActiveKV: int(r[2]), MeanContext: int(r[3])})
		if err != nil || !near(got, max(1, r[4])) {
			t.Errorf("decode (%v, %v) = %v, %v; scipy %v", r[2], r[3], got, err, r[4])
		}
	}
}

func TestEveryTypeAndOrderReadsTheSame(t *testing.T) {
	want := load1(t, "testdata/grid.npz").Arrays()
	for _, name := range []string{"mixed", "fortran"} {
		if diff := cmp.Diff(want, load1(t, "testdata/"+name+".npz").Arrays()); diff != "" {
			t.Errorf("%s.npz differs from the array of doubles: %s", name, diff)
		}
	}
}

func TestReferenceProfile(t *testing.T) {
	p := load1(t, "testdata/reference.npz")
	m, err := timing.New(p, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	// The grid is 128, 512, 2048, 8192 tokens at 12, 20, 55, 230 ms.
	for _, c := range []struct {
		why    string
		n, isl int
		prefix int
		wantMS float64
	}{
		{"a grid point", 1, 512, 0, 20},
		{"between two points", 1, 320, 0, 16},
		{"only new tokens count, over the batch", 2, 306, 50, 20},
		{"the first segment goes on below", 1, 32, 0, 10},
		{"the last segment goes on above", 1, 14336, 0, 405},
	} {
		got, err := m.Prefill(engine.PrefillBatch{Requests: c.n, MeanISL: c.isl, MeanPrefix: c.prefix})
		if err != nil || got.Seconds()*1000 != c.wantMS {
			t.Errorf("%s: %v, %v; want %v ms", c.why, got, err, c.wantMS)
		}
	}
	_, _ = m.Decode(engine.DecodeBatch{Requests: 1, ActiveKV: 100001, MeanContext: 10})
	if got := m.(timing.Extrapolator).Extrapolations(); got != 3 {
		t.Errorf("Extrapolations() = %d, want 3", got)
	}
}

func TestFloors(t *testing.T) {
	p, err := New(Arrays{
		PrefillISL: []float64{100, 200}, PrefillTTFT: []float64{1, 50},
		DecodeKV: []float64{0, 1}, DecodeContext: []float64{1, 2}, DecodeITL: []float64{0.5, 0.5, 0.5, 0.5},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := p.PrefillMS(engine.PrefillBatch{Requests: 1, MeanISL: 1}); got != 0 {
		t.Errorf("extrapolation below zero = %v, want 0", got)
	}
	if got, _ := p.DecodeMS(engine.DecodeBatch{Requests: 1}); got != 1 {
		t.Errorf("decode of half a millisecond = %v, want the floor of 1", got)
	}
	if s := p.Inspect(); s.BelowFloor != 4 || s.PrefillISL.Gap != 100 || s.PrefillFalls != 0 {
		t.Errorf("Inspect() = %+v", s)
	}
}

func TestNewRefuses(t *testing.T) {
	good := func() Arrays {
		return Arrays{
			[]float64{1, 2},
			[]float64{3, 4},
			[]float64{0, 8},
			[]float64{1, 2, 3},
			[]float64{1, 1, 1, 1, 1, 1},
		}
	}
	if _, err := New(good()); err != nil {
		t.Fatal(err)
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		why, want string
		spoil     func(*Arrays)
	}{
		{"one point is no axis", "axis prefill_isl: 1 points", func(a *Arrays) { a.PrefillISL = a.PrefillISL[:1] }},
		{"an axis may not stand still", "axis decode_context_length[2] = 2", func(a *Arrays) { a.DecodeContext[2] = 2 }},
		{"an axis may not fall", "axis decode_active_kv_tokens[1] = -1", func(a *Arrays) { a.DecodeKV[1] = -1 }},
		{"no NaN on an axis", "axis prefill_isl[0] = NaN", func(a *Arrays) { a.PrefillISL[0] = nan }},
		{"no NaN in a grid", "decode_itl[1][2] = NaN", func(a *Arrays) { a.DecodeITL[5] = nan }},
		{"no infinity", "prefill_ttft_ms[1] = +Inf", func(a *Arrays) { a.PrefillTTFT[1] = inf }},
		{"no negative time", "decode_itl[0][1] = -3", func(a *Arrays) { a.DecodeITL[1] = -3 }},
		{"lengths agree", "prefill_ttft_ms: 1 values", func(a *Arrays) { a.PrefillTTFT = a.PrefillTTFT[:1] }},
		{"grids agree with their axes", "decode_itl: 5 values", func(a *Arrays) { a.DecodeITL = a.DecodeITL[:5] }},
	} {
		a := good()
		c.spoil(&a)
		if _, err := New(a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}

// TestCell compares the binary search with a walk.
func TestCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Float64Range(0.5, 9), 2, 20).Draw(t, "steps")
		even := rapid.Bool().Draw(t, "even")
		points, at := []float64{}, 0.0
		for _, s := range steps {
			if even {
				s = steps[0]
			}
			at += s
			points = append(points, at)
		}
		x := rapid.OneOf(rapid.Float64Range(-10, 200), rapid.SampledFrom(points)).Draw(t, "x")
		want := 0
		for want < len(points)-2 && points[want+1] <= x {
			want++
		}
		a := newAxis(points)
		if got, found := cell(points, x), a.find(x); got != want || found != want {
			t.Fatalf("cell(%v, %v) = %d, found %d, want %d", points, x, got, found, want)
		}
	})
}

// TestRowEqualsDecode holds rows against passes priced one by one, to the bit.
func TestRowEqualsDecode(t *testing.T) {
	profiles := []*Profile{load1(t, "testdata/grid.npz"), load1(t, "testdata/reference.npz"), load1(t, "testdata/results")}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(profiles).Draw(t, "profile")
		kv := rapid.IntRange(0, 1_000_000).Draw(t, "kv")
		b := engine.DecodeBatch{Requests: rapid.IntRange(1, 300).Draw(t, "n"), ActiveKV: kv}
		b.MeanContext = b.ActiveKV / b.Requests
		row := make([]float64, rapid.IntRange(0, 500).Draw(t, "passes"))
		outside, err := p.DecodeRowMS(row, b)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range row {
			want, _ := p.DecodeMS(b)
			if got != want {
				t.Fatalf("pass %d takes %v in the row, %v alone", i, got, want)
			}
			if !p.CoversDecode(b) {
				outside--
			}
			b.ActiveKV += b.Requests
			b.MeanContext = b.ActiveKV / b.Requests
		}
		if outside != 0 {
			t.Fatalf("passes outside are miscounted by %d", outside)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	m, err := timing.New(load1(b, "testdata/results"), 1, 1)
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i++
		_, _ = m.Decode(engine.DecodeBatch{Requests: 8, ActiveKV: i & 0xfffff, MeanContext: i & 0xfff})
	}
}
