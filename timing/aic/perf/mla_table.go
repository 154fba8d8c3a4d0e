package perf

import (
	"fmt"
	"slices"

	"fakellm/timing/aic/grid"
	"fakellm/timing/aic/table"
)

// mlaKey names one grid of an MLA table; parts that a table does not tell apart are "".
type mlaKey struct {
	fmha, kv, gemm string
}

// String names the key in messages.
func (k mlaKey) String() string {
	s := "kv_cache_dtype=" + k.kv
	if k.fmha != "" {
		s = "mla_dtype=" + k.fmha + " " + s
	}
	if k.gemm != "" {
		s += " gemm_type=" + k.gemm
	}
	return s
}

// mlaTable holds one of the four tables of multi-head latent attention: operators or whole modules, prompt or decode.
type mlaTable struct {
	origin
	grids map[mlaKey]*grid.Grid
	rule  grid.Rule
}

// nativeModels are the models whose module rows are taken: all have nativeHeads attention heads.
var nativeModels = []string{"deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1", "nvidia/DeepSeek-V3.1-NVFP4"}

const nativeHeads = 128

// mlaLayout says how one MLA table is keyed.
type mlaLayout struct {
	name            string
	context, module bool
}

func (db *DB) loadContextMLA() (*mlaTable, error) {
	return db.loadMLA(mlaLayout{name: "context_mla_perf", context: true})
}

func (db *DB) loadGenerationMLA() (*mlaTable, error) {
	return db.loadMLA(mlaLayout{name: "generation_mla_perf"})
}

func (db *DB) loadContextModule() (*mlaTable, error) {
	return db.loadMLA(mlaLayout{name: "mla_context_module_perf", context: true, module: true})
}

func (db *DB) loadGenerationModule() (*mlaTable, error) {
	return db.loadMLA(mlaLayout{name: "mla_generation_module_perf", module: true})
}

func (db *DB) loadMLA(l mlaLayout) (*mlaTable, error) {
	cols := []table.Column{
		{Name: "kernel_source", Optional: true},
		{Name: "mla_dtype"},
		{Name: "kv_cache_dtype"},
		{Name: "num_heads", Kind: table.Int},
		{Name: "batch_size", Kind: table.Int},
		{Name: "isl", Kind: table.Int},
		{Name: "tp_size", Kind: table.Int, Optional: true},
		{Name: "step", Kind: table.Int},
		{Name: "latency", Kind: table.Float},
	}
	if l.module {
		cols = append(cols, table.Column{Name: "model"}, table.Column{Name: "gemm_type"})
	}
	rows := map[mlaKey][]grid.Row{}
	o, err := db.frames(l.name, cols, func(f *table.Frame, s table.Source) error {
		addMLA(f, s, l, rows)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &mlaTable{origin: o, grids: map[mlaKey]*grid.Grid{}}
	if l.context {
		t.rule = grid.Rule{grid.Linear, grid.Sqrt, grid.Linear}
	}
	for key, r := range rows {
		t.grids[key] = grid.New(r)
	}
	return t, nil
}

func addMLA(f *table.Frame, s table.Source, l mlaLayout, rows map[mlaKey][]grid.Row) {
	take := kernelFilter(f, s)
	fmha, kv, model, gemm := f.Text("mla_dtype"), f.Text("kv_cache_dtype"), f.Text("model"), f.Text("gemm_type")
	heads, batch, isl := f.Ints("num_heads"), f.Ints("batch_size"), f.Ints("isl")
	step, tp, ms := f.Ints("step"), f.Ints("tp_size"), f.Floats("latency")
	for i := range f.Rows {
		if !take(i) {
			continue
		}
		key := mlaKey{kv: kv.At(i), gemm: gemm.At(i)}
		at := grid.Coord{float64(heads[i]), float64(batch[i]), float64(isl[i] + step[i])}
		if l.context {
			key.fmha = fmha.At(i)
			at[1], at[2] = float64(isl[i]), float64(batch[i])
		}
		if l.module {
			split := tp != nil && tp[i] > 1 && heads[i]*tp[i] != nativeHeads
			if split || !slices.Contains(nativeModels, model.At(i)) {
				continue
			}
		}
		rows[key] = append(rows[key], grid.Row{At: at, MS: ms[i]})
	}
}

// at looks a place up; a missing key or point is a missing-data error.
func (t *mlaTable) at(db *DB, key mlaKey, at grid.Coord, sol func(grid.Coord) float64) (float64, error) {
	g := t.grids[key]
	if g == nil {
		return 0, db.miss(t.origin, key.String(), t.nearestKey(key))
	}
	ms, err := g.At(at, t.rule, sol)
	if err != nil {
		return 0, db.miss(t.origin, fmt.Sprintf("%v heads=%g at (%g, %g)", key, at[0], at[1], at[2]), "")
	}
	return max(ms, 0), nil
}

// nearestKey names the collected key that shares most with the asked one.
func (t *mlaTable) nearestKey(key mlaKey) string {
	best, name := -1, ""
	for k := range t.grids {
		score := 0
		for _, same := range []bool{k.gemm == key.gemm, k.kv == key.kv, k.fmha == key.fmha} {
			score *= 2
			if same {
				score++
			}
		}
		if s := k.String(); score > best || score == best && s < name {
			best, name = score, s
		}
	}
	return name
}

// bmmKey names one curve of the table of batched products in MLA decode.
type bmmKey struct {
	dtype string
	pre   bool
	heads int64
}

type bmmTable struct {
	origin
	curves map[bmmKey]*grid.Curve
}

func (db *DB) loadBMM() (*bmmTable, error) {
	cols := []table.Column{
		{Name: "op_name"},
		{Name: "kernel_source", Optional: true},
		{Name: "bmm_dtype"},
		{Name: "num_tokens", Kind: table.Int},
		{Name: "num_heads", Kind: table.Int},
		{Name: "latency", Kind: table.Float},
	}
	rows := map[bmmKey][]grid.Point{}
	o, err := db.frames("mla_bmm_perf", cols, func(f *table.Frame, s table.Source) error {
		take := kernelFilter(f, s)
		op, dtype := f.Text("op_name"), f.Text("bmm_dtype")
		tokens, heads, ms := f.Ints("num_tokens"), f.Ints("num_heads"), f.Floats("latency")
		for i := range f.Rows {
			name := op.At(i)
			if !take(i) || name != "mla_gen_pre" && name != "mla_gen_post" {
				continue
			}
			key := bmmKey{dtype: dtype.At(i), pre: name == "mla_gen_pre", heads: heads[i]}
			rows[key] = append(rows[key], grid.Point{X: float64(tokens[i]), Y: ms[i]})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &bmmTable{origin: o, curves: map[bmmKey]*grid.Curve{}}
	for key, r := range rows {
		c := grid.NewCurve(r)
		t.curves[key] = &c
	}
	return t, nil
}
