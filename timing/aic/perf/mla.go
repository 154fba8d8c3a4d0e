package perf

import (
	"fmt"
	"math/bits"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/grid"
)

// Widths of DeepSeek's latent attention that the rooflines count (spec aic-timing §5.5).
const (
	mlaPairWidth  = 320       // query-key plus value width of prompt attention
	mlaDecodeOps  = 1088      // latent plus rope plus latent width of decode attention
	mlaLatent     = 576       // cached width per token
	mlaHeadBytes  = 2176      // query and output bytes per head in decode
	mlaBMM        = 512 * 128 // one absorbed projection per head
	mlaBMMTraffic = 512 + 128
)

// MLAQuery is latent attention on one rank, alone or as a whole module with its projections.
type MLAQuery struct {
	Heads int
	KV    Quant
	// FMHA counts for prompts; Gemm for modules.
	FMHA, Gemm Quant
	Module     bool
}

// ContextMLA returns the ms of prompt attention over a batch with s new and prefix cached tokens each.
func (db *DB) ContextMLA(q *MLAQuery, batch, s, prefix int) (float64, error) {
	flops, err := peak(db.sys, q.FMHA)
	if err != nil {
		return 0, err
	}
	t, key := db.contextMLA, mlaKey{fmha: q.FMHA.Name, kv: q.KV.Name}
	if q.Module {
		t, key.gemm = db.contextMod, q.Gemm.Name
	}
	bw, kvMem := db.sys.GPU.MemBW, q.KV.Mem
	sol := func(n, b, fresh, pre float64) float64 {
		full := fresh + pre
		ops := b * n * mlaPairWidth * (full*full - pre*pre)
		bytes := b * n * (kvMem*full*mlaPairWidth + 2*fresh*mlaPairWidth)
		return max(ops/flops, bytes/bw) * 1000
	}
	n, b, fresh, pre := float64(q.Heads), float64(batch), float64(s), float64(prefix)
	full := fresh + pre
	table := func(c grid.Coord) float64 { return sol(c[0], c[2], c[1], 0) }
	estimate := func() (float64, error) {
		g := t.grids[key]
		return db.estimate(t.origin, key.String(), g, grid.Coord{n, full, b}, table, sol(n, b, fresh, pre))
	}
	switch db.Mode {
	case SOL:
		return sol(n, b, fresh, pre), nil
	case Empirical:
		return estimate()
	case Silicon, Hybrid:
	}
	ms, err := t.at(db, key, grid.Coord{n, full, b}, table)
	if db.Mode == Hybrid && fault.Missing(err) {
		return estimate()
	}
	return ms * (full*full - pre*pre) / (full * full), err
}

// GenerationMLA returns the ms of decode attention over a batch that reads s tokens each. Lengths are not averaged.
func (db *DB) GenerationMLA(q *MLAQuery, batch, s int) (float64, error) {
	sol, err := db.generationMLASOL(q)
	if err != nil {
		return 0, err
	}
	t, key := db.genMLA, mlaKey{kv: q.KV.Name}
	if q.Module {
		t, key.gemm = db.genMod, q.Gemm.Name
	}
	at := grid.Coord{float64(q.Heads), float64(batch), float64(s)}
	switch db.Mode {
	case SOL:
		return sol(at), nil
	case Empirical:
		return db.estimate(t.origin, key.String(), t.grids[key], at, sol, sol(at))
	case Silicon, Hybrid:
	}
	ms, err := t.at(db, key, at, sol)
	if db.Mode == Hybrid && fault.Missing(err) {
		return db.estimate(t.origin, key.String(), t.grids[key], at, sol, sol(at))
	}
	return ms, err
}

// generationMLASOL is the roofline in ms over (heads, batch, length); a module adds its two absorbed projections.
func (db *DB) generationMLASOL(q *MLAQuery) (func(grid.Coord) float64, error) {
	flops, err := db.decodePeak(q.KV)
	if err != nil {
		return nil, err
	}
	gemmFlops := 1.0
	if q.Module {
		if gemmFlops, err = peak(db.sys, q.Gemm); err != nil {
			return nil, err
		}
	}
	bw, kvMem, gemmMem, module := db.sys.GPU.MemBW, q.KV.Mem, q.Gemm.Mem, q.Module
	return func(c grid.Coord) float64 {
		n, b, s := c[0], c[1], c[2]
		math := 2 * b * n * mlaDecodeOps * s / flops
		bytes := b * (n*mlaHeadBytes + (s-1)*mlaLatent*kvMem)
		if module {
			math += 4 * b * n * mlaBMM / gemmFlops
			bytes += 2 * n * (mlaBMMTraffic*b + mlaBMM) * gemmMem
		}
		return max(math, bytes/bw) * 1000
	}, nil
}

// BMMQuery is one of the two absorbed projections of MLA decode.
type BMMQuery struct {
	Heads int
	Quant Quant
	// Pre is set before attention, clear after it.
	Pre bool
}

// BMM returns the ms of an absorbed projection over a batch of tokens (spec aic-timing §5.5).
func (db *DB) BMM(q *BMMQuery, tokens int) (float64, error) {
	flops, err := peak(db.sys, q.Quant)
	if err != nil {
		return 0, err
	}
	bw := db.sys.GPU.MemBW
	sol := func(heads float64) func(float64) float64 {
		return func(t float64) float64 {
			return max(2*t*heads*mlaBMM/flops, heads*(mlaBMMTraffic*t+mlaBMM)*q.Quant.Mem/bw) * 1000
		}
	}
	t, n := float64(tokens), float64(q.Heads)
	if db.Mode == SOL {
		return sol(n)(t), nil
	}
	curve, heads := db.bmm.find(q)
	ms, err := 0.0, grid.ErrMissing
	if curve != nil && db.Mode != Empirical {
		ms, err = curve.At(t, sol(float64(heads)))
	}
	slice := fmt.Sprintf("bmm_dtype=%s pre=%t num_heads=%d num_tokens=%d", q.Quant.Name, q.Pre, q.Heads, tokens)
	if err != nil {
		if db.Mode == Silicon {
			return 0, db.miss(db.bmm.origin, slice, "")
		}
		if ms, err = db.estimateCurve(db.bmm.origin, slice, curve, t, sol(float64(heads))); err != nil {
			return 0, err
		}
	}
	return max(ms, 0) * n / float64(heads), nil
}

// find returns the curve of a query and the heads that it stands for: the next power of two when the count itself is
// absent, and bf16 rows when the type is.
func (t *bmmTable) find(q *BMMQuery) (*grid.Curve, int) {
	for _, dtype := range []string{q.Quant.Name, "bfloat16"} {
		if c := t.curves[bmmKey{dtype, q.Pre, int64(q.Heads)}]; c != nil {
			return c, q.Heads
		}
		up := 1 << bits.Len(uint(max(q.Heads, 1)-1))
		if c := t.curves[bmmKey{dtype, q.Pre, int64(up)}]; c != nil {
			return c, up
		}
	}
	return nil, q.Heads
}
