package perf

import (
	"cmp"
	"slices"

	"fakellm/timing/aic/grid"
	"fakellm/timing/aic/table"
)

// attentionKey names one grid of an attention table. fmha is "" in the generation table.
type attentionKey struct {
	fmha, kv        string
	kvHeads         int64 // 0 when every head has its own
	headDim, window int64
}

// lane is the rows of one kernel; grids never mix kernels (spec aic-timing §5.4).
type lane struct {
	name  string
	grids map[attentionKey]*grid.Grid
	rows  map[attentionKey][]grid.Row // while loading
	// points counts distinct places, for the order of the lanes.
	points int
}

// attentionTable holds one of the two attention tables.
type attentionTable struct {
	origin
	// lanes are in the order in which the family's operators ask them; plain is the order of operators that pin none.
	lanes, plain []*lane
	rule         grid.Rule
}

// laneSet collects lanes in order of first appearance.
type laneSet struct {
	list []*lane
}

func (ls *laneSet) get(name string) *lane {
	if name == "" {
		name = "default"
	}
	for _, l := range ls.list {
		if l.name == name {
			return l
		}
	}
	l := &lane{name: name, rows: map[attentionKey][]grid.Row{}}
	ls.list = append(ls.list, l)
	return l
}

// build sorts the collected rows into grids.
func (ls *laneSet) build() {
	for _, l := range ls.list {
		l.grids = make(map[attentionKey]*grid.Grid, len(l.rows))
		for key, rows := range l.rows {
			g := grid.New(rows)
			l.grids[key] = g
			l.points += g.Len()
		}
		l.rows = nil
	}
}

var attentionColumns = []table.Column{
	{Name: "kernel_source", Optional: true},
	{Name: "batch_size", Kind: table.Int},
	{Name: "isl", Kind: table.Int},
	{Name: "num_heads", Kind: table.Int},
	{Name: "num_key_value_heads", Kind: table.Int},
	{Name: "head_dim", Kind: table.Int},
	{Name: "attn_dtype"},
	{Name: "kv_cache_dtype"},
	{Name: "step", Kind: table.Int},
	{Name: "window_size", Kind: table.Int, Optional: true},
	{Name: "latency", Kind: table.Float},
}

func (db *DB) loadContext() (*attentionTable, error) {
	return db.loadAttention("context_attention_perf", true)
}

func (db *DB) loadGeneration() (*attentionTable, error) {
	return db.loadAttention("generation_attention_perf", false)
}

// loadAttention reads an attention table: by heads, then length and batch (context) or batch and length (generation).
func (db *DB) loadAttention(name string, context bool) (*attentionTable, error) {
	sources, err := db.Store.Sources(db.Index, db.Backend, db.Version, name, db.shared())
	if err != nil {
		return nil, err
	}
	// The order of the lanes looks at the own version by itself; with no other source that is everything.
	all, primary := &laneSet{}, &laneSet{}
	if len(sources) == 1 && sources[0].Primary {
		primary = all
	}
	o, err := db.read(name, sources, attentionColumns, func(f *table.Frame, s table.Source) error {
		addAttention(f, s, context, all)
		if s.Primary && primary != all {
			addAttention(f, s, context, primary)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &attentionTable{origin: o}
	if context {
		t.rule = grid.Rule{grid.Linear, grid.Sqrt, grid.Linear}
	} else {
		db.clampGeneration(all)
	}
	all.build()
	if primary != all {
		primary.build()
	}
	t.lanes = laneOrder(db.pinnedLane(), all, primary)
	t.plain = appendRest(named([]string{"default"}, all), all)
	return t, nil
}

// addAttention sorts the rows of one file into lanes and slices.
func addAttention(f *table.Frame, s table.Source, context bool, ls *laneSet) {
	take := kernelFilter(f, s)
	kernel, attn, kv := f.Text("kernel_source"), f.Text("attn_dtype"), f.Text("kv_cache_dtype")
	batch, isl, step, heads := f.Ints("batch_size"), f.Ints("isl"), f.Ints("step"), f.Ints("num_heads")
	kvHeads, dim, window := f.Ints("num_key_value_heads"), f.Ints("head_dim"), f.Ints("window_size")
	ms := f.Floats("latency")
	for i := range f.Rows {
		if !take(i) {
			continue
		}
		key := attentionKey{kv: kv.At(i), kvHeads: kvHeads[i], headDim: dim[i]}
		if kvHeads[i] == heads[i] {
			key.kvHeads = 0
		}
		if window != nil {
			key.window = window[i]
		}
		at := grid.Coord{float64(heads[i]), float64(batch[i]), float64(isl[i] + step[i])}
		if context {
			key.fmha = attn.At(i)
			at[1], at[2] = float64(isl[i]), float64(batch[i])
		}
		l := ls.get(kernel.At(i))
		l.rows[key] = append(l.rows[key], grid.Row{At: at, MS: ms[i]})
	}
}

// clampGeneration raises generation latencies to their roofline; types without one stay as they are.
func (db *DB) clampGeneration(ls *laneSet) {
	for _, l := range ls.list {
		for key, rows := range l.rows {
			kv, err := KVQuant(key.kv)
			if err != nil {
				continue
			}
			q := GenerationQuery{KV: kv, HeadDim: int(key.headDim), Window: int(key.window)}
			sol, err := db.generationSOL(&q, float64(key.kvHeads))
			if err != nil {
				continue
			}
			for i := range rows {
				rows[i].MS = max(rows[i].MS, sol(rows[i].At))
			}
		}
	}
}

// pinnedLane is the lane that the systems directory names for this backend, version and GPU: nil when nothing is
// listed, an empty list for the word default, else the one lane.
func (db *DB) pinnedLane() []string {
	name, ok := db.Store.Lanes().Default(db.Backend, db.Version, db.sys.GPU.SM)
	switch {
	case !ok:
		return nil
	case name == "default":
		return []string{}
	}
	return []string{name}
}

// knownLanes is the vocabulary of sglang's kernels that come before the others.
var knownLanes = []string{"fa3", "fla", "flashinfer", "triton", "trtllm_mha"}

// laneOrder is the order in which lanes are asked (spec aic-timing §5.4).
func laneOrder(pinned []string, all, primary *laneSet) []*lane {
	if pinned == nil {
		return appendRest(named([]string{"default"}, all), all)
	}
	names := rankLanes(pinned, all)
	if len(primary.list) > 0 {
		own := rankLanes(pinned, primary)
		names = slices.Clone(pinned)
		for _, n := range own {
			if primary.has(n) {
				names = append(names, n)
			}
		}
		for _, n := range rankLanes(pinned, all) {
			if !primary.has(n) {
				names = append(names, n)
			}
		}
	}
	return appendRest(named(names, all), all)
}

func (ls *laneSet) has(name string) bool {
	return slices.ContainsFunc(ls.list, func(l *lane) bool { return l.name == name })
}

// rankLanes is pinned, the known lanes, default, then the others; both groups by size.
func rankLanes(pinned []string, ls *laneSet) []string {
	names := slices.Clone(pinned)
	var known, other []*lane
	for _, l := range ls.list {
		switch {
		case slices.Contains(pinned, l.name) || l.name == "default":
		case slices.Contains(knownLanes, l.name):
			known = append(known, l)
		default:
			other = append(other, l)
		}
	}
	bySize := func(a, b *lane) int {
		return cmp.Or(cmp.Compare(len(b.grids), len(a.grids)), cmp.Compare(b.points, a.points), cmp.Compare(a.name, b.name))
	}
	slices.SortFunc(known, bySize)
	slices.SortFunc(other, bySize)
	for _, l := range known {
		names = append(names, l.name)
	}
	names = append(names, "default")
	for _, l := range other {
		names = append(names, l.name)
	}
	return names
}

// named picks lanes by name, leaving out names that hold no rows and repetitions.
func named(names []string, ls *laneSet) []*lane {
	var out []*lane
	for _, n := range names {
		for _, l := range ls.list {
			if l.name == n && !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// appendRest adds the lanes that are not in the list yet, in order of first appearance.
func appendRest(lanes []*lane, ls *laneSet) []*lane {
	for _, l := range ls.list {
		if !slices.Contains(lanes, l) {
			lanes = append(lanes, l)
		}
	}
	return lanes
}
