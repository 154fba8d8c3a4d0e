package analytic

// attention prices softmax attention with grouped KV heads on one rank (spec analytic-timing §2.3 and §2.4).
type attention struct {
	row                   attentionRow
	heads, kvHeads, dim   float64 // per rank
	kvBytes               float64
	peak                  float64 // bf16 FLOP/ms times efficiency
	readRate, decodeRate  float64 // bytes/ms for prefill and decode
	prefillT0, decodeT0   float64 // launches with the fused extra kernels
	floorPeak, floorBytes float64
}

func newAttention(g *GPU, heads, kvHeads, dim float64, kv Mode, qkNorm bool) attention {
	row := attentionConstants(g.class)
	a := attention{
		row: row, heads: heads, kvHeads: kvHeads, dim: dim, kvBytes: kv.kvBytes(),
		floorPeak: g.BF16 * 1e9, floorBytes: g.hbm(),
		peak:     g.BF16 * 1e9 * row.e * g.derate,
		readRate: row.beta * g.hbm(), decodeRate: row.beta * g.hbm(),
	}
	if kv == FP8 && row.cap8 > 0 {
		a.decodeRate = min(a.decodeRate, row.cap8*1e9)
	}
	prefillExtras, decodeExtras := 4.0, 0.0
	if qkNorm {
		prefillExtras, decodeExtras = 12, 8
	}
	a.prefillT0 = fusedKernel*prefillExtras + row.t0
	a.decodeT0 = fusedKernel*decodeExtras + row.decodeT0
	return a
}

// span is what one prompt of f = fresh + p tokens, p of them cached, asks of attention under a window (0: none).
type span struct{ pairs, reach, ramp, read float64 }

func newSpan(fresh, p, window float64) span {
	f := fresh + p
	s := span{pairs: fresh * (f + p) / 2, reach: fresh * (f + p) / f, ramp: f, read: f}
	if window > 0 {
		s.pairs, s.reach = min(s.pairs, window*fresh), min(s.reach, window)
		s.ramp, s.read = min(f, window), min(f, fresh+window)
	}
	return s
}

// prefillSum accumulates the requests of a pass: compute and bytes add up, the longest span counts once.
type prefillSum struct{ compute, bytes, reach float64 }

// add counts n equal prompts.
func (a *attention) add(sum *prefillSum, n, fresh, p, window float64) {
	s := newSpan(fresh, p, window)
	sum.compute += n * 4 * a.heads * a.dim * s.pairs / a.peak * (1 + a.row.s/s.ramp)
	sum.bytes += n * (2*a.kvHeads*a.dim*a.kvBytes*s.read + 4*a.heads*a.dim*fresh)
	sum.reach = max(sum.reach, s.reach)
}

// prefillMS is one layer's prefill attention in milliseconds.
func (a *attention) prefillMS(sum prefillSum) float64 {
	return a.prefillT0 + max(sum.compute+a.row.lambda*sum.reach, sum.bytes/a.readRate)
}

// decodeMS is one layer's decode attention, without its launch, of n requests with the given context each under a
// window (0: none).
func (a *attention) decodeMS(n, context, window float64) float64 {
	if window > 0 {
		context = min(context, window)
	}
	return n*(2*a.kvHeads*a.dim*a.kvBytes*context+4*a.heads*a.dim)/a.decodeRate + a.row.v*n
}
