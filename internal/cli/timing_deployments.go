package cli

import (
	"fmt"
	"strings"

	"fakellm/timing/aic"
	"fakellm/timing/analytic"
	"fakellm/timing/compare"
)

// comparedGroup is a model with the family it counts in and the parallelisms it is compared at.
type comparedGroup struct {
	family, model, quant string
	sizes                []comparedSizes
}

// comparedSizes is one parallelism: tensor, attention data, experts by tensor and by expert.
type comparedSizes struct{ tp, dp, moeTP, moeEP int }

func tpSizes(sizes ...int) []comparedSizes {
	var out []comparedSizes
	for _, tp := range sizes {
		out = append(out, comparedSizes{tp, 1, 0, 0})
	}
	return out
}

// comparedGroups lists the models whose configurations come with the tables. Models of the reference's golden passes
// are compared at the parallelisms of those; the others, which name none, at the smallest that fits.
func comparedGroups() []comparedGroup {
	ep8 := []comparedSizes{{8, 1, 1, 8}, {1, 8, 1, 8}}
	return []comparedGroup{
		{"dense bf16", "meta-llama/Meta-Llama-3.1-8B", "", tpSizes(1, 2, 4, 8, 16)},
		{"dense bf16", "meta-llama/Meta-Llama-3.1-70B", "", tpSizes(4, 8)},
		{"dense bf16", "Qwen/Qwen3-8B", "", tpSizes(1, 2)},
		{"dense bf16", "Qwen/Qwen3-32B", "", tpSizes(2)},
		{"dense bf16", "meta-llama/Meta-Llama-3.1-405B", "", nil},
		{"dense bf16", "Qwen/Qwen3-0.6B", "", nil},
		{"dense fp8", "meta-llama/Meta-Llama-3.1-8B", "fp8", tpSizes(1)},
		{"dense fp8", "meta-llama/Meta-Llama-3.1-8B", "fp8_static", tpSizes(1)},
		{"dense fp8", "nvidia/Llama-3.1-70B-Instruct-FP8", "", tpSizes(2, 4, 8)},
		{"dense fp8", "nvidia/Llama-3.1-70B-Instruct-FP8", "fp8", tpSizes(4)},
		{"dense fp8_block", "meta-llama/Meta-Llama-3.1-8B", "fp8_block", tpSizes(1)},
		{"dense fp8_block", "Qwen/Qwen3-32B-FP8", "", tpSizes(2)},
		{"dense nvfp4", "meta-llama/Meta-Llama-3.1-8B", "nvfp4", tpSizes(1)},
		{"MoE bf16", "Qwen/Qwen3-30B-A3B", "", []comparedSizes{{1, 1, 1, 1}, {1, 4, 1, 4}, {4, 1, 1, 4}, {2, 1, 2, 1}}},
		{"MoE bf16", "mistralai/Mixtral-8x7B-v0.1", "", []comparedSizes{{2, 1, 2, 1}, {4, 1, 1, 4}}},
		{"MoE bf16", "mistralai/Mixtral-8x22B-v0.1", "", nil},
		{"MoE bf16", "Qwen/Qwen3-235B-A22B", "", nil},
		{"MoE fp8_block", "Qwen/Qwen3-235B-A22B-FP8", "", append([]comparedSizes{{4, 2, 1, 8}}, ep8...)},
		{"MoE fp8_block", "Qwen/Qwen3-30B-A3B-FP8", "", nil},
		{"MoE fp8_block", "MiniMaxAI/MiniMax-M2.5", "", nil},
		{"MoE mxfp4", "openai/gpt-oss-20b", "", []comparedSizes{{1, 1, 1, 1}, {2, 1, 1, 2}}},
		{"MoE mxfp4", "openai/gpt-oss-120b", "", []comparedSizes{{1, 1, 1, 1}, {4, 1, 1, 4}}},
		{"MoE nvfp4", "nvidia/Qwen3-235B-A22B-NVFP4", "", []comparedSizes{{8, 1, 1, 8}}},
		{"MLA fp8_block", "deepseek-ai/DeepSeek-V3", "", append([]comparedSizes{{8, 1, 8, 1}}, ep8...)},
	}
}

// comparedDeployment is a model on a GPU with its parallelism.
type comparedDeployment struct {
	comparedGroup
	gpu string
	comparedSizes
}

// comparedDeployments puts every model on every GPU whose tables are common. With wide, models are compared at every
// power of two up to 16 GPUs instead, experts sharded both ways: far from what the constants were fitted to.
// [comparedDeployment.pair] drops what does not fit or has no tables.
func comparedDeployments(wide bool) []comparedDeployment {
	var list []comparedDeployment
	for _, gpu := range []string{"a100_sxm", "h100_sxm", "h200_sxm", "b200_sxm", "l40s"} {
		for _, g := range comparedGroups() {
			sizes := g.sizes
			switch {
			case wide:
				sizes = everySize(&g)
			case sizes == nil:
				sizes = smallestFit(&g, gpu)
			}
			for _, s := range sizes {
				list = append(list, comparedDeployment{g, gpu, s})
			}
		}
	}
	return list
}

// isSparse reports whether a group's model has experts.
func (g *comparedGroup) isSparse() bool { return !strings.HasPrefix(g.family, "dense") }

func everySize(g *comparedGroup) []comparedSizes {
	var out []comparedSizes
	for n := 1; n <= 16; n *= 2 {
		switch {
		case !g.isSparse():
			out = append(out, comparedSizes{n, 1, 0, 0})
		case n == 1:
			out = append(out, comparedSizes{1, 1, 1, 1})
		default:
			out = append(out, comparedSizes{n, 1, 1, n}, comparedSizes{1, n, 1, n}, comparedSizes{n, 1, n, 1})
		}
	}
	return out
}

// smallestFit is the smallest tensor parallelism at which weights leave room for a cache, experts sharded by expert.
func smallestFit(g *comparedGroup, gpu string) []comparedSizes {
	for n := 1; n <= 16; n *= 2 {
		s := comparedSizes{n, 1, 0, 0}
		if g.isSparse() {
			s.moeTP, s.moeEP = 1, n
		}
		d := comparedDeployment{*g, gpu, s}
		m, err := analytic.New(d.config())
		if err != nil {
			continue
		}
		if _, err := m.Capacity(analytic.CapacityConfig{}); err == nil {
			return []comparedSizes{s}
		}
	}
	return nil
}

func (d *comparedDeployment) config() analytic.Config {
	return analytic.Config{
		GPU: d.gpu, Model: d.model, Quantization: d.quant, TP: d.tp, AttentionDP: d.dp, MoETP: d.moeTP, MoEEP: d.moeEP,
	}
}

// pair builds both models of a deployment. The error says why it is left out.
func (d *comparedDeployment) pair(data *aic.Data, backend string) (compare.Pair, error) {
	refuse := func(err error) (compare.Pair, error) {
		return compare.Pair{}, fmt.Errorf("%s on %s: %w", d.family, d.gpu, err)
	}
	ours, err := analytic.New(d.config())
	if err != nil {
		return refuse(err)
	}
	if _, err := ours.Capacity(analytic.CapacityConfig{Backend: backend}); err != nil {
		return refuse(err)
	}
	c := aic.Config{
		Model: d.model, System: d.gpu, Backend: backend, TP: d.tp, AttentionDP: d.dp, MoETP: d.moeTP, MoEEP: d.moeEP,
	}
	if d.quant != "" {
		gemm, _, kv := ours.Modes()
		c.Gemm, c.KVCache = string(gemm), string(kv)
	}
	theirs, err := data.Model(c)
	if err != nil {
		return refuse(err)
	}
	name := fmt.Sprintf("%s on %s, tp %d, dp %d, moe %dx%d", d.model, d.gpu, d.tp, d.dp, d.moeTP, d.moeEP)
	return compare.Pair{Name: name, Family: d.family, GPU: d.gpu, A: ours, B: theirs.Source()}, nil
}
