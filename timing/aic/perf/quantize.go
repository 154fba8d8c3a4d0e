package perf

import (
	"fmt"

	"fakellm/timing/aic/grid"
	"fakellm/timing/aic/table"
)

// scaleTable holds the measured cost of scaling activations, by type: a grid over (m, k), with an unused first axis.
type scaleTable struct {
	origin
	grids map[string]*grid.Grid
	// traffic is how many bytes per element the roofline counts; scaled says that the value follows it beyond the grid.
	traffic float64
	scaled  bool
	// nearest is how many points an estimate leans on.
	nearest int
}

var scaleColumns = []table.Column{
	{Name: "kernel_source", Optional: true},
	{Name: "quant_dtype"},
	{Name: "m", Kind: table.Int},
	{Name: "k", Kind: table.Int},
	{Name: "latency", Kind: table.Float},
}

func (db *DB) loadComputeScale() (*scaleTable, error) {
	return db.loadScale(&scaleTable{traffic: 2, nearest: 1}, "computescale_perf")
}

func (db *DB) loadScaleMatrix() (*scaleTable, error) {
	return db.loadScale(&scaleTable{traffic: 3, scaled: true, nearest: 2}, "scale_matrix_perf")
}

func (db *DB) loadScale(t *scaleTable, name string) (*scaleTable, error) {
	rows := map[string][]grid.Row{}
	o, err := db.frames(name, scaleColumns, func(f *table.Frame, s table.Source) error {
		take := kernelFilter(f, s)
		types, m, k, ms := f.Text("quant_dtype"), f.Ints("m"), f.Ints("k"), f.Floats("latency")
		for i := range f.Rows {
			if take(i) {
				dtype := types.At(i)
				rows[dtype] = append(rows[dtype], grid.Row{At: grid.Coord{0, float64(m[i]), float64(k[i])}, MS: ms[i]})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.origin, t.grids = o, map[string]*grid.Grid{}
	for dtype, r := range rows {
		t.grids[dtype] = grid.New(r)
	}
	return t, nil
}

// at returns the ms of scaling an m by k activation, from the table or estimated as the mode has it.
func (t *scaleTable) at(db *DB, m, k float64) (float64, error) {
	g := t.grids["fp8"]
	sol := func(c grid.Coord) float64 { return t.traffic * c[1] * c[2] / db.sys.GPU.MemBW * 1000 }
	slice := fmt.Sprintf("quant_dtype=fp8 m=%g k=%g", m, k)
	if db.Mode != Empirical {
		ms, err := t.look(g, m, k, sol)
		if err == nil {
			return ms, nil
		}
		if db.Mode != Hybrid {
			return 0, db.miss(t.origin, slice, listKeys(t.grids, "quant_dtype="))
		}
	}
	at := grid.Coord{0, m, k}
	var samples []sample
	if g != nil {
		// A measured cost of nothing is a sample too: it estimates nothing.
		g.Each(func(c grid.Coord, ms float64) { samples = append(samples, sample{c, sol(c) / ms}) })
	}
	u, ok := utilNear(samples, at, t.nearest)
	if !ok || !(u > 0) {
		return 0, db.miss(t.origin, slice+" (empirical)", listKeys(t.grids, "quant_dtype="))
	}
	return sol(at) / u, nil
}

// look reads the grid (spec aic-timing §5.3): both coordinates are clamped into it.
func (t *scaleTable) look(g *grid.Grid, m, k float64, sol func(grid.Coord) float64) (float64, error) {
	if g == nil {
		return 0, grid.ErrMissing
	}
	at := grid.Coord{0, m, k}
	for a := 1; a <= 2; a++ {
		lo, hi := g.Range(a)
		at[a] = min(max(at[a], lo), hi)
	}
	ms, err := g.At(at, grid.Rule{}, sol)
	if err == nil && t.scaled {
		ms *= sol(grid.Coord{0, m, k}) / sol(at)
	}
	return ms, err
}
