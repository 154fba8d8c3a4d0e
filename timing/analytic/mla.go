package analytic

// mla prices the block of multi-head latent attention: projections and attention together (spec analytic-timing §2.5).
// A prompt is either expanded to full heads or attended in the latent space, whichever is faster; decode is always
// latent.
type mla struct {
	row                        mlaRow
	down, up, out, expand      gemm // h→q+r+o, q→n(u+o), n·z→h, r→n(u+z)
	heads, nope, rope, v, rank float64
	kvBytes                    float64
	latentPeak, expandPeak     float64 // FLOP/ms times efficiency
	rate                       float64 // bytes/ms
	floorPeak, floorRate       float64
}

func newMLA(g *GPU, f *Facts, m, kv Mode, tp float64) (*mla, error) {
	row := mlaConstants(g.class)
	n, h := float64(f.Heads)/tp, float64(f.Hidden)
	q, r, o := float64(f.QLoRARank), float64(f.KVLoRARank), float64(f.RopeDim)
	u, z := float64(f.NopeDim), float64(f.VDim)
	b := &mla{
		row: row, heads: n, nope: u, rope: o, v: z, rank: r, kvBytes: kv.kvBytes(),
		latentPeak: g.BF16 * 1e9 * row.e * g.derate, expandPeak: g.BF16 * 1e9 * row.expandE * g.derate,
		rate: row.beta * g.hbm(), floorPeak: g.BF16 * 1e9, floorRate: g.hbm(),
	}
	upK := q
	if q == 0 { // queries straight from the hidden state
		upK = h
	}
	passes := quantPasses(m, false)
	for _, p := range []struct {
		to   *gemm
		k, n float64
	}{{&b.down, h, q + r + o}, {&b.up, upK, n * (u + o)}, {&b.out, n * z, h}, {&b.expand, r, n * (u + z)}} {
		product, err := newGEMM(g, m, p.k, p.n, passes)
		if err != nil {
			return nil, err
		}
		*p.to = product
	}
	return b, nil
}

// projections is the part of one layer that depends on all tokens of the pass, launch included.
func (b *mla) projections(t float64) float64 {
	return b.row.t0 + b.down.body(t) + b.up.body(t) + b.out.body(t)
}

// prefill is one layer's attention over n equal prompts of fresh tokens behind p cached ones.
func (b *mla) prefill(n, fresh, p float64) float64 {
	f := fresh + p
	expanded := b.expand.body(n*f) +
		n*b.heads*(b.nope+b.rope+b.v)*fresh*(f+p)/b.expandPeak*(1+b.row.expandS/f)
	return min(expanded, b.expand.body(n*fresh)+b.latent(n, fresh, f))
}

// latent is attention of n requests, m queries each, over c cached tokens each.
func (b *mla) latent(n, m, c float64) float64 {
	return 2*n*m*b.heads*c*(2*b.rank+b.rope)/b.latentPeak + n*c*(b.rank+b.rope)*b.kvBytes/b.rate + b.row.v*n*m
}
