package aic

import (
	"encoding/json"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/perf"
)

// opCase are the fields of a single operator; parallel sizes and modes have the names of a deployment's.
type opCase struct {
	Tokens int `json:"tokens"`
	Batch  int `json:"batch"`
	S      int `json:"s"`
	Prefix int `json:"prefix"`

	N         int     `json:"n"`
	K         int     `json:"k"`
	NKV       int     `json:"n_kv"`
	HeadDim   int     `json:"head_dim"`
	Window    int     `json:"window"`
	Quant     string  `json:"quant"`
	KV        string  `json:"kv"`
	FMHA      string  `json:"fmha"`
	QKNorm    bool    `json:"qk_norm"`
	LowInput  bool    `json:"low_precision_input"`
	Hidden    int     `json:"hidden"`
	Op        string  `json:"op"`
	GPUs      int     `json:"gpus"`
	Elements  float64 `json:"elements_per_token"`
	DType     string  `json:"dtype"`
	Bytes     float64 `json:"bytes_per_token"`
	Vocab     int     `json:"vocab"`
	Inter     int     `json:"inter"`
	TopK      int     `json:"topk"`
	Experts   int     `json:"experts"`
	Dist      string  `json:"distribution"`
	Pre       bool    `json:"pre"`
	MoEQuant  string  `json:"moe_quant"`
	GemmQuant string  `json:"gemm_quant"`
	TP        int     `json:"tp"`
	PP        int     `json:"pp"`
	MoETP     int     `json:"moe_tp"`
	MoEEP     int     `json:"moe_ep"`
	DP        int     `json:"attention_dp"`
}

// runOp answers a case with a kind: one operator that runs once.
func (r *runner) runOp(c *caseFields, raw json.RawMessage) (object, error) {
	o := opCase{TP: 1, PP: 1, MoETP: 1, MoEEP: 1, DP: 1, S: 1}
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fault.New(fault.BadConfig, "case: %v", err)
	}
	mode, err := perf.ParseMode(c.Mode)
	if err != nil {
		return nil, err
	}
	scope, err := r.data.scope(c.System, c.Backend, c.Version, mode)
	if err != nil {
		return nil, err
	}
	op, err := o.build(c.Kind)
	if err != nil {
		return nil, err
	}
	db, err := perf.Load(scope, op.Needs())
	if err != nil {
		return nil, err
	}
	sh := perf.Shape{Tokens: o.Tokens, Batch: o.Batch, S: o.S, Prefix: o.Prefix}
	if sh.Batch == 0 {
		sh.Batch = o.Tokens
	}
	ms, err := finite(op.MS(db, sh))
	return object{{"latency_ms", ms}}, err
}

// build makes the operator of a kind.
func (o *opCase) build(kind string) (perf.Op, error) {
	base := perf.Base{Label: kind, Count: 1}
	if err := o.check(); err != nil {
		return nil, err
	}
	switch kind {
	case "gemm":
		q, err := perf.GemmQuant(o.Quant)
		return perf.Gemm{Base: base, GemmQuery: perf.GemmQuery{Quant: q, N: o.N, K: o.K, LowPrecisionInput: o.LowInput}}, err
	case "context_attention", "generation_attention":
		return o.attention(base, kind)
	case "all_reduce":
		return perf.AllReduce{Base: base, Hidden: o.Hidden, TP: o.TP}, nil
	case "nccl":
		q, err := perf.CommQuant(o.DType)
		return perf.Collective{Base: base, Operation: o.Op, GPUs: o.GPUs, Elements: o.Elements, Quant: q}, err
	case "p2p":
		return perf.P2P{Base: base, PP: o.PP, Hidden: o.Hidden}, nil
	case "elementwise":
		return perf.ElementWise{Base: base, BytesPerToken: o.Bytes}, nil
	case "embedding":
		return perf.Embedding{Base: base, Rows: o.Vocab, Hidden: o.Hidden}, nil
	case "moe", "moe_dispatch":
		return o.experts(base, kind)
	case "mla_context", "mla_generation", "mla_module_context", "mla_module_generation":
		return o.latent(base, kind)
	case "mla_bmm":
		q, err := perf.GemmQuant(o.Quant)
		return perf.BMM{Base: base, BMMQuery: perf.BMMQuery{Heads: o.N, Quant: q, Pre: o.Pre}}, err
	}
	return nil, fault.New(fault.BadConfig, "kind %q is not an operator", kind)
}

// check refuses sizes that no operator has.
func (o *opCase) check() error {
	sizes := []struct {
		name  string
		value int
		least int
	}{
		{"tokens", o.Tokens, 0},
		{"batch", o.Batch, 0},
		{"s", o.S, 0},
		{"prefix", o.Prefix, 0},
		{"n", o.N, 0},
		{"k", o.K, 0},
		{"n_kv", o.NKV, 0},
		{"head_dim", o.HeadDim, 0},
		{"window", o.Window, 0},
		{"hidden", o.Hidden, 0},
		{"gpus", o.GPUs, 0},
		{"inter", o.Inter, 0},
		{"topk", o.TopK, 0},
		{"experts", o.Experts, 0},
		{"tp", o.TP, 1},
		{"pp", o.PP, 1},
		{"moe_tp", o.MoETP, 1},
		{"moe_ep", o.MoEEP, 1},
		{"attention_dp", o.DP, 1},
	}
	for _, s := range sizes {
		if err := sized(s.name, s.value, s.least); err != nil {
			return err
		}
	}
	return nil
}

func (o *opCase) attention(base perf.Base, kind string) (perf.Op, error) {
	kv, err := perf.KVQuant(o.KV)
	if err != nil {
		return nil, err
	}
	if kind == "generation_attention" {
		return perf.GenerationAttention{Base: base, GenerationQuery: perf.GenerationQuery{
			Heads: o.N, KVHeads: o.NKV, HeadDim: o.HeadDim, Window: o.Window, KV: kv, QKNorm: o.QKNorm,
		}}, nil
	}
	fmha, err := perf.FMHAQuant(o.FMHA)
	return perf.ContextAttention{Base: base, ContextQuery: perf.ContextQuery{
		Heads: o.N, KVHeads: o.NKV, HeadDim: o.HeadDim, Window: o.Window, KV: kv, FMHA: fmha, QKNorm: o.QKNorm,
	}}, err
}

func (o *opCase) experts(base perf.Base, kind string) (perf.Op, error) {
	if kind == "moe" {
		q, err := perf.MoEQuant(o.Quant)
		return perf.MoE{Base: base, MoEQuery: perf.MoEQuery{
			Hidden: o.Hidden, Inter: o.Inter, TopK: o.TopK, Experts: o.Experts, TP: o.MoETP, EP: o.MoEEP,
			AttentionDP: o.DP, Quant: q, Distribution: o.Dist,
		}}, err
	}
	q, err := perf.MoEQuant(o.MoEQuant)
	if err != nil {
		return nil, err
	}
	half, err := perf.CommQuant("half")
	return perf.Dispatch{Base: base, DispatchQuery: perf.DispatchQuery{
		Hidden: o.Hidden, TP: o.MoETP, EP: o.MoEEP, AttentionDP: o.DP, Pre: o.Pre, MoE: q, Comm: half,
	}}, err
}

func (o *opCase) latent(base perf.Base, kind string) (perf.Op, error) {
	kv, err := perf.KVQuant(o.KV)
	if err != nil {
		return nil, err
	}
	q := perf.MLAQuery{Heads: o.N, KV: kv, Module: kind == "mla_module_context" || kind == "mla_module_generation"}
	if o.FMHA != "" {
		if q.FMHA, err = perf.FMHAQuant(o.FMHA); err != nil {
			return nil, err
		}
	}
	if q.Module {
		if q.Gemm, err = perf.GemmQuant(o.GemmQuant); err != nil {
			return nil, err
		}
	}
	if kind == "mla_context" || kind == "mla_module_context" {
		return perf.ContextMLA{Base: base, MLAQuery: q}, nil
	}
	return perf.GenerationMLA{Base: base, MLAQuery: q}, nil
}
