package model

import "fakellm/timing/aic/perf"

// gptOssWindow is the sliding window of every other layer of gpt-oss, in tokens.
const gptOssWindow = 128

// moe is the list of a mixture-of-experts decoder (spec aic-timing §4.1). Its prompt pass has no logits product.
func (b *builder) moe() []perf.Op {
	h, l := b.h, b.layers()
	var ops []perf.Op
	full := l
	if h.GPTOss {
		full = l / 2
		ops = append(ops, b.attention(full, gptOssWindow))
	}
	ops = append(ops,
		b.embedding(h.Vocab/b.d.TP),
		b.addNorm("add_norm_1"),
		b.qkv(),
		b.attention(full, 0),
		b.proj(),
		b.addNorm("add_norm_2"),
	)
	ops = append(ops, b.experts("power_law_1.2")...)
	if !b.context() {
		ops = append(ops, b.logits())
	}
	return append(ops, b.allReduce("embedding_ar", 1), b.p2p())
}

// experts is the routed part of the layers: router, dispatch, experts, collection.
func (b *builder) experts(distribution string) []perf.Op {
	h, d, l := b.h, b.d, b.layers()
	dispatch := func(name string, pre bool) perf.Dispatch {
		return perf.Dispatch{Base: b.base(name, l), DispatchQuery: perf.DispatchQuery{
			Hidden: h.Hidden, TP: d.MoETP, EP: d.MoEEP, AttentionDP: d.AttentionDP, Pre: pre,
			MoE: d.Quants.MoE, Comm: d.Quants.Comm,
		}}
	}
	return []perf.Op{
		b.gemm("router_gemm", l, h.Experts, h.Hidden, b.bf16),
		dispatch("moe_pre_dispatch", true),
		perf.MoE{Base: b.base("moe", l), MoEQuery: perf.MoEQuery{
			Hidden: h.Hidden, Inter: h.MoEInter, TopK: h.TopK, Experts: h.Experts, TP: d.MoETP, EP: d.MoEEP,
			AttentionDP: d.AttentionDP, Quant: d.Quants.MoE, Distribution: distribution,
		}},
		dispatch("moe_post_dispatch", false),
	}
}
