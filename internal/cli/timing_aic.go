package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fakellm/engine"
	"fakellm/internal/assembly"
	"fakellm/timing/aic"
	"fakellm/timing/analytic"
)

// aicPredictor opens the tables and loads the deployment.
func (f *timingFlags) aicPredictor() (*predictor, error) {
	data, err := assembly.OpenAIC(f.systemsDir)
	if err != nil {
		return nil, err
	}
	c, err := f.aicConfig()
	if err != nil {
		return nil, err
	}
	m, err := data.Model(c)
	if err != nil {
		return nil, fmt.Errorf("aic: %w", err)
	}
	r := m.Resolved()
	name := fmt.Sprintf("aic %s on %s, %s %s, tp %d", c.Model, c.System, c.Backend, r.BackendVersion, r.TP)
	if r.MixtureOfExperts {
		name += fmt.Sprintf(", moe tp %d, moe ep %d, moe %s", r.MoETP, r.MoEEP, r.MoE)
	}
	return &predictor{
		name: name + fmt.Sprintf(", gemm %s, kv %s", r.Gemm, r.KV), src: m.Source(),
		onePass:  aicOnePass(m),
		ops:      aicOps(m),
		capacity: aicCapacity(m),
	}, nil
}

// aicConfig fills what the aic flags leave open from the common ones, so that one set of flags describes both models.
func (f *timingFlags) aicConfig() (aic.Config, error) {
	c := aic.Config{
		Model: f.aicModel, System: f.system, Backend: f.backend, Version: f.version, Mode: f.mode,
		TP: or(f.aicTP, f.tp), PP: f.pp, AttentionDP: or(f.aicAttentionDP, f.attentionDP),
		MoETP: or(f.aicMoETP, f.moeTP), MoEEP: or(f.aicMoEEP, f.moeEP), NextN: or(f.aicNext, f.next),
		Gemm: f.gemmQuant, MoE: f.moeQuant, KVCache: f.kvDtype, FMHA: f.fmhaQuant,
	}
	if c.System == "" && f.gpu != "" {
		g, err := analytic.LookupGPU(f.gpu)
		if err != nil {
			return c, err
		}
		c.System = g.Name
	}
	if c.Model != "" || f.model == "" {
		return c, nil
	}
	facts, err := analytic.ResolveModel(f.model)
	if err != nil {
		return c, err
	}
	c.Model = facts.Name
	if facts.Source == facts.Name { // a config.json
		if err := readConfigs(facts.Source, &c); err != nil {
			return c, err
		}
	}
	return c, f.shareExperts(&c)
}

// shareExperts gives the tables the same split of experts as the analytic model would choose.
func (f *timingFlags) shareExperts(c *aic.Config) error {
	if c.MoETP != 0 || c.MoEEP != 0 || f.gpu == "" {
		return nil
	}
	shared := f.analyticConfig()
	shared.TP, shared.AttentionDP = c.TP, c.AttentionDP
	m, err := analytic.New(shared)
	if err != nil {
		return err
	}
	if m.Facts().Experts > 0 {
		_, _, _, c.MoETP, c.MoEEP = m.Parallelism()
	}
	return nil
}

// readConfigs hands the files of a model over as they are.
func readConfigs(path string, c *aic.Config) error {
	var err error
	if c.ModelConfig, err = os.ReadFile(path); err != nil {
		return err
	}
	prefix := strings.TrimSuffix(filepath.Base(path), "config.json")
	c.ModelQuant, err = os.ReadFile(filepath.Join(filepath.Dir(path), prefix+"hf_quant_config.json"))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// aicOnePass prices a mixed pass from the counters of one rank, which knows no speculation.
func aicOnePass(m *aic.Model) func(engine.PrefillBatch, engine.DecodeBatch) (float64, error) {
	return func(p engine.PrefillBatch, d engine.DecodeBatch) (float64, error) {
		return m.TelemetryMS([]aic.Rank{{
			PrefillRequests: p.Requests, PrefillTokens: p.Requests * p.New(), PrefillKVTokens: p.Requests * p.MeanPrefix,
			DecodeRequests: d.Requests, DecodeKVTokens: d.Requests * d.MeanContext,
		}})
	}
}

func aicOps(m *aic.Model) func(engine.PrefillBatch, engine.DecodeBatch) ([]analytic.Op, error) {
	return func(p engine.PrefillBatch, d engine.DecodeBatch) ([]analytic.Op, error) {
		var lines []aic.OpTime
		var err error
		if p.Requests > 0 {
			lines, err = m.PrefillOps(p.Requests, p.MeanISL, p.MeanPrefix)
		} else {
			lines, err = m.DecodeOps(d.Requests, d.MeanContext-1, 2)
		}
		ops := make([]analytic.Op, 0, len(lines))
		for _, l := range lines {
			ops = append(ops, analytic.Op{Name: l.Name, MS: l.MS})
		}
		return ops, err
	}
}

func aicCapacity(m *aic.Model) func(analytic.CapacityConfig) (analytic.Capacity, error) {
	return func(c analytic.CapacityConfig) (analytic.Capacity, error) {
		got, err := m.Capacity(aic.MemoryConfig{
			MaxTokens: c.MaxNumTokens, Fraction: c.Fraction, FractionKind: c.FractionKind, BlockSize: c.BlockSize,
			CUDAGraphBytes: float64(c.CUDAGraphBytes), Tolerance: &c.Tolerance,
		})
		return analytic.Capacity{
			GPUBytes: got.GPUBytes, Fraction: got.Fraction, WeightsBytes: got.WeightBytes, ActivationsBytes: got.ActivationBytes,
			CommBytes: got.CommBytes, OtherBytes: got.OtherBytes, CUDAGraphBytes: c.CUDAGraphBytes, KVBytes: got.KVBytes,
			KVBytesPerToken: int64(got.KVBytesPerToken), KVTokens: int64(got.KVTokens), AdjustedBytes: got.TolerantKVBytes,
			AdjustedTokens: int64(got.TolerantKVTokens), BlockSize: int64(got.BlockSize), NumGPUBlocks: int64(got.NumBlocks),
		}, err
	}
}

// or returns a unless it is zero.
func or(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}
