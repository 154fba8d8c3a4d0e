package engine

// Backend names the scheduler a worker imitates.
type Backend string

// The three shapes.
const (
	VLLM   Backend = "vllm"
	SGLang Backend = "sglang"
	TRTLLM Backend = "trtllm"
)

// WorkerType says which part of a request a worker serves.
type WorkerType string

// The roles of a worker.
const (
	Aggregated WorkerType = "aggregated"
	Prefill    WorkerType = "prefill"
	Decode     WorkerType = "decode"
)

// Unlimited switches off max_num_seqs or max_num_batched_tokens (JSON null).
const Unlimited = int(^uint(0) >> 1)

// Config describes one worker; every rank of it is alike. Field names follow the engines' own settings. Start from
// [DefaultConfig]; the zero value is not valid.
type Config struct {
	Backend Backend
	// NumGPUBlocks is the number of usable KV blocks per rank (16384), BlockSize their size in tokens
	// (vllm 64, sglang 1: the radix page, trtllm 32).
	NumGPUBlocks, BlockSize int
	// MaxModelLen bounds prompt plus output in tokens; 0 for no limit.
	MaxModelLen int
	// MaxNumSeqs (256) and MaxNumBatchedTokens (8192) bound a pass; Unlimited for no bound. SGLang ignores the second.
	MaxNumSeqs, MaxNumBatchedTokens int
	// PrefillScheduleInterval spaces prefills of data-parallel vLLM ranks (1), PrefillDecodeInterval those of SGLang (0).
	PrefillScheduleInterval, PrefillDecodeInterval int
	EnablePrefixCaching, EnableChunkedPrefill      bool
	// PreemptionMode is "lifo" or "fifo" (vllm).
	PreemptionMode string
	WorkerType     WorkerType
	SGLang         SGLangConfig
	// DPSize is the number of data-parallel ranks behind one barrier (1).
	DPSize int
	// Speculative decoding: NumSpeculativeTokens is aic_nextn, 0 for off, at most 5. AcceptRates are conditional
	// probabilities per position, padded with 0. AcceptSeed is aic_mtp_seed (42).
	NumSpeculativeTokens int
	AcceptRates          []float64
	AcceptSeed           uint64
	// WorkerID numbers the worker in its cluster: effects carry it and the acceptance stream depends on it.
	WorkerID int
	// EmitKVEvents fills Pass.Events, EmitKVTokenIDs also their token ids; EmitLoad fills Pass.Load.
	EmitKVEvents, EmitKVTokenIDs, EmitLoad bool
	// Runs lets steady decode advance in runs when the sink is a RunSink.
	Runs bool
}

// SGLangConfig holds the settings only SGLang has.
type SGLangConfig struct {
	// SchedulePolicy is "fifo" or "lpm".
	SchedulePolicy string
	// MaxPrefillTokens (16384) and ChunkedPrefillSize (8192) bound a prefill batch; ClipMaxNewTokens (4096) bounds the
	// output reserved at admission. All in tokens.
	MaxPrefillTokens, ChunkedPrefillSize, ClipMaxNewTokens int
	// ScheduleConservativeness scales the estimate of output still to come (1).
	ScheduleConservativeness float64
}

// DefaultConfig returns the reference's defaults for a backend.
func DefaultConfig(b Backend) Config {
	size := map[Backend]int{VLLM: 64, SGLang: 1, TRTLLM: 32}[b]
	return Config{
		Backend: b, NumGPUBlocks: 16384, BlockSize: size, MaxNumSeqs: 256, MaxNumBatchedTokens: 8192,
		PrefillScheduleInterval: 1, EnablePrefixCaching: true, EnableChunkedPrefill: true, PreemptionMode: "lifo",
		WorkerType: Aggregated, DPSize: 1, AcceptSeed: 42,
		SGLang: SGLangConfig{
			SchedulePolicy: "fifo", MaxPrefillTokens: 16384, ChunkedPrefillSize: 8192, ClipMaxNewTokens: 4096,
			ScheduleConservativeness: 1,
		},
	}
}
