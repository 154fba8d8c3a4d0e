package model

import (
	"math"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/perf"
	"fakellm/timing/aic/table"
)

// Memory is how much of one GPU a deployment may use.
type Memory struct {
	// MaxTokens is the token budget of a pass (max_num_batched_tokens); activations are sized by it.
	MaxTokens int
	// Fraction of memory and its kind, "of_total" or "of_free"; "" is the backend's own kind.
	Fraction     float64
	FractionKind string
	// CUDAGraphBytes are set aside before the KV cache.
	CUDAGraphBytes float64
	// Tolerance, when set, asks for a second answer that leaves this share of the KV cache free; nil asks for none.
	Tolerance *float64
}

// KV is the KV capacity of one rank and what the rest of the memory holds, in bytes.
type KV struct {
	GPUBytes, Weights, Activations, Other, Comm float64
	// Bytes is the cache, PerToken what one token takes (for gpt-oss the first one), Tokens how many fit.
	Bytes, PerToken float64
	Tokens          int
	// TolerantBytes and TolerantTokens answer Memory.Tolerance.
	TolerantBytes  float64
	TolerantTokens int
}

// FractionOf returns the kind of memory fraction of a backend and its default.
func FractionOf(backend string) (kind string, fraction float64) {
	switch backend {
	case "sglang":
		return "of_total", 0.88
	case "trtllm":
		return "of_free", 0.9
	}
	return "of_total", 0.9
}

// BlockSize is the default tokens per KV block of a backend.
func BlockSize(backend string) int {
	switch backend {
	case "sglang":
		return 1
	case "trtllm":
		return 32
	}
	return 64
}

// Capacity computes how many tokens fit (spec aic-timing §9.1). Errors are NoBudget, BadFraction or BadParallelism.
func Capacity(h *HF, d Deployment, ctx []perf.Op, sys *table.System, m Memory) (KV, error) {
	if err := checkFraction(d.Backend, m); err != nil {
		return KV{}, err
	}
	kv := KV{GPUBytes: sys.GPU.MemCapacity, Other: sys.Misc.OtherMem}
	var ok bool
	if kv.Comm, ok = sys.Misc.NCCLMem[min(d.TP, 8)]; !ok {
		return KV{}, fault.New(fault.BadParallelism, "system %s has no nccl_mem for tp %d", sys.Name, d.TP)
	}
	coef, ok := activationCoefficient(h.Family, d.Backend, d.TP)
	if !ok {
		return KV{}, fault.New(fault.BadParallelism,
			"no activation size is known for tp %d, only for 1, 2, 4 and 8 or more", d.TP)
	}
	kv.Activations = activations(h, d, coef, float64(m.MaxTokens))
	kv.Weights = weights(h, d, ctx)
	if d.Backend == "sglang" {
		kv.Other *= 1.2
	}
	budget := kv.budget(d.Backend, m)
	if !(budget > 0) {
		return KV{}, fault.New(fault.NoBudget,
			"no memory for the KV cache: %.0f bytes, fraction %g, weights %.0f, activations %.0f, other %.0f",
			kv.GPUBytes, m.Fraction, kv.Weights, kv.Activations, kv.Other+kv.Comm+m.CUDAGraphBytes)
	}
	size := kvBytes(h, d)
	kv.Bytes, kv.PerToken, kv.Tokens = math.Floor(budget), size(1), fit(size, budget)
	if m.Tolerance != nil {
		kv.TolerantBytes = math.Floor(kv.Bytes * (1 - *m.Tolerance))
		kv.TolerantTokens = fit(size, kv.TolerantBytes)
	}
	return kv, nil
}

func checkFraction(backend string, m Memory) error {
	kind, _ := FractionOf(backend)
	if m.FractionKind != "" && m.FractionKind != kind {
		return fault.New(fault.BadFraction, "%s takes a memory fraction %s, not %s", backend, kind, m.FractionKind)
	}
	if !(m.Fraction >= 0 && m.Fraction <= 1) {
		return fault.New(fault.BadFraction, "memory fraction is %g, want 0 to 1", m.Fraction)
	}
	if m.Tolerance != nil && !(*m.Tolerance >= 0 && *m.Tolerance < 1) {
		return fault.New(fault.BadFraction, "tolerance is %g, want 0 up to but not including 1", *m.Tolerance)
	}
	return nil
}

// budget is the bytes left for the cache: each backend charges different things to its fraction.
func (kv *KV) budget(backend string, m Memory) float64 {
	used := kv.Weights + kv.Activations + kv.Comm + kv.Other + m.CUDAGraphBytes
	switch backend {
	case "sglang":
		return (kv.GPUBytes-kv.Comm-kv.Other)*m.Fraction - (kv.Weights + m.CUDAGraphBytes)
	case "trtllm":
		return (kv.GPUBytes - used) * m.Fraction
	}
	return kv.GPUBytes*m.Fraction - used
}

// activationCoefficient is the factor on the token budget, for tp 1, 2, 4, 8.
func activationCoefficient(f Family, backend string, tp int) (float64, bool) {
	dense, moe := [4]float64{11, 6.5, 5, 5}, [4]float64{22, 13, 10, 10}
	if backend == "sglang" {
		dense, moe = [4]float64{14, 8.5, 6.5, 6.5}, [4]float64{28, 17, 13, 13}
	}
	i, ok := map[int]int{1: 0, 2: 1, 4: 2, 8: 3}[min(tp, 8)]
	if !ok {
		return 0, false
	}
	if f == Llama {
		return dense[i], true
	}
	return moe[i], true
}

func activations(h *HF, d Deployment, coef, tokens float64) float64 {
	width := float64(h.Heads * h.HeadDim)
	act := 2 * tokens * width * coef
	if h.Family == DeepSeek {
		w := width
		if d.Backend == "sglang" {
			w = float64(h.Hidden)
		}
		act += tokens * w * float64(d.AttentionDP) * float64(h.Experts) * float64(h.TopK) / float64(d.MoEEP) / 128 * 4
	}
	if d.Backend == "sglang" {
		return max(act, 90<<20) * 1.15
	}
	return max(act, 70<<20)
}

// weights is the bytes of one rank: what the prompt list holds, or for DeepSeek on sglang what stays resident.
func weights(h *HF, d Deployment, ctx []perf.Op) float64 {
	sum := perf.WeightOf(ctx)
	if h.Architecture != "DeepseekV3ForCausalLM" || d.Backend != "sglang" || d.PP != 1 || d.NextN != 0 {
		return sum / float64(d.PP)
	}
	hidden, layers := float64(h.Hidden), float64(h.Layers)
	routed := 3 * hidden * float64(h.MoEInter) * float64(h.Experts) * d.Quants.MoE.Mem / float64(d.MoETP*d.MoEEP)
	shared := 3 * hidden * float64(h.MoEInter) * d.Quants.Gemm.Mem / float64(d.TP)
	router := 2 * hidden * float64(h.Experts)
	dense := 3 * hidden * float64(h.Inter) * d.Quants.Gemm.Mem / float64(d.TP)
	moeLayers := layers - float64(h.FirstDense)
	sum -= 2 * float64(h.Vocab) * hidden * (1 - 1/float64(d.TP))
	sum -= layers * (routed + shared + router)
	sum += moeLayers * (routed + float64(h.SharedExperts)*shared + router)
	return sum + (layers-moeLayers)*dense
}

// kvBytes returns the bytes that s tokens of one request take on one rank.
func kvBytes(h *HF, d Deployment) func(s float64) float64 {
	mem, layers := d.Quants.KV.Mem, float64(h.Layers)
	if h.Family == DeepSeek {
		per := layers * float64(h.KVLoraRank+h.QKRopeDim) * mem
		return func(s float64) float64 { return per * s }
	}
	per := float64((h.KVHeads+d.TP-1)/d.TP*h.HeadDim) * 2 * mem
	if h.GPTOss {
		windowed := math.Floor(layers / 2)
		return func(s float64) float64 { return per * (windowed*min(s, gptOssWindow) + (layers-windowed)*s) }
	}
	return func(s float64) float64 { return per * layers * s }
}

// fit is the largest number of tokens whose bytes fit the budget.
func fit(size func(float64) float64, budget float64) int {
	lo, hi := 0, 1<<50
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		if size(float64(mid)) <= budget {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// KVBytesPerToken is what one more token of a long request takes on one rank.
func KVBytesPerToken(h *HF, d Deployment) float64 {
	size := kvBytes(h, d)
	return size(2*gptOssWindow+1) - size(2*gptOssWindow)
}
