package engine

import (
	"fmt"
	"math"
)

// maxDrafts is the longest draft of speculative decoding (spec §1.1).
const maxDrafts = 5

// problems collects what is wrong with a config.
type problems []error

// check notes a problem unless ok.
func (p *problems) check(ok bool, field string, value any, want string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s %v: %s", field, value, want))
	}
}

// Validate returns every problem of the config, each naming its field, or nil.
func (c Config) Validate() []error {
	var p problems
	least := 1
	switch c.Backend {
	case VLLM, TRTLLM:
		least = 2
	case SGLang:
		c.validateSGLang(&p)
	default:
		p.check(false, "backend", c.Backend, "must be vllm, sglang or trtllm")
	}
	p.check(c.NumGPUBlocks >= 1 && c.NumGPUBlocks <= math.MaxInt32, "num_gpu_blocks", c.NumGPUBlocks,
		"must be 1 to 2147483647")
	p.check(c.BlockSize >= least, "block_size", c.BlockSize, fmt.Sprintf("must be at least %d for %s", least, c.Backend))
	p.check(c.BlockSize <= math.MaxInt32, "block_size", c.BlockSize, "is too large, at most 2147483647")
	p.check(c.MaxModelLen >= 0, "max_model_len", c.MaxModelLen, "must be at least 1, or 0 for no limit")
	p.check(c.MaxNumSeqs >= 1, "max_num_seqs", c.MaxNumSeqs, "must be at least 1")
	p.check(c.MaxNumBatchedTokens >= 1, "max_num_batched_tokens", c.MaxNumBatchedTokens, "must be at least 1")
	p.check(c.PrefillScheduleInterval >= 1, "prefill_schedule_interval", c.PrefillScheduleInterval, "must be at least 1")
	p.check(c.PrefillScheduleInterval <= 1 || c.Backend == VLLM, "prefill_schedule_interval", c.PrefillScheduleInterval,
		"only vllm has it")
	p.check(c.PrefillDecodeInterval >= 0, "prefill_decode_interval", c.PrefillDecodeInterval, "must not be negative")
	p.check(c.PrefillDecodeInterval == 0 || c.Backend == SGLang, "prefill_decode_interval", c.PrefillDecodeInterval,
		"only sglang has it")
	p.check(c.PreemptionMode == "lifo" || c.PreemptionMode == "fifo", "preemption_mode", c.PreemptionMode,
		"must be lifo or fifo")
	p.check(c.WorkerType == Aggregated || c.WorkerType == Prefill || c.WorkerType == Decode, "worker_type", c.WorkerType,
		"must be aggregated, prefill or decode")
	p.check(c.DPSize >= 1, "dp_size", c.DPSize, "must be at least 1")
	p.check(c.WorkerID >= 0, "worker id", c.WorkerID, "must not be negative")
	p.check(!c.EmitKVTokenIDs || c.EmitKVEvents, "emit_kv_token_ids", c.EmitKVTokenIDs, "needs emit_kv_events")
	c.validateSpeculation(&p)
	return p
}

// validateSpeculation checks the settings of multi-token prediction.
func (c Config) validateSpeculation(p *problems) {
	p.check(c.NumSpeculativeTokens >= 0 && c.NumSpeculativeTokens <= maxDrafts, "num_speculative_tokens",
		c.NumSpeculativeTokens, "must be 0 to 5")
	p.check(len(c.AcceptRates) == 0 || c.NumSpeculativeTokens > 0, "accept_rates", c.AcceptRates,
		"need num_speculative_tokens")
	for _, rate := range c.AcceptRates {
		p.check(rate >= 0 && rate <= 1, "accept_rates", rate, "must be between 0 and 1")
	}
}

// validateSGLang checks the settings only SGLang has.
func (c Config) validateSGLang(p *problems) {
	s := c.SGLang
	p.check(c.EnableChunkedPrefill, "enable_chunked_prefill", c.EnableChunkedPrefill, "sglang cannot switch it off")
	p.check(s.SchedulePolicy == "fifo" || s.SchedulePolicy == "lpm", "schedule_policy", s.SchedulePolicy,
		"must be fifo or lpm")
	p.check(s.MaxPrefillTokens >= 1, "max_prefill_tokens", s.MaxPrefillTokens, "must be at least 1")
	p.check(s.ChunkedPrefillSize >= max(1, c.DPSize), "chunked_prefill_size", s.ChunkedPrefillSize,
		"must be at least 1 per rank")
	p.check(c.BlockSize < 1 || s.ChunkedPrefillSize%c.BlockSize == 0, "chunked_prefill_size", s.ChunkedPrefillSize,
		"must be a multiple of block_size")
	p.check(s.ClipMaxNewTokens >= 0, "clip_max_new_tokens", s.ClipMaxNewTokens, "must not be negative")
	p.check(s.ScheduleConservativeness >= 0 && !math.IsInf(s.ScheduleConservativeness, 0), "schedule_conservativeness",
		s.ScheduleConservativeness, "must be a number of at least 0")
}
