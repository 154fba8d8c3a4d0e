package aic_test

import (
	"os"
	"testing"

	"fakellm/timing/aic"
)

// dense is the deployment of the budgets: Llama-3.1-8B on one H100.
var dense = aic.Config{Model: "meta-llama/Meta-Llama-3.1-8B", System: "h100_sxm", Backend: "vllm"}

func sharedModel(b *testing.B, c aic.Config) *aic.Model {
	b.Helper()
	m, err := openShared(b).Model(c)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// BenchmarkCached asks one remembered shape again; the budget is 100 ns.
func BenchmarkCached(b *testing.B) {
	m := sharedModel(b, dense)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.DecodeMS(64, 2000, 2); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDense asks a new shape every time; the budget is 200 µs.
func BenchmarkDense(b *testing.B) {
	m := sharedModel(b, dense)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := m.DecodeMS(1+i%256, 1+i%7919, 2); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("prefill", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := m.PrefillMS(1+i%8, 64+i%7919, i%64); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("prefill-beyond-grid", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := m.PrefillMS(1+i%8, 70000+i%79190, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDeepSeek asks new shapes of a model with latent attention and experts.
func BenchmarkDeepSeek(b *testing.B) {
	m := sharedModel(b, aic.Config{Model: "deepseek-ai/DeepSeek-V3", System: "h200_sxm", Backend: "vllm", TP: 8, MoETP: 1, MoEEP: 8})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := m.DecodeMS(1+i%256, 1+i%7919, 2); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad opens the directory and loads one deployment; the budget is 300 ms and 100 MB.
func BenchmarkLoad(b *testing.B) {
	openShared(b) // or skip
	for _, c := range []struct {
		name   string
		config aic.Config
	}{
		{"dense", dense},
		{"moe", aic.Config{Model: "Qwen/Qwen3-235B-A22B-FP8", System: "h200_sxm", Backend: "vllm", TP: 8, MoETP: 1, MoEEP: 8}},
		{"deepseek", aic.Config{Model: "deepseek-ai/DeepSeek-V3", System: "b200_sxm", Backend: "trtllm", TP: 8, MoETP: 1, MoEEP: 8}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				data, err := aic.Open(os.DirFS(sharedData))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := data.Model(c.config); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
