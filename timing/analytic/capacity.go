package analytic

import (
	"errors"
	"fmt"
	"math"
)

// The two ways in which a deployment has no KV cache.
var (
	// ErrNoBudget means that weights and overheads leave nothing of the memory fraction.
	ErrNoBudget = errors.New("no memory left for the kv cache")
	// ErrBadFraction means a memory fraction or tolerance out of range, or of the wrong kind for the backend.
	ErrBadFraction = errors.New("bad memory fraction")
)

// Backend names whose memory accounting is known.
const (
	VLLM   = "vllm"
	SGLang = "sglang"
	TRTLLM = "trtllm"
)

// Kinds of memory fraction.
const (
	OfTotal = "of_total" // vllm's gpu_memory_utilization, sglang's mem_fraction_static
	OfFree  = "of_free"  // trtllm's free_gpu_memory_fraction
)

// CapacityConfig says how a backend divides the memory of a GPU. The zero value is vLLM with its defaults.
type CapacityConfig struct {
	// Backend is vllm, sglang or trtllm; empty means vllm.
	Backend string
	// Fraction of memory, 0 to 1; nil means the backend's default, 0.9 (sglang 0.88).
	Fraction *float64
	// FractionKind is of_total or of_free; empty means what the backend takes. The other kind is an error.
	FractionKind string
	// MaxNumTokens is the token budget of a pass, which sizes activations; 0 means 8192.
	MaxNumTokens int
	// BlockSize is in tokens; 0 means the backend's default: vllm 64, sglang 1, trtllm 32.
	BlockSize int
	// CUDAGraphBytes are reserved on top.
	CUDAGraphBytes int64
	// Tolerance is a share of the budget left unused, 0 or more and below 1.
	Tolerance float64
}

// Capacity is the memory of one rank, in bytes, and what fits into the rest of it.
type Capacity struct {
	GPUBytes         int64   `json:"gpu_bytes"`
	Fraction         float64 `json:"fraction"`
	WeightsBytes     int64   `json:"weights_bytes"`
	ActivationsBytes int64   `json:"activations_bytes"`
	CommBytes        int64   `json:"comm_bytes"`
	OtherBytes       int64   `json:"other_bytes"`
	CUDAGraphBytes   int64   `json:"cuda_graph_bytes"`
	// KVBytes is the budget, KVBytesPerToken the cost of the first token, KVTokens how many fit before any tolerance.
	KVBytes         int64 `json:"kv_bytes"`
	KVBytesPerToken int64 `json:"kv_bytes_per_token"`
	KVTokens        int64 `json:"kv_tokens"`
	// AdjustedBytes and AdjustedTokens are what the tolerance leaves.
	AdjustedBytes  int64 `json:"adjusted_bytes"`
	AdjustedTokens int64 `json:"adjusted_tokens"`
	BlockSize      int64 `json:"block_size"`
	// NumGPUBlocks is KVTokens in whole blocks, as the reference counts.
	NumGPUBlocks int64 `json:"num_gpu_blocks"`
}

const (
	otherMemory    = 3758096384.0 // 3.5 GiB for context, fragmentation and what nobody counts
	commMemory2    = 358612992.0
	commMemory4    = 411041792.0
	leastActive    = 70 << 20
	leastActiveSGL = 90 << 20
)

// Capacity returns how many tokens and blocks of KV cache one rank holds (spec analytic-timing §5). Errors wrap
// ErrNoBudget or ErrBadFraction, or name the field.
func (m *Model) Capacity(c CapacityConfig) (Capacity, error) {
	if err := c.complete(); err != nil {
		return Capacity{}, err
	}
	capacity := float64(m.d.gpu.MemoryBytes)
	weights, active := m.weights(c.Backend), m.activations(c.Backend, float64(c.MaxNumTokens))
	comm, other := m.commMemory(), otherMemory
	if c.Backend == SGLang {
		other *= 1.2
	}
	f, graphs := *c.Fraction, float64(c.CUDAGraphBytes)
	var budget float64
	switch c.Backend {
	case SGLang: // activations are not charged
		budget = (capacity-comm-other)*f - (weights + graphs)
	case TRTLLM:
		budget = (capacity - (weights + active + comm + other + graphs)) * f
	default:
		budget = capacity*f - (weights + active + comm + other + graphs)
	}
	out := Capacity{
		GPUBytes: m.d.gpu.MemoryBytes, Fraction: f, WeightsBytes: int64(weights), ActivationsBytes: int64(active),
		CommBytes: int64(comm), OtherBytes: int64(other), CUDAGraphBytes: c.CUDAGraphBytes,
		KVBytesPerToken: m.KVBytesPerToken(), BlockSize: int64(c.BlockSize),
	}
	if budget <= 0 {
		return out, fmt.Errorf("%w: %s on %s at tp %d needs %.0f bytes for weights, fraction %v of %.0f",
			ErrNoBudget, m.d.facts.Name, m.d.gpu.Name, m.d.tp, weights, f, capacity)
	}
	out.KVBytes = int64(budget)
	out.KVTokens = m.tokensIn(budget)
	out.AdjustedBytes = int64(math.Floor(math.Floor(budget) * (1 - c.Tolerance)))
	out.AdjustedTokens = m.tokensIn(float64(out.AdjustedBytes))
	out.NumGPUBlocks = out.KVTokens / out.BlockSize
	return out, nil
}

// complete fills in defaults and checks ranges.
func (c *CapacityConfig) complete() error {
	kind, fraction, block := OfTotal, 0.9, 64
	switch c.Backend {
	case "", VLLM:
		c.Backend = VLLM
	case SGLang:
		fraction, block = 0.88, 1
	case TRTLLM:
		kind, block = OfFree, 32
	default:
		return fmt.Errorf("backend %q: known are %s, %s and %s", c.Backend, VLLM, SGLang, TRTLLM)
	}
	if c.FractionKind != "" && c.FractionKind != kind {
		return fmt.Errorf("%w: fraction kind %s: %s takes %s", ErrBadFraction, c.FractionKind, c.Backend, kind)
	}
	if c.Fraction == nil {
		c.Fraction = &fraction
	}
	if f := *c.Fraction; !(f >= 0 && f <= 1) {
		return fmt.Errorf("%w: fraction %v: must be 0 to 1", ErrBadFraction, f)
	}
	if !(c.Tolerance >= 0 && c.Tolerance < 1) {
		return fmt.Errorf("%w: tolerance %v: must be at least 0 and below 1", ErrBadFraction, c.Tolerance)
	}
	if c.BlockSize == 0 {
		c.BlockSize = block
	}
	if c.MaxNumTokens == 0 {
		c.MaxNumTokens = 8192
	}
	if c.BlockSize < 0 || c.MaxNumTokens < 0 || c.CUDAGraphBytes < 0 {
		return fmt.Errorf("block_size %d, max_num_batched_tokens %d, cuda_graph_bytes %d: must not be negative",
			c.BlockSize, c.MaxNumTokens, c.CUDAGraphBytes)
	}
	return nil
}

// KVBytesPerToken is what one token of a short context occupies in the cache of one rank, over all layers, in bytes. KV
// transfers between ranks move the same.
func (m *Model) KVBytesPerToken() int64 {
	full, windowed := m.kvRates()
	return int64(full + windowed)
}

// kvRates is the bytes per token of the layers without and with a window. A model whose every layer has a window is
// counted as if it had none, since one sequence could not fill its cache.
func (m *Model) kvRates() (full, windowed float64) {
	f, bytes := &m.d.facts, m.d.kv.kvBytes()
	if f.isMLA() {
		return m.layers * float64(f.KVLoRARank+f.RopeDim) * bytes, 0
	}
	layer := m.attention.kvHeads * m.attention.dim * 2 * bytes
	if f.WindowLayers == f.Layers {
		return layer * m.layers, 0
	}
	return layer * (m.layers - m.windows), layer * m.windows
}

// tokensIn is the longest sequence that fits into so many bytes.
func (m *Model) tokensIn(bytes float64) int64 {
	full, windowed := m.kvRates()
	if tokens := bytes / (full + windowed); tokens <= m.window || windowed == 0 {
		return int64(tokens)
	}
	return int64((bytes - windowed*m.window) / full)
}

// commMemory is what the communication library reserves.
func (m *Model) commMemory() float64 {
	switch {
	case m.d.tp == 1:
		return 0
	case m.d.tp < 4:
		return commMemory2
	}
	return commMemory4
}
