package analytic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxConfig bounds a config.json in bytes; real ones are a few kilobytes.
const maxConfig = 4 << 20

// hfConfig holds the fields of a config.json that decide time and memory.
type hfConfig struct {
	Architectures    []string        `json:"architectures"`
	TextConfig       json.RawMessage `json:"text_config"`
	Layers           int             `json:"num_hidden_layers"`
	Hidden           int             `json:"hidden_size"`
	Heads            int             `json:"num_attention_heads"`
	KVHeads          int             `json:"num_key_value_heads"`
	HeadDim          int             `json:"head_dim"`
	AttentionHeadDim int             `json:"attention_head_dim"`
	Intermediate     int             `json:"intermediate_size"`
	Vocab            int             `json:"vocab_size"`
	MaxContext       int             `json:"max_position_embeddings"`
	TopK1            int             `json:"num_experts_per_tok"`
	TopK2            int             `json:"top_k_experts"`
	TopK3            int             `json:"moe_top_k"`
	Experts1         int             `json:"num_local_experts"`
	Experts2         int             `json:"n_routed_experts"`
	Experts3         int             `json:"moe_num_experts"`
	Experts4         int             `json:"num_experts"`
	MoEIntermediate  int             `json:"moe_intermediate_size"`
	SharedExperts    int             `json:"n_shared_experts"`
	DenseLayers      int             `json:"first_k_dense_replace"`
	QLoRARank        int             `json:"q_lora_rank"`
	KVLoRARank       int             `json:"kv_lora_rank"`
	RopeDim          int             `json:"qk_rope_head_dim"`
	NopeDim          int             `json:"qk_nope_head_dim"`
	VDim             int             `json:"v_head_dim"`
	Window           int             `json:"sliding_window"`
	UseWindow        *bool           `json:"use_sliding_window"`
	LayerTypes       []string        `json:"layer_types"`
	Quantization     *hfQuant        `json:"quantization_config"`
}

// LoadFacts reads a config.json, or the one in a directory, and the hf_quant_config.json beside it if there is one.
// Errors name the file and the field.
func LoadFacts(path string) (Facts, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "config.json")
	}
	raw, err := readConfig(path)
	if err != nil {
		return Facts{}, fmt.Errorf("model config: %w", err)
	}
	// Collections of configs prefix both names with the model's.
	prefix := strings.TrimSuffix(filepath.Base(path), "config.json")
	quant, err := readConfig(filepath.Join(filepath.Dir(path), prefix+"hf_quant_config.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Facts{}, fmt.Errorf("model config: %w", err)
	}
	f, err := ParseFacts(raw, quant)
	if err != nil {
		return Facts{}, fmt.Errorf("model config %s: %w", path, err)
	}
	f.Name, f.Source = path, path
	return f, nil
}

func readConfig(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(raw) > maxConfig {
		err = fmt.Errorf("%s: more than %d bytes", path, maxConfig)
	}
	return raw, err
}

// ParseFacts reads the text of a config.json and, unless empty, of an hf_quant_config.json, by the field rules of spec
// aic-timing §3. It refuses models with state-space, linear or sparse attention layers by name.
func ParseFacts(config, quant []byte) (Facts, error) {
	var c hfConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return Facts{}, err
	}
	text := config
	if len(c.TextConfig) > 0 && c.TextConfig[0] == '{' {
		text = c.TextConfig
		if err := json.Unmarshal(text, &c); err != nil {
			return Facts{}, fmt.Errorf("text_config: %w", err)
		}
	}
	if err := refuseExotic(text); err != nil {
		return Facts{}, err
	}
	f := c.facts()
	if err := f.resolveQuant(c.Quantization, quant); err != nil {
		return Facts{}, err
	}
	return f, errors.Join(f.Validate()...)
}

// facts applies the field rules.
func (c *hfConfig) facts() Facts {
	f := Facts{
		Layers: c.Layers, Hidden: c.Hidden, Heads: c.Heads, KVHeads: c.KVHeads,
		HeadDim:      first(c.HeadDim, c.AttentionHeadDim),
		Intermediate: c.Intermediate, Vocab: c.Vocab, MaxContext: c.MaxContext,
		Experts: first(c.Experts1, c.Experts2, c.Experts3, c.Experts4), TopK: first(c.TopK1, c.TopK2, c.TopK3),
		SharedExperts: c.SharedExperts, DenseLayers: c.DenseLayers,
		QLoRARank: c.QLoRARank, KVLoRARank: c.KVLoRARank, RopeDim: c.RopeDim, NopeDim: c.NopeDim, VDim: c.VDim,
	}
	if len(c.Architectures) > 0 {
		f.Architecture = c.Architectures[0]
	}
	if f.HeadDim == 0 && f.Heads > 0 {
		f.HeadDim = f.Hidden / f.Heads
	}
	if f.KVHeads == 0 {
		f.KVHeads = f.Heads
	}
	if f.isMoE() {
		f.MoEIntermediate = first(c.MoEIntermediate, c.Intermediate)
	} else {
		f.TopK, f.SharedExperts, f.DenseLayers = 0, 0, 0
	}
	if c.Window > 0 && (c.UseWindow == nil || *c.UseWindow) && c.Window < c.MaxContext {
		f.setWindow(c)
	}
	f.QKNorm = slices.Contains([]string{"Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "MiniMaxM2ForCausalLM"}, f.Architecture)
	if f.family() == "other" {
		f.Caution = fmt.Sprintf("architecture %s: read by its fields, checked against no measurement", f.Architecture)
	}
	return f
}

// setWindow counts the windowed layers: those that layer_types names, half of gpt-oss, else all.
func (f *Facts) setWindow(c *hfConfig) {
	f.Window = c.Window
	switch {
	case len(c.LayerTypes) > 0:
		for _, t := range c.LayerTypes {
			if t == "sliding_attention" {
				f.WindowLayers++
			}
		}
	case f.Architecture == "GptOssForCausalLM":
		f.WindowLayers = f.Layers / 2
	default:
		f.WindowLayers = f.Layers
	}
	if f.WindowLayers == 0 {
		f.Window = 0
	}
}

// refuseExotic names the first field that stands for layers this model cannot price.
func refuseExotic(config []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(config, &fields); err != nil {
		return err
	}
	for _, e := range []struct{ field, what string }{
		{"hybrid_override_pattern", "state-space layers"},
		{"mamba_num_heads", "state-space layers"},
		{"mamba_d_state", "state-space layers"},
		{"ssm_cfg", "state-space layers"},
		{"linear_attn_config", "linear attention"},
		{"linear_num_key_heads", "linear attention"},
		{"full_attention_interval", "linear attention"},
		{"index_topk", "sparse attention"},
		{"compress_ratios", "compressed sparse attention"},
		{"sparse_attention_config", "sparse attention"},
	} {
		if v, ok := fields[e.field]; ok && string(v) != "null" {
			return fmt.Errorf("%s: models with %s are not supported", e.field, e.what)
		}
	}
	return nil
}

// first returns the first value that is not zero.
func first(values ...int) int {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return 0
}
