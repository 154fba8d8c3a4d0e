package assembly

import (
	"errors"
	"fmt"
	"strings"

	"fakellm/config"
	"fakellm/timing/aic"
	"fakellm/timing/aic/datadir"
	"fakellm/timing/analytic"
)

// analyticTiming is the model of a named GPU and model, from public facts alone.
func analyticTiming(c *config.Config) (StepTiming, error) {
	if c.GPU == "" {
		return StepTiming{}, errors.New("timing: analytic needs gpu, the name of a GPU, for example h100_sxm")
	}
	m, err := analytic.New(analytic.Config{
		GPU: c.GPU, Model: orText(c.GPUModel, c.Model), TP: c.TensorParallelSize, AttentionDP: c.AICAttentionDPSize,
		MoETP: c.AICMoETPSize, MoEEP: c.AICMoEEPSize, NextN: c.NumSpeculativeTokens,
	})
	if err != nil {
		return StepTiming{}, renamed(err, "gpu", modelFields(c, c.GPUModel, "gpu_model", "gpu"))
	}
	blocks := func(size int) (int, error) {
		n, err := m.Capacity(analytic.CapacityConfig{
			Backend: c.Backend, Fraction: fraction(c), MaxNumTokens: c.MaxNumBatchedTokens, BlockSize: size,
		})
		return int(n.NumGPUBlocks), err
	}
	return StepTiming{Source: m, Blocks: blocks}, nil
}

// modelFields are the settings behind the fields of a hardware model, by the words that their problems begin with. name is
// the value of setting, which says what runs there; when it is empty the model's name does, and when nobody gave one it
// is the naming of hardware that asks for it.
func modelFields(c *config.Config, name, setting, hardware string) map[string]string {
	if name == "" {
		if setting = hardware + ": " + setting + " is empty"; c.Origin["model"] != "" {
			setting = "model"
		}
	}
	return map[string]string{
		"gpu": "gpu", "model": setting, "quantization": setting, "text_config": setting, "hf_quant_config.json": setting,
		"tp": "tensor_parallel_size", "attention_dp": "aic_attention_dp_size", "moe_tp": "aic_moe_tp_size",
		"moe_ep": "aic_moe_ep_size", "nextn": "num_speculative_tokens", "backend": "aic_backend",
		"version": "aic_backend_version",
	}
}

// aicTiming is AIConfigurator's estimate, from its tables.
func aicTiming(c *config.Config) (StepTiming, error) {
	if c.AICSystem == "" {
		return StepTiming{}, errors.New("timing: aic needs aic_system, the name of a system, for example h200_sxm")
	}
	if c.AICSystemsDir == "" {
		const missing = "aic_system %s: needs aic_systems_dir; fakellm timing data says how to get the tables"
		return StepTiming{}, fmt.Errorf(missing, c.AICSystem)
	}
	data, err := OpenAIC(c.AICSystemsDir)
	if err != nil {
		return StepTiming{}, err
	}
	m, err := data.Model(aic.Config{
		Model: aicName(orText(c.AICModel, c.Model)), System: c.AICSystem, Backend: orText(c.AICBackend, c.Backend),
		Version: c.AICBackendVersion, TP: c.TensorParallelSize, AttentionDP: c.AICAttentionDPSize,
		MoETP: c.AICMoETPSize, MoEEP: c.AICMoEEPSize, NextN: c.NumSpeculativeTokens,
	})
	if err != nil {
		return StepTiming{}, renamed(err, "aic_system", modelFields(c, c.AICModel, "aic_model", "aic_system"))
	}
	blocks := func(size int) (int, error) {
		n, err := m.Capacity(aic.MemoryConfig{MaxTokens: c.MaxNumBatchedTokens, Fraction: fraction(c), BlockSize: size})
		return n.NumBlocks, err
	}
	return StepTiming{Source: m.Source(), Blocks: blocks}, nil
}

// OpenAIC opens AIConfigurator's tables: a directory, an installed package, or a wheel straight from the registry. They
// stay open as long as the process: tables are read when a pass first needs them.
func OpenAIC(path string) (*aic.Data, error) {
	if path == "" {
		return nil, errors.New("aic_systems_dir: missing; fakellm timing data says how to get the tables")
	}
	opened, err := datadir.Open(path)
	if err != nil {
		return nil, fmt.Errorf("aic_systems_dir: %w", err)
	}
	return opened.Data, nil
}

// aicName is the name under which the tables' model configurations know a model: short names of built-in models count.
func aicName(name string) string {
	if f, err := analytic.ResolveModel(name); err == nil && !strings.Contains(name, "/") {
		return f.Name
	}
	return name
}

// fraction is the share of memory asked for; nil leaves it to the backend's own default.
func fraction(c *config.Config) *float64 {
	if c.MemoryUtilization == 0 {
		return nil
	}
	return &c.MemoryUtilization
}

func orText(v, otherwise string) string {
	if v != "" {
		return v
	}
	return otherwise
}
