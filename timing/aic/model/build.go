package model

import (
	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/perf"
)

// Parallel is how a deployment is spread over GPUs; 0 means the default.
type Parallel struct {
	TP, PP, AttentionDP int
	// MoETP and MoEEP split the experts; if only one is given the other is 1.
	MoETP, MoEEP int
}

// Deployment is everything that decides an operator list.
type Deployment struct {
	Parallel
	Backend string
	Quants  Quants
	// NextN is the depth of multi-token prediction, 0 for none.
	NextN int
}

// Lists are the operators of a prompt pass and of a decode step.
type Lists struct {
	Context, Generation []perf.Op
}

// normalize fills the defaults in and refuses sizes below 1.
func (p *Parallel) normalize() error {
	sizes := []struct {
		name string
		size *int
	}{
		{"tp", &p.TP}, {"pp", &p.PP}, {"attention_dp", &p.AttentionDP}, {"moe_tp", &p.MoETP}, {"moe_ep", &p.MoEEP},
	}
	for _, s := range sizes {
		if *s.size == 0 {
			*s.size = 1
		}
		if *s.size < 1 || *s.size > 1<<16 {
			return fault.New(fault.BadParallelism, "%s is %d, want 1 to 65536", s.name, *s.size)
		}
	}
	return nil
}

// Check returns the parallel sizes with their defaults, or why they do not fit the model (spec aic-timing §3.3, §4.1).
func (h *HF) Check(p Parallel, moe perf.Quant) (Parallel, error) {
	if err := p.normalize(); err != nil {
		return p, err
	}
	if h.Heads%p.TP != 0 {
		return p, fault.New(fault.BadParallelism, "%d attention heads are not divisible by tp %d", h.Heads, p.TP)
	}
	if h.Family == Llama {
		return p, nil
	}
	if p.TP*p.AttentionDP != p.MoETP*p.MoEEP {
		return p, fault.New(fault.BadParallelism, "tp x attention_dp = %d x %d differs from moe_tp x moe_ep = %d x %d",
			p.TP, p.AttentionDP, p.MoETP, p.MoEEP)
	}
	if h.Experts < p.MoEEP {
		return p, fault.New(fault.BadParallelism, "moe_ep %d for %d experts", p.MoEEP, h.Experts)
	}
	if moe.Name == "fp8_block" && h.WeightBlock > 0 && (h.MoEInter/p.MoETP)%h.WeightBlock != 0 {
		return p, fault.New(fault.BadParallelism,
			"expert width %d / moe_tp %d = %d is not a multiple of the %d wide fp8 blocks",
			h.MoEInter, p.MoETP, h.MoEInter/p.MoETP, h.WeightBlock)
	}
	return p, nil
}

// builder carries what every operator of one list needs.
type builder struct {
	h *HF
	d Deployment
	// phase is context or generation; factor multiplies every count (multi-token prediction).
	phase  string
	factor float64
	kvg    int // KV heads per rank
	bf16   perf.Quant
	fp8    perf.Quant
}

// Build makes the operator lists. d.Parallel must come from Check.
func Build(h *HF, d Deployment) (Lists, error) {
	bf16, err := perf.GemmQuant("bfloat16")
	if err != nil {
		return Lists{}, err
	}
	fp8, err := perf.GemmQuant("fp8")
	if err != nil {
		return Lists{}, err
	}
	b := builder{h: h, d: d, kvg: (h.KVHeads + d.TP - 1) / d.TP, bf16: bf16, fp8: fp8, factor: 1, phase: "context"}
	g := b
	g.phase = "generation"
	if d.NextN > 0 {
		g.factor = float64(h.Layers+d.NextN) / float64(h.Layers)
	}
	switch h.Family {
	case MoE:
		return Lists{b.moe(), g.moe()}, nil
	case DeepSeek:
		return Lists{b.deepSeek(), g.deepSeek()}, nil
	case Llama:
	}
	return Lists{b.llama(), g.llama()}, nil
}

func (b *builder) context() bool { return b.phase == "context" }

// base names an operator of this phase that runs count times.
func (b *builder) base(name string, count float64) perf.Base {
	return perf.Base{Label: b.phase + "_" + name, Count: count * b.factor}
}

func (b *builder) layers() float64 { return float64(b.h.Layers) }

func (b *builder) gemm(name string, count float64, n, k int, q perf.Quant) perf.Gemm {
	return perf.Gemm{Base: b.base(name, count), GemmQuery: perf.GemmQuery{Quant: q, N: n, K: k}}
}

// lowPrecision marks a product whose input arrives quantised.
func lowPrecision(g perf.Gemm) perf.Gemm {
	g.LowPrecisionInput = true
	return g
}

// logits is the product with the vocabulary, in 16 bits whatever the checkpoint; a prompt needs it once per request.
func (b *builder) logits() perf.Gemm {
	g := b.gemm("logits_gemm", 1, b.h.Vocab/b.d.TP, b.h.Hidden, b.bf16)
	g.PerRequest = true
	return g
}

func (b *builder) elementWise(name string, in, out int) perf.ElementWise {
	return perf.ElementWise{Base: b.base(name, b.layers()), BytesPerToken: 2*float64(in) + 2*float64(out)}
}

func (b *builder) addNorm(name string) perf.ElementWise {
	return b.elementWise(name, 2*b.h.Hidden, 2*b.h.Hidden)
}

func (b *builder) allReduce(name string, count float64) perf.AllReduce {
	return perf.AllReduce{Base: b.base(name, count), Hidden: b.h.Hidden, TP: b.d.TP}
}

func (b *builder) embedding(rows int) perf.Embedding {
	return perf.Embedding{Base: b.base("embedding", 1), Rows: rows, Hidden: b.h.Hidden}
}

func (b *builder) p2p() perf.P2P {
	return perf.P2P{Base: b.base("p2p", float64(b.d.PP-1)), PP: b.d.PP, Hidden: b.h.Hidden}
}

// attention is the attention operator of this phase.
func (b *builder) attention(count float64, window int) perf.Op {
	n := b.h.Heads / b.d.TP
	if b.context() {
		return perf.ContextAttention{Base: b.base("attention", count), ContextQuery: perf.ContextQuery{
			Heads: n, KVHeads: b.kvg, HeadDim: b.h.HeadDim, Window: window, KV: b.d.Quants.KV, FMHA: b.d.Quants.FMHA,
			QKNorm: b.h.QKNorm,
		}}
	}
	return perf.GenerationAttention{Base: b.base("attention", count), GenerationQuery: perf.GenerationQuery{
		Heads: n, KVHeads: b.kvg, HeadDim: b.h.HeadDim, Window: window, KV: b.d.Quants.KV, QKNorm: b.h.QKNorm,
	}}
}

// qkv and proj are the dense products around attention.
func (b *builder) qkv() perf.Gemm {
	h := b.h
	n := h.Heads*h.HeadDim/b.d.TP + 2*h.HeadDim*b.kvg
	return b.gemm("qkv_gemm", b.layers(), n, h.Hidden, b.d.Quants.Gemm)
}

func (b *builder) proj() perf.Gemm {
	return lowPrecision(b.gemm("proj_gemm", b.layers(), b.h.Hidden, b.h.Heads*b.h.HeadDim/b.d.TP, b.d.Quants.Gemm))
}
