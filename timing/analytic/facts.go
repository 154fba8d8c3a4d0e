package analytic

import "fmt"

// Facts are what a model's config.json says about its shape. All sizes are counts; 0 means that the model has no such
// part.
type Facts struct {
	// Name and Architecture identify the model; Architecture is the class name of its config.json.
	Name         string `json:"name"`
	Architecture string `json:"architecture"`
	// Layers, Hidden, Heads, KVHeads, HeadDim, Intermediate, Vocab and MaxContext are the usual dimensions.
	Layers       int `json:"layers"`
	Hidden       int `json:"hidden"`
	Heads        int `json:"heads"`
	KVHeads      int `json:"kv_heads"`
	HeadDim      int `json:"head_dim"`
	Intermediate int `json:"intermediate"`
	Vocab        int `json:"vocab"`
	MaxContext   int `json:"max_context"`
	// Experts is the number of routed experts, TopK how many a token visits, MoEIntermediate the width of one;
	// SharedExperts see every token. DenseLayers is the number of leading layers without experts; only SGLang's capacity
	// knows them.
	Experts         int `json:"experts,omitempty"`
	TopK            int `json:"top_k,omitempty"`
	MoEIntermediate int `json:"moe_intermediate,omitempty"`
	SharedExperts   int `json:"shared_experts,omitempty"`
	DenseLayers     int `json:"dense_layers,omitempty"`
	// KVLoRARank above 0 makes attention latent (MLA); QLoRARank 0 then means queries without a bottleneck.
	QLoRARank  int `json:"q_lora_rank,omitempty"`
	KVLoRARank int `json:"kv_lora_rank,omitempty"`
	RopeDim    int `json:"rope_dim,omitempty"`
	NopeDim    int `json:"nope_dim,omitempty"`
	VDim       int `json:"v_dim,omitempty"`
	// Window is the sliding window in tokens of the WindowLayers layers that have one.
	Window       int `json:"window,omitempty"`
	WindowLayers int `json:"window_layers,omitempty"`
	// QKNorm says that queries and keys are normalised per head, which adds small kernels to attention.
	QKNorm bool `json:"qk_norm,omitempty"`
	// GEMM, MoE and KV are the modes that the checkpoint asks for; empty means bfloat16.
	GEMM Mode `json:"gemm"`
	MoE  Mode `json:"moe,omitempty"`
	KV   Mode `json:"kv_cache"`
	// BlockSize is the side of fp8_block's blocks; 0 means 128.
	BlockSize int `json:"block_size,omitempty"`
	// Source says where the facts are from, Caution what was not verified.
	Source  string `json:"source"`
	Caution string `json:"caution,omitempty"`
}

// maxSize bounds every dimension: far above any model, far below an overflow.
const maxSize = 1 << 24

// Validate returns every problem of the facts, each with field and value.
func (f *Facts) Validate() []error {
	var errs []error
	check := func(name string, value, least, most int) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("%s %d: must be %d to %d", name, value, least, most))
		}
	}
	check("num_hidden_layers", f.Layers, 1, 10000)
	check("hidden_size", f.Hidden, 1, maxSize)
	check("num_attention_heads", f.Heads, 1, 1<<16)
	check("vocab_size", f.Vocab, 1, maxSize)
	check("sliding_window layers", f.WindowLayers, 0, f.Layers)
	if f.Experts == 0 {
		check("intermediate_size", f.Intermediate, 1, maxSize)
	} else {
		check("experts", f.Experts, 1, 1<<16)
		check("num_experts_per_tok", f.TopK, 1, f.Experts)
		check("moe_intermediate_size", f.MoEIntermediate, 1, maxSize)
		check("n_shared_experts", f.SharedExperts, 0, 1<<10)
	}
	if f.KVLoRARank > 0 {
		check("kv_lora_rank", f.KVLoRARank, 1, maxSize)
		check("q_lora_rank", f.QLoRARank, 0, maxSize)
		check("qk_rope_head_dim", f.RopeDim, 1, maxSize)
		check("qk_nope_head_dim", f.NopeDim, 1, maxSize)
		check("v_head_dim", f.VDim, 1, maxSize)
	} else {
		check("num_key_value_heads", f.KVHeads, 1, f.Heads)
		check("head_dim", f.HeadDim, 1, 1<<16)
	}
	return errs
}

// family says which fitted group of models the architecture belongs to: dense, moe, mla, or other.
func (f *Facts) family() string {
	switch f.Architecture {
	case "LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "MiMoForCausalLM":
		return "dense"
	case "MixtralForCausalLM", "GptOssForCausalLM", "Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM", "MiniMaxM2ForCausalLM":
		return "moe"
	case "DeepseekV3ForCausalLM", "DeepSeekForCausalLM":
		return "mla"
	}
	return "other"
}

func (f *Facts) isMLA() bool { return f.KVLoRARank > 0 }
func (f *Facts) isMoE() bool { return f.Experts > 0 }
