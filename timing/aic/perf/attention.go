package perf

import (
	"fmt"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/grid"
)

// ContextQuery is prompt attention on one rank: heads and KV heads are per rank.
type ContextQuery struct {
	Heads, KVHeads, HeadDim int
	// Window is the sliding window in tokens; 0 means full attention.
	Window int
	KV     Quant
	FMHA   Quant
	QKNorm bool
	// Plain asks the lanes in their plain order, as the attention inside an MLA block does.
	Plain bool
}

// Context returns the ms of a batch of requests with s new and prefix cached tokens each (spec aic-timing §5.4).
func (db *DB) Context(q *ContextQuery, batch, s, prefix int) (float64, error) {
	flops, err := peak(db.sys, q.FMHA)
	if err != nil {
		return 0, err
	}
	b, n, fresh, pre := float64(batch), float64(q.Heads), float64(s), float64(prefix)
	extras := db.fusedExtras(q)
	full := fresh + pre
	var ms float64
	switch db.Mode {
	case SOL:
		return db.contextSOL(q, flops)(b, n, float64(q.KVHeads), fresh, pre) + extras, nil
	case Empirical:
		ms, err = db.contextEmpirical(q, flops, b, fresh, pre)
	default:
		ms, err = db.contextSilicon(q, flops, grid.Coord{n, full, b})
		ms *= (full*full - pre*pre) / (full * full)
		if db.Mode == Hybrid && fault.Missing(err) {
			ms, err = db.contextEmpirical(q, flops, b, fresh, pre)
		}
	}
	if err != nil {
		return 0, err
	}
	return ms + extras, nil
}

// contextSilicon looks the table up at a full length without prefix.
func (db *DB) contextSilicon(q *ContextQuery, flops float64, at grid.Coord) (float64, error) {
	key := attentionKey{
		fmha: q.FMHA.Name, kv: q.KV.Name, kvHeads: int64(q.KVHeads), headDim: int64(q.HeadDim), window: int64(q.Window),
	}
	if q.KVHeads == q.Heads {
		key.kvHeads = 0
	}
	g := db.context.find(key, q.Plain)
	if g == nil {
		return 0, db.miss(db.context.origin, key.String(), db.context.nearestKey(key))
	}
	sol := db.contextSOL(q, flops)
	ms, err := g.At(at, db.context.rule, func(c grid.Coord) float64 {
		return sol(c[2], c[0], kvHeadsAt(float64(key.kvHeads), c[0]), c[1], 0)
	})
	if err != nil {
		return 0, db.miss(db.context.origin, fmt.Sprintf("%v heads=%g isl=%g batch=%g", key, at[0], at[1], at[2]), "")
	}
	return max(ms, 0), nil
}

// kvHeadsAt undoes the normalisation of keys: 0 KV heads means one per head.
func kvHeadsAt(kvHeads, heads float64) float64 {
	if kvHeads == 0 {
		return heads
	}
	return kvHeads
}

// contextSOL is the roofline of prompt attention in ms (spec aic-timing §5.5).
func (db *DB) contextSOL(q *ContextQuery, flops float64) func(b, n, kvHeads, s, prefix float64) float64 {
	d, w, kvMem, bw := float64(q.HeadDim), float64(q.Window), q.KV.Mem, db.sys.GPU.MemBW
	return func(b, n, kvHeads, s, prefix float64) float64 {
		full := s + prefix
		ops := 2 * b * (full*full - prefix*prefix) * n * d
		if w > 0 && full > w {
			ops = 4 * b * s * w * n * d
		}
		bytes := 4*b*n*s*d + kvMem*b*2*kvHeads*full*d
		return max(ops/flops, bytes/bw) * 1000
	}
}

// fusedExtras is the time of the small kernels around prompt attention. It does not grow with the tokens: the reference
// counts the bytes of one token (spec aic-timing §11, 1).
func (db *DB) fusedExtras(q *ContextQuery) float64 {
	qBytes := 2 * float64(q.Heads*q.HeadDim)
	kvBytes := 2 * float64(q.KVHeads*q.HeadDim)
	cache := float64(q.KVHeads*q.HeadDim) * q.FMHA.Mem
	sum := 2*db.memOp(qBytes+kvBytes) + db.memOp(cache) + db.memOp(cache)
	if q.QKNorm {
		sum += 2 * (2*db.memOp(qBytes) + 2*db.memOp(kvBytes))
	}
	return 1.1 * sum
}

// memOp is the ms of moving bytes; the roofline mode drops the measured corrections.
func (db *DB) memOp(bytes float64) float64 {
	if db.Mode == SOL {
		return bytes / db.sys.GPU.MemBW * 1000
	}
	return db.sys.MemOp(bytes)
}

// GenerationQuery is decode attention on one rank.
type GenerationQuery struct {
	Heads, KVHeads, HeadDim, Window int
	KV                              Quant
	QKNorm                          bool
	Plain                           bool
}

// Generation returns the ms of a batch of requests that read s tokens each: the mean of five lengths around s.
func (db *DB) Generation(q *GenerationQuery, batch, s int) (float64, error) {
	key := attentionKey{kv: q.KV.Name, kvHeads: int64(q.KVHeads), headDim: int64(q.HeadDim), window: int64(q.Window)}
	if q.KVHeads == q.Heads {
		key.kvHeads = 0
	}
	sol, err := db.generationSOL(q, float64(key.kvHeads))
	if err != nil {
		return 0, err
	}
	extras := 0.0
	if q.QKNorm {
		qBytes, kvBytes := 2*float64(q.Heads*q.HeadDim), 2*float64(q.KVHeads*q.HeadDim)
		extras = 1.1 * 2 * (2*db.memOp(qBytes) + 2*db.memOp(kvBytes))
	}
	at := grid.Coord{float64(q.Heads), float64(batch), float64(s)}
	var ms float64
	switch db.Mode {
	case SOL:
		ms = sol(at)
	case Empirical:
		ms, err = db.generationEmpirical(q, at, sol)
	default:
		ms, err = db.generationSilicon(key, q.Plain, at, sol)
		if db.Mode == Hybrid && fault.Missing(err) {
			ms, err = db.generationEmpirical(q, at, sol)
		}
	}
	if err != nil {
		return 0, err
	}
	return ms + extras, nil
}

// generationSilicon averages five lengths between 0.9 and 1.1 times the asked one.
func (db *DB) generationSilicon(key attentionKey, plain bool, at grid.Coord, sol func(grid.Coord) float64,
) (float64, error) {
	g := db.generation.find(key, plain)
	if g == nil {
		return 0, db.miss(db.generation.origin, key.String(), db.generation.nearestKey(key))
	}
	s := at[2]
	lo := max(1, int(0.9*s))
	hi := max(lo, int(1.1*s))
	sum := 0.0
	for i := range 5 {
		at[2] = float64(lo + (hi-lo)*i/4)
		ms, err := g.At(at, grid.Rule{}, sol)
		if err != nil {
			return 0, db.miss(db.generation.origin, fmt.Sprintf("%v heads=%g batch=%g length=%g", key, at[0], at[1], at[2]), "")
		}
		sum += max(ms, 0)
	}
	return sum / 5, nil
}

// decodePeak is the arithmetic of decode attention: fp8 with an fp8 cache on GPUs that have it, else bf16.
func (db *DB) decodePeak(kv Quant) (float64, error) {
	if kv.Name == "fp8" && db.sys.GPU.SM >= 89 {
		return peak(db.sys, Quant{Name: "fp8", arith: fp8})
	}
	return peak(db.sys, Quant{Name: "bfloat16", arith: bf16})
}

// generationSOL is the roofline of decode attention in ms over (heads, batch, length); kvHeads 0 means one per head.
func (db *DB) generationSOL(q *GenerationQuery, kvHeads float64) (func(grid.Coord) float64, error) {
	flops, err := db.decodePeak(q.KV)
	if err != nil {
		return nil, err
	}
	d, w, kvMem, bw := float64(q.HeadDim), float64(q.Window), q.KV.Mem, db.sys.GPU.MemBW
	return func(c grid.Coord) float64 {
		n, b, length := c[0], c[1], c[2]-1
		if w > 0 {
			length = min(length, w)
		}
		ops := 4 * b * n * d * length
		bytes := b * (4*n*d + 2*kvHeadsAt(kvHeads, n)*length*d*kvMem)
		return max(ops/flops, bytes/bw) * 1000
	}, nil
}

// find returns the grid of the first lane that holds the key, nil when none does.
func (t *attentionTable) find(key attentionKey, plain bool) *grid.Grid {
	lanes := t.lanes
	if plain {
		lanes = t.plain
	}
	for _, l := range lanes {
		if g := l.grids[key]; g != nil {
			return g
		}
	}
	return nil
}

// String names the key in messages.
func (k attentionKey) String() string {
	fmha := ""
	if k.fmha != "" {
		fmha = "attn_dtype=" + k.fmha + " "
	}
	return fmt.Sprintf("%skv_cache_dtype=%s kv_heads=%d head_dim=%d window=%d", fmha, k.kv, k.kvHeads, k.headDim, k.window)
}

// nearestKey names the collected key that shares most with the asked one, "" for an empty table.
func (t *attentionTable) nearestKey(key attentionKey) string {
	best, name := -1, ""
	for _, l := range t.lanes {
		for k := range l.grids {
			score := 0
			for _, same := range []bool{
				k.headDim == key.headDim, k.kv == key.kv, k.fmha == key.fmha, k.window == key.window, k.kvHeads == key.kvHeads,
			} {
				score *= 2
				if same {
					score++
				}
			}
			if s := k.String(); score > best || score == best && s < name {
				best, name = score, s
			}
		}
	}
	return name
}
