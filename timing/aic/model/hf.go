// Package model turns a model's config.json and a deployment into the operator lists that the estimate sums, and into
// the bytes that weights, activations and KV cache take (spec aic-timing §3, §4, §9). Everything here is pure.
//
// Start at Parse (the config), Resolve (quantisation), Build (operator lists) and Capacity.
package model

import (
	"encoding/json"

	"fakellm/timing/aic/fault"
)

// Family is a way of building operator lists.
type Family int

// The families that are built; other architectures are refused by name.
const (
	Llama Family = iota
	MoE
	DeepSeek
)

// families maps architectures to families. Read-only.
var families = map[string]Family{
	"LlamaForCausalLM": Llama, "Qwen2ForCausalLM": Llama, "Qwen3ForCausalLM": Llama, "MiMoForCausalLM": Llama,
	"MixtralForCausalLM": MoE, "GptOssForCausalLM": MoE, "Qwen2MoeForCausalLM": MoE, "Qwen3MoeForCausalLM": MoE,
	"MiniMaxM2ForCausalLM":  MoE,
	"DeepseekV3ForCausalLM": DeepSeek, "DeepSeekForCausalLM": DeepSeek,
}

// HF is what the estimate reads of a config.json.
type HF struct {
	Architecture string
	Family       Family
	Layers       int
	Hidden       int
	Heads        int
	KVHeads      int
	HeadDim      int
	Inter        int // dense intermediate width
	MoEInter     int // width of one expert
	Vocab        int
	TopK         int
	Experts      int

	SharedExperts   int // DeepSeek
	FirstDense      int
	KVLoraRank      int
	QKRopeDim       int
	VHeadDim        int
	DType           string
	Quantization    *quantConfig
	WeightBlock     int // rows of an fp8 block; 0 when the checkpoint has none
	QKNorm, GPTOss  bool
	ExcludedModules []string
}

// rawConfig is the part of config.json with the names that models use for the same thing.
type rawConfig struct {
	Architectures []string     `json:"architectures"`
	Layers        int          `json:"num_hidden_layers"`
	Hidden        int          `json:"hidden_size"`
	Heads         int          `json:"num_attention_heads"`
	KVHeads       *int         `json:"num_key_value_heads"`
	HeadDim       *int         `json:"head_dim"`
	AttnHeadDim   *int         `json:"attention_head_dim"`
	Inter         *int         `json:"intermediate_size"`
	MoEInter      *int         `json:"moe_intermediate_size"`
	Vocab         int          `json:"vocab_size"`
	TopK1         *int         `json:"num_experts_per_tok"`
	TopK2         *int         `json:"top_k_experts"`
	TopK3         *int         `json:"moe_top_k"`
	Experts1      *int         `json:"num_local_experts"`
	Experts2      *int         `json:"n_routed_experts"`
	Experts3      *int         `json:"moe_num_experts"`
	Experts4      *int         `json:"num_experts"`
	Shared        *int         `json:"n_shared_experts"`
	FirstDense    *int         `json:"first_k_dense_replace"`
	KVLora        *int         `json:"kv_lora_rank"`
	QKRope        *int         `json:"qk_rope_head_dim"`
	VHead         *int         `json:"v_head_dim"`
	TorchDType    string       `json:"torch_dtype"`
	DType         string       `json:"dtype"`
	Quant         *quantConfig `json:"quantization_config"`

	Text *json.RawMessage `json:"text_config"`
}

// first returns the first value that is set and not zero.
func first(values ...*int) int {
	for _, v := range values {
		if v != nil && *v != 0 {
			return *v
		}
	}
	return 0
}

// Parse reads a config.json and, when there is one, hf_quant_config.json (nil otherwise).
func Parse(name string, config, hfQuant []byte) (*HF, error) {
	var raw rawConfig
	if err := json.Unmarshal(config, &raw); err != nil {
		return nil, fault.New(fault.BadData, "model %s: config.json: %v", name, err)
	}
	if raw.Text != nil && raw.Layers == 0 {
		arch, quant := raw.Architectures, raw.Quant
		if err := json.Unmarshal(*raw.Text, &raw); err != nil {
			return nil, fault.New(fault.BadData, "model %s: config.json: text_config: %v", name, err)
		}
		raw.Architectures = arch
		if raw.Quant == nil {
			raw.Quant = quant
		}
	}
	if len(raw.Architectures) == 0 {
		return nil, fault.New(fault.UnsupportedModel, "model %s: config.json names no architecture", name)
	}
	arch := raw.Architectures[0]
	family, ok := families[arch]
	if !ok {
		return nil, fault.New(fault.UnsupportedModel,
			"model %s: architecture %s is outside the families LLAMA, MOE and DEEPSEEK", name, arch)
	}
	h := &HF{
		Architecture: arch, Family: family, Layers: raw.Layers, Hidden: raw.Hidden, Heads: raw.Heads,
		KVHeads: first(raw.KVHeads), HeadDim: first(raw.HeadDim, raw.AttnHeadDim),
		Inter: first(raw.Inter), MoEInter: first(raw.MoEInter, raw.Inter), Vocab: raw.Vocab,
		TopK:          first(raw.TopK1, raw.TopK2, raw.TopK3),
		Experts:       first(raw.Experts1, raw.Experts2, raw.Experts3, raw.Experts4),
		SharedExperts: first(raw.Shared), FirstDense: first(raw.FirstDense),
		KVLoraRank: first(raw.KVLora), QKRopeDim: first(raw.QKRope), VHeadDim: first(raw.VHead),
		DType: raw.TorchDType, Quantization: raw.Quant, GPTOss: arch == "GptOssForCausalLM",
	}
	if h.DType == "" {
		h.DType = raw.DType
	}
	switch arch {
	case "Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "MiniMaxM2ForCausalLM":
		h.QKNorm = true
	}
	if h.HeadDim == 0 && h.Heads > 0 {
		h.HeadDim = h.Hidden / h.Heads
	}
	if raw.Quant != nil && len(raw.Quant.WeightBlock) > 0 {
		h.WeightBlock = raw.Quant.WeightBlock[0]
	}
	if hfQuant != nil {
		if err := h.addHFQuant(name, hfQuant); err != nil {
			return nil, err
		}
	}
	return h, h.check(name)
}

// check refuses sizes that no operator list can be built from.
func (h *HF) check(name string) error {
	const most = 1 << 24
	sizes := []struct {
		field string
		value int
		least int
	}{
		{"num_hidden_layers", h.Layers, 1},
		{"hidden_size", h.Hidden, 1},
		{"num_attention_heads", h.Heads, 1},
		{"num_key_value_heads", h.KVHeads, 0},
		{"head_dim", h.HeadDim, 1},
		{"intermediate_size", h.Inter, 0},
		{"moe_intermediate_size", h.MoEInter, 0},
		{"vocab_size", h.Vocab, 1},
		{"num_experts_per_tok", h.TopK, 0},
		{"num_experts", h.Experts, 0},
		{"n_shared_experts", h.SharedExperts, 0},
		{"first_k_dense_replace", h.FirstDense, 0},
		{"kv_lora_rank", h.KVLoraRank, 0},
		{"qk_rope_head_dim", h.QKRopeDim, 0},
		{"v_head_dim", h.VHeadDim, 0},
		{"weight_block_size", h.WeightBlock, 0},
	}
	for _, s := range sizes {
		if s.value < s.least || s.value > most {
			return fault.New(fault.BadData, "model %s: config.json: %s is %d, want %d to %d",
				name, s.field, s.value, s.least, most)
		}
	}
	if h.Family != Llama && (h.Experts == 0 || h.TopK == 0 || h.MoEInter == 0) {
		return fault.New(fault.BadData,
			"model %s: config.json: a mixture of experts without experts, top-k or expert width", name)
	}
	return nil
}
