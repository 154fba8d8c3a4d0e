package model

import (
	"encoding/json"
	"strings"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/perf"
)

// quantConfig is quantization_config of a config.json, or quantization of an hf_quant_config.json.
type quantConfig struct {
	Algo        string          `json:"quant_algo"`
	Method      string          `json:"quant_method"`
	Method2     string          `json:"quantization_method"`
	KVAlgo      *string         `json:"kv_cache_quant_algo"`
	KVScheme    json.RawMessage `json:"kv_cache_scheme"`
	WeightBlock []int           `json:"weight_block_size"`
	Activation  string          `json:"activation_scheme"`
	Groups      map[string]struct {
		Weights     *tensorScheme `json:"weights"`
		Activations *tensorScheme `json:"input_activations"`
	} `json:"config_groups"`
	Ignore   []string `json:"ignore"`
	Excluded []string `json:"exclude_modules"`
}

// tensorScheme is how one kind of tensor is quantised in compressed-tensors' words.
type tensorScheme struct {
	Bits     int    `json:"num_bits"`
	Type     string `json:"type"`
	Strategy string `json:"strategy"`
	Dynamic  any    `json:"dynamic"`
	Block    []int  `json:"block_structure"`
}

// addHFQuant merges hf_quant_config.json over quantization_config.
func (h *HF) addHFQuant(name string, data []byte) error {
	var raw struct {
		Quantization *quantConfig `json:"quantization"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return fault.New(fault.BadData, "model %s: hf_quant_config.json: %v", name, err)
	}
	q := raw.Quantization
	if q == nil {
		return nil
	}
	if h.Quantization != nil {
		base := *h.Quantization
		if q.Algo == "" {
			q.Algo = firstText(base.Algo, base.Method, base.Method2)
		}
		if q.KVAlgo == nil {
			q.KVAlgo = base.KVAlgo
		}
		if q.Activation == "" {
			q.Activation = base.Activation
		}
		if q.Groups == nil {
			q.Groups = base.Groups
		}
		if q.WeightBlock == nil {
			q.WeightBlock = base.WeightBlock
		}
		if q.Excluded == nil {
			q.Excluded = base.Excluded
		}
	}
	h.Quantization = q
	return nil
}

func firstText(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// Choice is the user's quantisation; an empty name leaves that mode to the checkpoint.
type Choice struct {
	Gemm, MoE, KV, FMHA, Comm string
}

// Quants are the resolved modes of a deployment.
type Quants struct {
	Gemm, MoE, KV, FMHA, Comm perf.Quant
}

// Platform is what a guard may look at.
type Platform struct {
	Backend, Version string
	SM               int
}

// normal maps the words for "not set" to "" and the short form of a mode to its name.
func normal(s string) string {
	switch strings.ToLower(s) {
	case "auto", "none", "null", "":
		return ""
	case "int4":
		return "int4_wo"
	}
	return s
}

// Resolve works the modes out (spec aic-timing §3.2): the checkpoint's, where the user set none.
func Resolve(h *HF, c Choice, p Platform) (Quants, error) {
	inferred, err := h.infer()
	if err != nil {
		return Quants{}, err
	}
	user := Choice{normal(c.Gemm), normal(c.MoE), normal(c.KV), normal(c.FMHA), normal(c.Comm)}
	if user.FMHA == "" {
		inferred.FMHA = h.guardFMHA(inferred.FMHA, p)
	}
	pick := func(a, b, fallback string) string { return firstText(a, b, fallback) }
	var q Quants
	if q.Gemm, err = perf.GemmQuant(pick(user.Gemm, inferred.Gemm, "bfloat16")); err != nil {
		return q, err
	}
	if q.MoE, err = perf.MoEQuant(pick(user.MoE, inferred.MoE, "bfloat16")); err != nil {
		return q, err
	}
	if q.KV, err = perf.KVQuant(pick(user.KV, inferred.KV, "bfloat16")); err != nil {
		return q, err
	}
	if q.FMHA, err = perf.FMHAQuant(pick(user.FMHA, inferred.FMHA, "bfloat16")); err != nil {
		return q, err
	}
	q.Comm, err = perf.CommQuant(pick(user.Comm, "", "half"))
	return q, err
}

// guardFMHA takes back fp8 prompt attention where the engine does not run it.
func (h *HF) guardFMHA(fmha string, p Platform) string {
	if fmha != "fp8" {
		return fmha
	}
	mla := h.Family == DeepSeek && h.KVLoraRank == 512 && h.QKRopeDim == 64 && h.DType == "bfloat16"
	if p.Backend == "vllm" || p.Backend == "sglang" && p.Version == "0.5.14" && p.SM == 90 && mla {
		return "bfloat16"
	}
	return fmha
}

// infer reads the checkpoint's own modes; unset ones stay "".
func (h *HF) infer() (Choice, error) {
	var c Choice
	q := h.Quantization
	if q == nil {
		return c, nil
	}
	algo := strings.ToLower(firstText(q.Algo, q.Method, q.Method2))
	if algo == "fp8" && len(q.WeightBlock) > 0 {
		algo = "fp8_block"
	}
	switch algo {
	case "":
	case "fp8":
		c.Gemm, c.MoE = "fp8_static", "fp8"
		if q.dynamic() {
			c.Gemm = "fp8"
		}
	case "fp8_block", "nvfp4":
		c.Gemm, c.MoE = algo, algo
	case "mxfp4":
		c.Gemm, c.MoE = "bfloat16", "w4a16_mxfp4"
	case "compressed-tensors":
		if err := q.compressed(&c); err != nil {
			return c, err
		}
	default:
		return c, fault.New(fault.UnknownQuant, "the checkpoint's quantisation %q is not one that is estimated", algo)
	}
	kv := q.kvAlgo()
	switch {
	case kv == "none":
		c.KV, c.FMHA = "bfloat16", "bfloat16"
	case algo == "fp8" || algo == "fp8_block" || algo == "nvfp4" || algo != "" && kv == "fp8":
		c.KV, c.FMHA = "fp8", "fp8"
	}
	return c, nil
}

// kvAlgo is the checkpoint's cache type: fp8, bfloat16, none, or "" when it says nothing.
func (q *quantConfig) kvAlgo() string {
	if q.KVAlgo != nil {
		switch s := strings.ToLower(*q.KVAlgo); s {
		case "fp8", "e4m3", "e5m2", "fp8_e4m3", "fp8_e5m2":
			return "fp8"
		case "bf16", "bfloat16", "fp16", "float16", "half":
			return "bfloat16"
		default:
			return s
		}
	}
	var scheme tensorScheme
	if len(q.KVScheme) > 0 && json.Unmarshal(q.KVScheme, &scheme) == nil && scheme.Bits == 8 && scheme.Type == "float" {
		return "fp8"
	}
	return ""
}

// dynamic reports whether activations are scaled on the fly.
func (q *quantConfig) dynamic() bool {
	switch strings.ToLower(q.Activation) {
	case "dynamic":
		return true
	case "static":
		return false
	}
	for _, g := range q.Groups {
		if g.Activations != nil {
			if on, ok := g.Activations.Dynamic.(bool); ok && on {
				return true
			}
		}
	}
	return false
}

// compressed reads the first group of a compressed-tensors checkpoint.
func (q *quantConfig) compressed(c *Choice) error {
	w := q.firstWeights()
	if w == nil {
		return fault.New(fault.UnknownQuant, "compressed-tensors without weights in config_groups")
	}
	var mode string
	switch {
	case w.Bits == 4 && w.Type == "int":
		mode = "int4_wo"
	case w.Bits == 8 && w.Type == "int":
		mode = "int8_wo"
	case w.Bits == 8 && w.Type == "float":
		mode = "fp8"
		if w.Strategy == "block" || len(w.Block) > 0 {
			mode = "fp8_block"
		}
	case w.Bits == 4 && w.Type == "float":
		mode = "w4a16_mxfp4"
	default:
		return fault.New(fault.UnknownQuant, "compressed-tensors weights of %d bits and type %q", w.Bits, w.Type)
	}
	if !q.ignores("attn", "attention") {
		c.Gemm = mode
	}
	if !q.ignores("experts") {
		c.MoE = mode
	}
	return nil
}

// firstWeights is the weight scheme of the group with the lowest name that has one.
func (q *quantConfig) firstWeights() *tensorScheme {
	best := ""
	for name, g := range q.Groups {
		if g.Weights != nil && (best == "" || name < best) {
			best = name
		}
	}
	if best == "" {
		return nil
	}
	return q.Groups[best].Weights
}

// ignores reports whether a pattern of modules that stay unquantised mentions one of the words; shared experts do not
// count as experts.
func (q *quantConfig) ignores(words ...string) bool {
	for _, p := range q.Ignore {
		for _, w := range words {
			if strings.Contains(p, w) && !strings.Contains(p, "shared_"+w) {
				return true
			}
		}
	}
	return false
}
