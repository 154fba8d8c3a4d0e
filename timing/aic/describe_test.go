package aic_test

import (
	"strings"
	"testing"

	"fakellm/timing/aic"
)

// TestDescribe says what the made-up directory holds.
func TestDescribe(t *testing.T) {
	fsys := toyFS(t)
	fsys["systems/broken.yaml"] = fsys["model_configs/toy--dense_config.json"]
	data, err := aic.Open(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := data.Describe(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"broken: unusable: broken.yaml: data_dir is absent\n",
		"toy: 74.5 GiB, 1000 GB/s, 100/200/0 TFLOP/s (bf16/fp8/fp4)\n  nccl 2.0\n",
		"  vllm: current 2.0.0, next none, previous none\n    1.0.0: gemm_perf\n" +
			"    2.0.0: context_attention_perf custom_allreduce_perf gemm_perf generation_attention_perf moe_perf\n",
		"model configurations: toy/dense toy/mixed\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
