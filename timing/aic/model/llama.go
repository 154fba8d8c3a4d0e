package model

import "fakellm/timing/aic/perf"

// llama is the list of a dense decoder (spec aic-timing §3.3).
func (b *builder) llama() []perf.Op {
	h, tp, q, l := b.h, b.d.TP, b.d.Quants.Gemm, b.layers()
	return []perf.Op{
		b.embedding(h.Vocab / tp),
		b.addNorm("add_norm_1"),
		b.qkv(),
		b.attention(l, 0),
		b.proj(),
		b.addNorm("add_norm_2"),
		b.gemm("gate_ffn1_gemm", l, 2*h.Inter/tp, h.Hidden, q),
		b.elementWise("act_gate", 2*h.Inter/tp, h.Inter/tp),
		lowPrecision(b.gemm("ffn2_gemm", l, h.Hidden, h.Inter/tp, q)),
		b.logits(),
		b.allReduce("embedding_ar", 1),
		b.allReduce("ar_1", l),
		b.allReduce("ar_2", l),
		b.p2p(),
	}
}
