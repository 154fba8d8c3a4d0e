package perf

import (
	"strings"
	"testing"

	"fakellm/timing/aic/grid"
	"fakellm/timing/aic/table"
)

// lanes makes a set with so many keys per lane, each of two points; a name with a trailing + has three points per key.
func lanes(counts ...any) *laneSet {
	ls := &laneSet{}
	for i := 0; i < len(counts); i += 2 {
		name := counts[i].(string)
		l := ls.get(strings.TrimSuffix(name, "+"))
		for k := range counts[i+1].(int) {
			key := attentionKey{window: int64(k)}
			for p := range 2 + strings.Count(name, "+") {
				l.rows[key] = append(l.rows[key], grid.Row{At: grid.Coord{1, float64(p + 1), 1}, MS: 1})
			}
		}
	}
	ls.build()
	return ls
}

// TestLaneOrder walks the rules of spec aic-timing §5.4.
func TestLaneOrder(t *testing.T) {
	rows := []struct {
		why          string
		pinned       []string
		all, primary *laneSet
		want         string
	}{
		{"nothing listed: default, then as they come", nil, lanes("b", 1, "default", 1, "a", 2), lanes("b", 1), "default b a"},
		{
			"pinned, known by size, default, others by size",
			[]string{"triton"},
			lanes("x", 1, "y", 2, "default", 9, "fa3", 1, "flashinfer", 2, "triton", 1), lanes(), "triton flashinfer fa3 default y x",
		},
		{"equal numbers of keys: more points first", []string{}, lanes("x", 2, "y+", 2), lanes(), "y x"},
		{"equal in both: by name", []string{}, lanes("y", 2, "x", 2), lanes(), "x y"},
		{
			"lanes of the own version first, by its own sizes",
			[]string{},
			lanes("old", 9, "a", 5, "b", 3),
			lanes("a", 1, "b", 2), "b a old",
		},
	}
	for _, r := range rows {
		var got []string
		for _, l := range laneOrder(r.pinned, r.all, r.primary) {
			got = append(got, l.name)
		}
		if s := strings.Join(got, " "); s != r.want {
			t.Errorf("%s: %s, want %s", r.why, s, r.want)
		}
	}
}

// TestGroupSize picks the collected group that stands for others.
func TestGroupSize(t *testing.T) {
	sys := &table.System{}
	sys.Node.GPUs, sys.Node.IntraBW, sys.Node.InterBW = 8, 450, 50
	db := &DB{sys: sys}
	has := func(g int) bool { return g == 2 || g == 4 || g == 8 }
	rows := []struct {
		g, size int
		scale   float64
		ok      bool
	}{
		{4, 4, 1, true},
		{3, 0, 0, false}, // inside a node only what was collected
		{16, 8, 15. / 16 * 8 / 7 * 450 / 50, true}, // beyond it the largest, by ring traffic and bandwidth
	}
	for _, r := range rows {
		size, scale, ok := db.groupSize(r.g, has)
		if size != r.size || ok != r.ok || scale-r.scale > 1e-12 || r.scale-scale > 1e-12 {
			t.Errorf("%d GPUs: %d, %v, %t", r.g, size, scale, ok)
		}
	}
}

// TestUtilAt checks the estimate's neighbours: exact hits, clamping, and an axis of one value.
func TestUtilAt(t *testing.T) {
	s := []sample{{grid.Coord{1, 1, 1}, 0.2}, {grid.Coord{1, 1, 4}, 0.4}, {grid.Coord{1, 1, 16}, 0.8}}
	rows := []struct {
		why  string
		at   grid.Coord
		want float64
	}{
		{"exact", grid.Coord{1, 1, 4}, 0.4},
		{"half way in logarithms", grid.Coord{1, 1, 2}, 0.3},
		{"clamped", grid.Coord{1, 1, 1000}, 0.8},
		{"below an axis of one value is on it", grid.Coord{0.5, 1, 4}, 0.4},
	}
	for _, r := range rows {
		if got, ok := utilAt(s, r.at); !ok || got-r.want > 1e-9 || r.want-got > 1e-9 {
			t.Errorf("%s: %v, want %v", r.why, got, r.want)
		}
	}
	if got, _ := utilAt(s, grid.Coord{8, 1, 4}); got <= 0.2 || got >= 0.4 {
		t.Errorf("above an axis of one value nothing is exact: %v", got)
	}
	if _, ok := utilAt(nil, grid.Coord{}); ok {
		t.Error("no samples, but an estimate")
	}
}
