package model

import "fakellm/timing/aic/perf"

// Widths of DeepSeek's latent attention per head and in all (spec aic-timing §4.4).
const (
	mlaDown    = 2112 // compressed query, latent and rope part together
	mlaQRank   = 1536
	mlaKVRank  = 512
	mlaQHead   = 192
	mlaKVHead  = 256
	mlaOutHead = 128
)

// deepSeek is the list of a decoder with latent attention, routed and shared experts. Every layer counts as one with
// experts, as the reference has it.
func (b *builder) deepSeek() []perf.Op {
	h, tp, l := b.h, b.d.TP, b.layers()
	ops := []perf.Op{b.embedding(h.Vocab), b.addNorm("add_norm_1"), b.mlaBlock(), b.addNorm("add_norm_2")}
	shared := b.sharedExperts()
	routed := b.experts("power_law_1.01")
	if b.context() {
		ops = append(ops, shared...)
		ops = append(ops, routed...)
	} else {
		// The counts inside carry the factor of multi-token prediction already.
		ops = append(ops, perf.Overlap{Base: perf.Base{Label: "generation_moe_overlap", Count: 1}, A: routed, B: shared})
	}
	ops = append(ops, b.logits())
	if b.d.Backend == "vllm" {
		ops = append(ops, perf.AllReduce{Base: b.base("tp_allreduce", 2*l), Hidden: h.Hidden, TP: tp})
	}
	return append(ops, b.p2p())
}

func (b *builder) sharedExperts() []perf.Op {
	h, tp, l, q := b.h, b.d.TP, b.layers(), b.d.Quants.Gemm
	return []perf.Op{
		b.gemm("shared_gate_up_gemm", l, 2*h.MoEInter/tp, h.Hidden, q),
		b.elementWise("shared_act_gate", 2*h.MoEInter/tp, h.MoEInter/tp),
		b.gemm("shared_ffn2_gemm", l, h.Hidden, h.MoEInter/tp, q),
	}
}

// mlaBlock is the attention module with its projections, or where its rows are missing their sum.
func (b *builder) mlaBlock() perf.Op {
	h, d, l := b.h, b.d, b.layers()
	q := perf.MLAQuery{Heads: h.Heads / d.TP, KV: d.Quants.KV, FMHA: d.Quants.FMHA, Gemm: d.Quants.Gemm, Module: true}
	block := perf.Fallback{Base: perf.Base{Label: b.phase + "_mla_block", Count: 1}}
	if b.context() {
		block.Primary = perf.ContextMLA{Base: b.base("mla_module", l), MLAQuery: q}
		block.Rest = b.granularContext(q)
	} else {
		block.Primary = perf.GenerationMLA{Base: b.base("mla_module", l), MLAQuery: q}
		block.Rest = b.granularGeneration(q)
	}
	return block
}

func (b *builder) down() perf.Op {
	return b.gemm("downscale_gemm", b.layers(), mlaDown, b.h.Hidden, b.d.Quants.Gemm)
}

func (b *builder) qUp() perf.Op {
	return b.gemm("q_b_proj_gemm", b.layers(), mlaQHead*b.h.Heads/b.d.TP, mlaQRank, b.d.Quants.Gemm)
}

func (b *builder) mlaOut() perf.Op {
	return b.gemm("proj_gemm", b.layers(), b.h.Hidden, mlaOutHead*b.h.Heads/b.d.TP, b.d.Quants.Gemm)
}

func (b *builder) granularContext(q perf.MLAQuery) []perf.Op {
	h, d, l := b.h, b.d, b.layers()
	q.Module = false
	var attention perf.Op = perf.ContextMLA{Base: b.base("attention", l), MLAQuery: q}
	if d.Backend == "vllm" {
		attention = perf.ContextAttention{Base: b.base("attention", l), ContextQuery: perf.ContextQuery{
			Heads: h.Heads / d.TP, KVHeads: h.KVHeads / d.TP, HeadDim: h.VHeadDim, KV: d.Quants.KV, FMHA: d.Quants.FMHA,
			Plain: true,
		}}
	}
	return []perf.Op{
		b.down(), b.qUp(),
		b.gemm("kv_b_proj_gemm", l, mlaKVHead*h.Heads/d.TP, mlaKVRank, d.Quants.Gemm),
		attention,
		b.mlaOut(),
	}
}

func (b *builder) granularGeneration(q perf.MLAQuery) []perf.Op {
	h, d, l := b.h, b.d, b.layers()
	q.Module = false
	if d.Backend == "vllm" {
		return []perf.Op{b.down(), b.qUp(), perf.GenerationAttention{
			Base: b.base("attention", l), GenerationQuery: perf.GenerationQuery{
				Heads: h.Heads / d.TP, KVHeads: h.KVHeads / d.TP, HeadDim: h.VHeadDim, KV: d.Quants.KV, Plain: true,
			},
		}, b.mlaOut()}
	}
	quant := b.fp8
	if d.Quants.Gemm.Name == "bfloat16" {
		quant = b.bf16
	}
	bmm := func(name string, pre bool) perf.Op {
		return perf.BMM{Base: b.base(name, l), BMMQuery: perf.BMMQuery{Heads: h.Heads / d.TP, Quant: quant, Pre: pre}}
	}
	return []perf.Op{
		b.down(), b.qUp(), bmm("bmm_pre", true),
		perf.GenerationMLA{Base: b.base("attention", l), MLAQuery: q},
		bmm("bmm_post", false), b.mlaOut(),
	}
}
