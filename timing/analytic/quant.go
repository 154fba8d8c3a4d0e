package analytic

import (
	"encoding/json"
	"fmt"
	"strings"
)

// hfQuant is the quantization_config of a config.json, or the quantization part of an hf_quant_config.json.
type hfQuant struct {
	Algo             string             `json:"quant_algo"`
	Method           string             `json:"quant_method"`
	LongMethod       string             `json:"quantization_method"`
	KVAlgo           *string            `json:"kv_cache_quant_algo"`
	KVScheme         json.RawMessage    `json:"kv_cache_scheme"`
	ActivationScheme string             `json:"activation_scheme"`
	WeightBlockSize  []int              `json:"weight_block_size"`
	Bits             int                `json:"bits"`
	Ignore           []string           `json:"ignore"`
	Groups           map[string]hfGroup `json:"config_groups"`
}

type hfGroup struct {
	Weights *struct {
		Bits     int    `json:"num_bits"`
		Type     string `json:"type"`
		Strategy string `json:"strategy"`
	} `json:"weights"`
	Inputs *struct {
		Dynamic any `json:"dynamic"`
	} `json:"input_activations"`
}

// resolveQuant sets the modes that the checkpoint asks for (spec aic-timing §3.2). A separate hf_quant_config.json
// wins.
func (f *Facts) resolveQuant(inline *hfQuant, separate []byte) error {
	q := inline
	if len(separate) > 0 {
		var file struct {
			Quantization hfQuant `json:"quantization"`
		}
		if err := json.Unmarshal(separate, &file); err != nil {
			return fmt.Errorf("hf_quant_config.json: %w", err)
		}
		q = &file.Quantization
	}
	f.GEMM, f.MoE, f.KV = BF16, BF16, BF16
	if !f.isMoE() {
		f.MoE = ""
	}
	if q == nil {
		return nil
	}
	algo := strings.ToLower(q.Algo)
	for _, name := range []string{q.Method, q.LongMethod} {
		if algo == "" {
			algo = strings.ToLower(name)
		}
	}
	return f.applyQuant(algo, q)
}

// applyQuant sets the modes for one algorithm.
func (f *Facts) applyQuant(algo string, q *hfQuant) error {
	gemm, moe := BF16, BF16
	if len(q.WeightBlockSize) > 0 {
		f.BlockSize = q.WeightBlockSize[0]
	}
	switch {
	case algo == "" || algo == "none":
		return nil
	case algo == "fp8_block", algo == "fp8" && f.BlockSize > 0:
		gemm, moe = FP8Block, FP8Block
	case algo == "fp8" && q.ActivationScheme == "dynamic":
		gemm, moe = FP8, FP8
	case algo == "fp8":
		gemm, moe = FP8Static, FP8
	case algo == "nvfp4":
		gemm, moe = NVFP4, NVFP4
	case algo == "mxfp4":
		moe = MXFP4
	case (algo == "awq" || algo == "gptq") && (q.Bits == 4 || q.Bits == 0):
		gemm, moe = INT4, INT4
	case algo == "gptq" && q.Bits == 8:
		gemm = INT8
	case algo == "compressed-tensors":
		var err error
		if gemm, moe, err = q.compressed(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("quantization %q: known are fp8, fp8_block, nvfp4, mxfp4, compressed-tensors, awq and gptq", algo)
	}
	f.GEMM = gemm
	if f.isMoE() {
		f.MoE = moe
	}
	f.KV = q.cache(gemm, moe)
	return nil
}

// cache is the mode of the KV cache: what the checkpoint says, and fp8 for fp8 and nvfp4 checkpoints that say nothing.
func (q *hfQuant) cache(gemm, moe Mode) Mode {
	if q.KVAlgo != nil {
		switch algo := strings.ToLower(*q.KVAlgo); {
		case algo == "none":
			return BF16
		case strings.Contains(algo, "fp8") || strings.Contains(algo, "e4m3") || strings.Contains(algo, "e5m2"):
			return FP8
		}
	}
	if len(q.KVScheme) > 0 && string(q.KVScheme) != "null" {
		return FP8
	}
	if gemm.quantisesActivations() || moe.quantisesActivations() {
		return FP8
	}
	return BF16
}

// compressed reads the first group of a compressed-tensors config; ignored attention or experts stay in bfloat16.
func (q *hfQuant) compressed() (gemm, moe Mode, err error) {
	group, ok := q.Groups["group_0"]
	if !ok || group.Weights == nil {
		return "", "", fmt.Errorf("quantization compressed-tensors: config_groups.group_0.weights is missing")
	}
	dynamic := group.Inputs != nil && group.Inputs.Dynamic != nil && group.Inputs.Dynamic != false
	var m Mode
	switch w := group.Weights; {
	case w.Type == "int" && w.Bits == 4:
		m = INT4
	case w.Type == "int" && w.Bits == 8:
		m = INT8
	case w.Type == "float" && w.Bits == 8 && w.Strategy == "block":
		m = FP8Block
	case w.Type == "float" && w.Bits == 8 && dynamic:
		m = FP8
	case w.Type == "float" && w.Bits == 8:
		m = FP8Static
	case w.Type == "float" && w.Bits == 4:
		m = MXFP4
	default:
		return "", "", fmt.Errorf("quantization compressed-tensors: weights of %d bits, type %q: not known", w.Bits, w.Type)
	}
	gemm, moe = m, m
	for _, pattern := range q.Ignore {
		if strings.Contains(pattern, "attn") || strings.Contains(pattern, "attention") {
			gemm = BF16
		}
		if strings.Contains(pattern, "experts") && !strings.Contains(pattern, "shared") {
			moe = BF16
		}
	}
	if gemm == MXFP4 {
		gemm = INT4
	}
	if moe == INT8 {
		moe = FP8
	}
	return gemm, moe, nil
}
