package aic

import (
	"encoding/json"

	"fakellm/timing/aic/fault"
)

// passFields are the shapes of all phases.
type passFields struct {
	Batch         int    `json:"batch"`
	ISL           int    `json:"isl"`
	Prefix        int    `json:"prefix"`
	Past          int    `json:"past"`
	OSL           int    `json:"osl"`
	MeanNewTokens int    `json:"mean_new_tokens"`
	MeanPrefix    int    `json:"mean_prefix"`
	MeanContext   int    `json:"mean_context"`
	Ctx           int    `json:"ctx"`
	Gen           int    `json:"gen"`
	Ranks         []Rank `json:"ranks"`
}

// runPass answers a case with a phase.
func runPass(m *Model, phase string, raw json.RawMessage) (object, error) {
	p := passFields{OSL: 2}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fault.New(fault.BadConfig, "case: %v", err)
	}
	out := object{{"resolved", m.resolvedFields()}}
	switch phase {
	case "prefill":
		return m.prefillCase(out, p.Batch, p.ISL, p.Prefix)
	case "engine_prefill":
		return m.prefillCase(out, p.Batch, p.MeanNewTokens+p.MeanPrefix, p.MeanPrefix)
	case "decode":
		return m.decodeCase(out, p.Batch, p.Past, p.OSL)
	case "engine_decode":
		return m.decodeCase(out, p.Batch, p.MeanContext-1, 2)
	case "mixed_step":
		x, err := m.MixedStep(p.Ctx, p.Gen, p.ISL, p.OSL, p.Prefix)
		if err != nil {
			return nil, err
		}
		return append(out, field{"latency_ms", x.TotalMS}, field{"shared_ms", x.SharedMS},
			field{"context_attention_ms", x.ContextAttentionMS}, field{"decode_attention_ms", x.DecodeAttentionMS}), nil
	case "telemetry":
		ms, err := m.TelemetryMS(p.Ranks)
		if err != nil {
			return nil, err
		}
		return append(out, field{"latency_ms", ms}), nil
	}
	return nil, fault.New(fault.BadConfig, "phase %q is not one of prefill, engine_prefill, decode, engine_decode, "+
		"mixed_step, telemetry", phase)
}

// resolvedFields are the version and the modes that the golden files state.
func (m *Model) resolvedFields() object {
	r := m.Resolved()
	out := object{{"backend_version", r.BackendVersion}, {"gemm", r.Gemm}}
	if r.MixtureOfExperts {
		out = append(out, field{"moe", r.MoE})
	}
	return append(out, field{"kvcache", r.KV}, field{"fmha", r.FMHA})
}

func (m *Model) prefillCase(out object, batch, isl, prefix int) (object, error) {
	ms, err := m.PrefillMS(batch, isl, prefix)
	if err != nil {
		return nil, err
	}
	ops, err := m.PrefillOps(batch, isl, prefix)
	return append(out, field{"latency_ms", ms}, field{"ops", opFields(ops)}), err
}

func (m *Model) decodeCase(out object, batch, past, osl int) (object, error) {
	ms, err := m.DecodeMS(batch, past, osl)
	if err != nil {
		return nil, err
	}
	ops, err := m.DecodeOps(batch, past, osl)
	return append(out, field{"latency_ms", ms}, field{"ops", opFields(ops)}), err
}

func opFields(ops []OpTime) object {
	out := object{}
	for _, o := range ops {
		out = append(out, field{o.Name, o.MS})
	}
	return out
}

// capacityFields are the fields of a capacity case.
type capacityFields struct {
	MaxTokens    int      `json:"max_num_tokens"`
	Fraction     *float64 `json:"fraction"`
	FractionKind string   `json:"fraction_kind"`
	BlockSize    int      `json:"block_size"`
	CUDAGraph    float64  `json:"cuda_graph_bytes"`
	Tolerance    *float64 `json:"tolerance"`
}

// runCapacity answers a capacity case.
func runCapacity(m *Model, raw json.RawMessage) (object, error) {
	var f capacityFields
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fault.New(fault.BadConfig, "case: %v", err)
	}
	c, err := m.Capacity(MemoryConfig{
		MaxTokens: f.MaxTokens, Fraction: f.Fraction, FractionKind: f.FractionKind, BlockSize: f.BlockSize,
		CUDAGraphBytes: f.CUDAGraph, Tolerance: f.Tolerance,
	})
	if err != nil {
		return nil, err
	}
	out := object{
		{"gpu_bytes", c.GPUBytes},
		{"fraction", c.Fraction},
		{"weights_bytes", c.WeightBytes},
		{"activations_bytes", c.ActivationBytes},
		{"other_bytes", c.OtherBytes},
		{"comm_bytes", c.CommBytes},
		{"kv_bytes", c.KVBytes},
		{"kv_bytes_per_token", c.KVBytesPerToken},
		{"kv_tokens", c.KVTokens},
		{"block_size", c.BlockSize},
		{"num_gpu_blocks", c.NumBlocks},
	}
	if f.Tolerance != nil {
		out = append(out, field{"tolerance_adjusted", object{
			{"total_kv_size_bytes", c.TolerantKVBytes}, {"total_kv_size_tokens", c.TolerantKVTokens},
		}})
	}
	return out, nil
}
