package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fakellm/timing/analytic"
)

// newTimingCapacity builds the command that counts KV blocks.
func newTimingCapacity(env Env) *cobra.Command {
	var f timingFlags
	var c analytic.CapacityConfig
	var vllm, sglang, trtllm optionalFloat
	var backend string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "capacity", Short: "Count the KV blocks that a GPU holds beside a model's weights",
		Long: "Every backend divides memory its own way: vllm by --gpu-memory-utilization of all memory, sglang by\n" +
			"--mem-fraction-static of it, trtllm by --free-gpu-memory-fraction of what is free.",
		Example: "  fakellm timing capacity --gpu h100_sxm --model llama-3.1-70b --tp 4 --block-size 16",
		Args:    noArgs,
	}
	f.register(cmd, env)
	fs := cmd.Flags()
	fs.StringVar(&backend, "backend", "", "vllm, sglang or trtllm (empty: --aic-backend)")
	fs.Var(&vllm, "gpu-memory-utilization", "vllm: fraction of all memory (0.9)")
	fs.Var(&sglang, "mem-fraction-static", "sglang: fraction of all memory (0.88)")
	fs.Var(&trtllm, "free-gpu-memory-fraction", "trtllm: fraction of free memory (0.9)")
	fs.IntVar(&c.MaxNumTokens, "max-num-batched-tokens", 8192, "token budget of a pass, which sizes activations")
	fs.IntVar(&c.BlockSize, "block-size", 0, "tokens per block (0: vllm 64, sglang 1, trtllm 32)")
	fs.Int64Var(&c.CUDAGraphBytes, "cuda-graph-reserved-bytes", 0, "bytes set aside for CUDA graphs")
	fs.Float64Var(&c.Tolerance, "tolerance", 0, "share of the KV budget to leave unused")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if backend == "" {
			backend = f.backend
		}
		f.backend, c.Backend = backend, backend
		for _, o := range []struct {
			flag    *optionalFloat
			backend string
		}{{&vllm, "vllm"}, {&sglang, "sglang"}, {&trtllm, "trtllm"}} {
			if o.flag.set && o.backend != backend {
				return badInput(fmt.Errorf("memory fraction of %s given, but the backend is %s", o.backend, backend))
			}
			if o.flag.set {
				c.Fraction = &o.flag.value
			}
		}
		p, err := f.predictor(f.kind())
		if err != nil {
			return badInput(err)
		}
		if p.capacity == nil {
			return badInput(fmt.Errorf("%s: knows no GPU; give --gpu and --model, or --aic-system and --aic-model", p.name))
		}
		got, err := p.capacity(c)
		if err != nil {
			return badInput(err)
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), got)
		}
		return printCapacity(cmd, p, &got)
	}
	return cmd
}

func printCapacity(cmd *cobra.Command, p *predictor, c *analytic.Capacity) error {
	printSources(cmd.OutOrStdout(), []*predictor{p})
	t := newTable(cmd.OutOrStdout())
	bytes := func(name string, v int64) { t.row(name, fmt.Sprint(v), fmt.Sprintf("%.2f GiB", float64(v)/(1<<30))) }
	bytes("gpu bytes", c.GPUBytes)
	bytes("weights", c.WeightsBytes)
	bytes("activations", c.ActivationsBytes)
	bytes("communication", c.CommBytes)
	bytes("other", c.OtherBytes)
	bytes("cuda graphs", c.CUDAGraphBytes)
	bytes("kv cache", c.KVBytes)
	t.row("kv bytes per token", fmt.Sprint(c.KVBytesPerToken))
	t.row("kv tokens", fmt.Sprint(c.KVTokens))
	t.row("num_gpu_blocks", fmt.Sprint(c.NumGPUBlocks), fmt.Sprintf("of %d tokens", c.BlockSize))
	if c.AdjustedTokens > 0 && c.AdjustedTokens != c.KVTokens {
		t.row("kv tokens after tolerance", fmt.Sprint(c.AdjustedTokens))
	}
	return t.flush()
}
