package perf

import (
	"math"

	"fakellm/timing/aic/grid"
)

// headScale is, per backend, how well prompt attention of a head width uses the GPU, against a width of 128.
var headScale = map[string][5]float64{
	"trtllm": {.58, 1, 1.10, 1.17, 1.20},
	"sglang": {.60, 1, 1.18, 1.32, 1.38},
	"vllm":   {.60, 1, 1.27, 1.51, 1.60},
}

var headWidths = [5]float64{64, 128, 192, 256, 512}

// headScaleAt interpolates the scale in log2 of the width; beyond the ends it stays.
func headScaleAt(backend string, width int) float64 {
	t, ok := headScale[backend]
	if !ok {
		return 1
	}
	w := float64(width)
	if w <= headWidths[0] {
		return t[0]
	}
	for i := 1; i < len(t); i++ {
		if w <= headWidths[i] {
			lo, hi := math.Log2(headWidths[i-1]), math.Log2(headWidths[i])
			return t[i-1] + (t[i]-t[i-1])*(math.Log2(w)-lo)/(hi-lo)
		}
	}
	return t[len(t)-1]
}

// rung is one slice to estimate from.
type rung struct {
	key  attentionKey
	grid *grid.Grid
}

// attentionLadder lists the slices to estimate from: the own one of any lane; a head width of 128 with the own window
// of the first lane; the own width with full attention of any lane; then lane by lane 128 and the other widths, each
// with the own window and with full attention.
func (t *attentionTable) attentionLadder(key attentionKey, plain bool) []rung {
	var out []rung
	add := func(width, window int64, find func(attentionKey) *grid.Grid) {
		k := key
		k.headDim, k.window = width, window
		if g := find(k); g != nil {
			out = append(out, rung{k, g})
		}
	}
	anyLane := func(k attentionKey) *grid.Grid { return t.find(k, plain) }
	lanes := t.lanes
	if plain {
		lanes = t.plain
	}
	add(key.headDim, key.window, anyLane)
	for i, l := range lanes {
		inLane := func(k attentionKey) *grid.Grid { return l.grids[k] }
		add(128, key.window, inLane)
		if i == 0 {
			add(key.headDim, 0, anyLane)
		}
		add(128, 0, inLane)
		for _, d := range []int64{64, 192, 256} {
			add(d, key.window, inLane)
			add(d, 0, inLane)
		}
	}
	return out
}

// contextEmpirical estimates prompt attention: utilisations at prefix 0, the query's roofline with its prefix.
func (db *DB) contextEmpirical(q *ContextQuery, flops, b, s, prefix float64) (float64, error) {
	key := attentionKey{
		fmha: q.FMHA.Name, kv: q.KV.Name, kvHeads: int64(q.KVHeads), headDim: int64(q.HeadDim), window: int64(q.Window),
	}
	if q.KVHeads == q.Heads {
		key.kvHeads = 0
	}
	for _, r := range db.context.attentionLadder(key, q.Plain) {
		k := r.key
		other := *q
		other.HeadDim, other.Window = int(k.headDim), int(k.window)
		sol := db.contextSOL(&other, flops)
		samples := gridSamples(r.grid, func(c grid.Coord) float64 {
			return sol(c[2], c[0], kvHeadsAt(float64(k.kvHeads), c[0]), c[1], 0)
		})
		u, ok := utilAt(samples, grid.Coord{float64(q.Heads), s + prefix, b})
		if !ok || !(u > 0) {
			continue
		}
		if k.headDim != key.headDim {
			u *= headScaleAt(db.Backend, q.HeadDim) / headScaleAt(db.Backend, int(k.headDim))
		}
		return db.contextSOL(q, flops)(b, float64(q.Heads), float64(q.KVHeads), s, prefix) / u, nil
	}
	return 0, db.miss(db.context.origin, key.String()+" (empirical)", db.context.nearestKey(key))
}

// generationEmpirical estimates decode attention; sol is the query's own roofline.
func (db *DB) generationEmpirical(q *GenerationQuery, at grid.Coord, sol func(grid.Coord) float64) (float64, error) {
	key := attentionKey{kv: q.KV.Name, kvHeads: int64(q.KVHeads), headDim: int64(q.HeadDim), window: int64(q.Window)}
	if q.KVHeads == q.Heads {
		key.kvHeads = 0
	}
	for _, r := range db.generation.attentionLadder(key, q.Plain) {
		k := r.key
		other := *q
		other.HeadDim, other.Window = int(k.headDim), int(k.window)
		from, err := db.generationSOL(&other, float64(k.kvHeads))
		if err != nil {
			return 0, err
		}
		u, ok := utilAt(gridSamples(r.grid, from), at)
		if ok && u > 0 {
			return sol(at) / u, nil
		}
	}
	return 0, db.miss(db.generation.origin, key.String()+" (empirical)", db.generation.nearestKey(key))
}
