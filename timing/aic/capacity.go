package aic

import (
	"math"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/model"
)

// MemoryConfig is how much of a GPU the KV cache may use. The zero value of a field is its default.
type MemoryConfig struct {
	// MaxTokens is max_num_batched_tokens; 0 means 8192.
	MaxTokens int
	// Fraction of memory as the backend counts it; nil means vllm 0.9, sglang 0.88, trtllm 0.9 of what is free.
	Fraction *float64
	// FractionKind, of_total or of_free, is refused when it is not the backend's; "" is right.
	FractionKind string
	// BlockSize in tokens; 0 means vllm 64, sglang 1, trtllm 32.
	BlockSize int
	// CUDAGraphBytes are set aside.
	CUDAGraphBytes float64
	// Tolerance asks for a second answer; nil for none.
	Tolerance *float64
}

// Capacity is the KV capacity of one rank. Bytes are whole numbers, rounded down.
type Capacity struct {
	GPUBytes, WeightBytes, ActivationBytes, OtherBytes, CommBytes int64
	Fraction                                                      float64
	KVBytes                                                       int64
	KVBytesPerToken                                               float64
	KVTokens, BlockSize, NumBlocks                                int
	// TolerantKVBytes and TolerantKVTokens answer a tolerance; else they are 0.
	TolerantKVBytes  int64
	TolerantKVTokens int
}

// Capacity computes how many KV blocks one rank holds (spec aic-timing §9).
func (m *Model) Capacity(c MemoryConfig) (Capacity, error) {
	kind, fraction := model.FractionOf(m.dep.Backend)
	if c.FractionKind != "" {
		kind = c.FractionKind
	}
	if c.Fraction != nil {
		fraction = *c.Fraction
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = 8192
	}
	if c.BlockSize == 0 {
		c.BlockSize = model.BlockSize(m.dep.Backend)
	}
	if c.BlockSize < 0 || c.MaxTokens < 0 || !(c.CUDAGraphBytes >= 0) {
		return Capacity{}, fault.New(fault.BadConfig, "block size %d, max tokens %d, cuda graph bytes %g: want none below 0",
			c.BlockSize, c.MaxTokens, c.CUDAGraphBytes)
	}
	kv, err := model.Capacity(m.hf, m.dep, m.lists.Context, m.db.Index.System, model.Memory{
		MaxTokens: c.MaxTokens, Fraction: fraction, FractionKind: kind, CUDAGraphBytes: c.CUDAGraphBytes,
		Tolerance: c.Tolerance,
	})
	if err != nil {
		return Capacity{}, err
	}
	whole := func(v float64) int64 { return int64(math.Floor(v)) }
	return Capacity{
		GPUBytes: whole(kv.GPUBytes), WeightBytes: whole(kv.Weights), ActivationBytes: whole(kv.Activations),
		OtherBytes: whole(kv.Other), CommBytes: whole(kv.Comm), Fraction: fraction,
		KVBytes: whole(kv.Bytes), KVBytesPerToken: kv.PerToken, KVTokens: kv.Tokens,
		BlockSize: c.BlockSize, NumBlocks: kv.Tokens / c.BlockSize,
		TolerantKVBytes: whole(kv.TolerantBytes), TolerantKVTokens: kv.TolerantTokens,
	}, nil
}

// KVBytesPerToken is what one more token of a long request takes on one rank, in bytes.
func (m *Model) KVBytesPerToken() float64 { return model.KVBytesPerToken(m.hf, m.dep) }
