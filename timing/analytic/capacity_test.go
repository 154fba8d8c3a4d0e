package analytic

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// capacityCase is a case of testdata/capacity.json, the reference's answers for the memory of one rank (copied from the
// shared goldens, aic/capacity.json, whose header says how they were made).
type capacityCase struct {
	ID           string   `json:"id"`
	Model        string   `json:"model"`
	System       string   `json:"system"`
	Backend      string   `json:"backend"`
	TP           int      `json:"tp"`
	PP           int      `json:"pp"`
	AttentionDP  int      `json:"attention_dp"`
	MoETP        int      `json:"moe_tp"`
	MoEEP        int      `json:"moe_ep"`
	KVQuant      string   `json:"kvcache_quant"`
	NextN        int      `json:"nextn"`
	Tokens       int      `json:"max_num_tokens"`
	Fraction     *float64 `json:"fraction"`
	FractionKind string   `json:"fraction_kind"`
	Graphs       int64    `json:"cuda_graph_bytes"`
	Tolerance    float64  `json:"tolerance"`
	BlockSize    int      `json:"block_size"`

	GPU         int64 `json:"gpu_bytes"`
	Weights     int64 `json:"weights_bytes"`
	Activations int64 `json:"activations_bytes"`
	Other       int64 `json:"other_bytes"`
	Comm        int64 `json:"comm_bytes"`
	KV          int64 `json:"kv_bytes"`
	PerToken    int64 `json:"kv_bytes_per_token"`
	KVTokens    int64 `json:"kv_tokens"`
	Blocks      int64 `json:"num_gpu_blocks"`
	Adjusted    *struct {
		Bytes  int64 `json:"total_kv_size_bytes"`
		Tokens int64 `json:"total_kv_size_tokens"`
	} `json:"tolerance_adjusted"`
	Error *struct {
		Category string `json:"category"`
	} `json:"error"`
}

func TestCapacityGoldens(t *testing.T) {
	raw, err := os.ReadFile("testdata/capacity.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []capacityCase `json:"cases"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	answers := 0
	for _, c := range file.Cases {
		m, err := New(Config{
			GPU: c.System, Model: c.Model, TP: c.TP, PP: c.PP, AttentionDP: c.AttentionDP, MoETP: c.MoETP, MoEEP: c.MoEEP,
			KVCacheQuant: c.KVQuant, NextN: c.NextN,
		})
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		got, err := m.Capacity(CapacityConfig{
			Backend: c.Backend, Fraction: c.Fraction, FractionKind: c.FractionKind, MaxNumTokens: c.Tokens,
			BlockSize: c.BlockSize, CUDAGraphBytes: c.Graphs, Tolerance: c.Tolerance,
		})
		if c.Error != nil {
			want := map[string]error{"no_budget": ErrNoBudget, "bad_fraction": ErrBadFraction}[c.Error.Category]
			if !errors.Is(err, want) {
				t.Errorf("%s: error %v, want %v", c.ID, err, want)
			}
			continue
		}
		answers++
		want := Capacity{
			GPUBytes: c.GPU, Fraction: got.Fraction, WeightsBytes: c.Weights, ActivationsBytes: c.Activations,
			CommBytes: c.Comm, OtherBytes: c.Other, CUDAGraphBytes: c.Graphs, KVBytes: c.KV, KVBytesPerToken: c.PerToken,
			KVTokens: c.KVTokens, AdjustedBytes: c.KV, AdjustedTokens: c.KVTokens, BlockSize: got.BlockSize,
			NumGPUBlocks: c.Blocks,
		}
		if c.Adjusted != nil {
			want.AdjustedBytes, want.AdjustedTokens = c.Adjusted.Bytes, c.Adjusted.Tokens
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.ID, err, diff)
		}
	}
	if answers != 41 || len(file.Cases) != 48 {
		t.Errorf("%d answers of %d cases, want 41 of 48", answers, len(file.Cases))
	}
}

func TestCapacityRefuses(t *testing.T) {
	m := model(t, Config{GPU: "h100_sxm", Model: "llama-3.1-8b"})
	minus := -0.1
	for _, c := range []CapacityConfig{
		{Backend: "triton"},
		{Fraction: &minus},
		{BlockSize: -1},
		{MaxNumTokens: -1},
		{CUDAGraphBytes: -1},
		{Tolerance: -1},
	} {
		if got, err := m.Capacity(c); err == nil {
			t.Errorf("%+v: %+v, want an error", c, got)
		}
	}
}

// TestWindowedCapacity holds a cache that only some layers fill beyond their window against counting token by token.
func TestWindowedCapacity(t *testing.T) {
	m := model(t, Config{GPU: "h100_sxm", Model: "gpt-oss-20b"})
	full, windowed := m.kvRates()
	used, budget := 0.0, 3e7
	tokens := int64(0)
	for {
		used += full
		if float64(tokens) < m.window {
			used += windowed
		}
		if used > budget {
			break
		}
		tokens++
	}
	if got := m.tokensIn(budget); got != tokens {
		t.Errorf("tokensIn(%v) = %d, counted %d", budget, got, tokens)
	}
}
