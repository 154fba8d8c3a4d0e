package engine

import (
	"math"
	"slices"

	"fakellm/engine/kv"
)

// vllm is the scheduler core of vLLM and, with its capacity rule and without preemption, of TensorRT-LLM (spec
// engine-core §2, §3). One budget of tokens per pass goes to the running set first, then to the head of the queue.
type vllm struct {
	cfg   Config
	rank  int
	trt   bool
	model StepModel
	pool  *kv.Pool

	byID    map[RequestID]*seq
	waiting queue
	running []*seq
	spare   []*seq // recycled states
	ordinal uint64

	preemptions uint64
	// evictions counts the preemptions since anybody got a token.
	evictions int
	// owed is what the running set may still allocate up to its completion, in blocks (TensorRT-LLM's reservation).
	owed int
	// capacityBound is the cadence's memory of a queue (spec §7.4).
	capacityBound bool
	// bursts draws speculative bursts; nil without speculation.
	bursts *sampler

	// The state of the pass that runs now.
	now struct {
		stamp     uint64
		budget    int
		batch     prefillSums
		preempted bool
		rejects   []Output
		ready     []*seq
		lengths   []int
	}
	hits   []kv.Block     // of the last probe
	locals []kv.LocalHash // scratch of identify

	// blocked remembers that the head was told to wait, and under which conditions that stays so.
	blocked struct {
		head      *seq
		version   uint64
		available int
	}
	plan   vllmPlan
	events eventLog
	load   Load
}

// prefillSums is what the prefill signature is made of.
type prefillSums struct{ count, isl, prefix int }

// newVLLM returns the core of one rank.
func newVLLM(cfg Config, rank int, model StepModel) core {
	c := &vllm{
		cfg: cfg, rank: rank, trt: cfg.Backend == TRTLLM, model: model,
		pool: kv.NewPool(cfg.NumGPUBlocks, cfg.EmitKVEvents),
		byID: make(map[RequestID]*seq),
	}
	if cfg.NumSpeculativeTokens > 0 {
		c.bursts = newSampler(cfg, rank)
	}
	return c
}

// submit implements core.
func (c *vllm) submit(r *Request) {
	s := c.newSeq(r)
	c.byID[r.ID] = s
	c.waiting.pushBack(s)
}

// newSeq returns the state of a fresh request, with the output TensorRT-LLM clamps it to (spec §3).
func (c *vllm) newSeq(r *Request) *seq {
	s := &seq{}
	if n := len(c.spare); n > 0 {
		s = c.spare[n-1]
		c.spare = c.spare[:n-1]
		*s = seq{blocks: s.blocks[:0], hashes: s.hashes[:0]}
	}
	c.ordinal++
	s.req, s.ordinal, s.prompt, s.len, s.limit = r, c.ordinal, r.PromptTokens, r.PromptTokens, r.MaxOutput
	if s.ownFrom = math.MaxInt; r.Content == nil {
		s.ownFrom = 0
	}
	if c.trt {
		if c.cfg.MaxModelLen > 0 {
			s.limit = min(s.limit, max(0, c.cfg.MaxModelLen-s.prompt))
		}
		if pool := c.cfg.NumGPUBlocks * c.cfg.BlockSize; s.prompt < pool {
			s.limit = min(s.limit, pool-s.prompt)
		}
	}
	s.stop = s.prompt + s.limit
	if c.cfg.MaxModelLen > 0 {
		s.stop = min(s.stop, c.cfg.MaxModelLen)
	}
	return s
}

// cancel implements core.
func (c *vllm) cancel(id RequestID) bool {
	s, ok := c.byID[id]
	if !ok {
		return false
	}
	if s.running {
		c.dropRunning(c.indexOf(s))
	} else {
		c.waiting.remove(s)
	}
	c.retire(s)
	return true
}

// retire forgets a request that is in neither list and frees its blocks.
func (c *vllm) retire(s *seq) {
	c.release(s)
	delete(c.byID, s.req.ID)
	c.recycle(s)
}

// recycle keeps the memory of a state whose request is gone.
func (c *vllm) recycle(s *seq) {
	if c.blocked.head == s {
		c.blocked.head = nil
	}
	s.req = nil
	c.spare = append(c.spare, s)
}

// release gives up all blocks of s, last to first, so that leaves are evicted before their parents (spec §5.4).
func (c *vllm) release(s *seq) {
	for _, b := range slices.Backward(s.blocks) {
		c.pool.Release(b)
	}
	s.blocks = s.blocks[:0]
	s.allocated, s.published = 0, 0
}

// ready implements core.
func (c *vllm) ready() bool { return len(c.running) > 0 || c.waiting.n > 0 }

// settle implements core; nothing of vLLM happens between passes.
func (c *vllm) settle(bool, bool) {}

// changes implements core.
func (c *vllm) changes() []kv.Event {
	c.events.reset(c.events.list)
	c.noteRemoved()
	return c.events.list
}

// resetPrefixCache implements core. The removals are told by changes, or else by the next pass.
func (c *vllm) resetPrefixCache() { c.pool.Clear() }

// state implements core.
func (c *vllm) state() RankState {
	return RankState{
		Running: len(c.running), Waiting: c.waiting.n,
		ActiveBlocks: c.pool.Active(), InactiveBlocks: c.pool.Inactive(), TotalBlocks: c.cfg.NumGPUBlocks,
		Preemptions: c.preemptions,
	}
}

// stuck implements core. With nothing running nobody will ever free a block, so the head of the queue waits in vain.
func (c *vllm) stuck() (Output, bool) {
	s := c.waiting.head
	if s == nil {
		if len(c.running) == 0 {
			return Output{}, false
		}
		s = c.running[0]
	}
	why := c.whyNever(s)
	out := Output{Req: s.req, Cached: s.cached, End: Rejected, Why: &why}
	if s.len > s.prompt {
		out.End = Failed
	}
	if s.running {
		c.dropRunning(c.indexOf(s))
	} else {
		c.waiting.remove(s)
	}
	c.retire(s)
	return out, true
}

// whyNever names the setting that keeps s from ever being scheduled.
func (c *vllm) whyNever(s *seq) Refusal {
	if left := s.prompt - s.computed; !c.cfg.EnableChunkedPrefill && left > c.cfg.MaxNumBatchedTokens {
		return Refusal{Setting: "max_num_batched_tokens", Need: left, Have: c.cfg.MaxNumBatchedTokens, Unit: "tokens"}
	}
	need := max(c.blocksFor(s.len), c.burstNeed(s))
	if c.trt {
		need = c.blocksFor(s.prompt + s.limit)
	}
	have := c.cfg.NumGPUBlocks
	return Refusal{Setting: "num_gpu_blocks", Need: max(need, have+1), Have: have, Unit: "blocks"}
}

// blocksFor returns the number of blocks that hold tokens.
func (c *vllm) blocksFor(tokens int) int { return (tokens + c.cfg.BlockSize - 1) / c.cfg.BlockSize }

// indexOf finds a running request, in O(running).
func (c *vllm) indexOf(s *seq) int {
	for i, r := range c.running {
		if r == s {
			return i
		}
	}
	panic("engine: request marked as running is not in the running list")
}

// enterRunning appends s to the running set.
func (c *vllm) enterRunning(s *seq) {
	s.running = true
	c.running = append(c.running, s)
	c.owed += c.owes(s)
}

// dropRunning takes the i-th request out of the running set; those behind it move up.
func (c *vllm) dropRunning(i int) {
	s := c.running[i]
	c.owed -= c.owes(s)
	s.running = false
	copy(c.running[i:], c.running[i+1:])
	c.running[len(c.running)-1] = nil
	c.running = c.running[:len(c.running)-1]
}

// owes returns how many blocks s may still allocate up to its completion.
func (c *vllm) owes(s *seq) int {
	if !c.trt {
		return 0
	}
	return c.blocksFor(s.prompt+s.limit) - len(s.blocks)
}
