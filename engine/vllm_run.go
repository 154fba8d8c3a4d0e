package engine

import (
	"slices"

	"fakellm/engine/kv"
)

// vllmPlan is steady decode that was planned and not committed.
type vllmPlan struct {
	passes int
	// pubs orders the blocks of known content that the run completes: by pass, then by place in the running set.
	pubs []uint64
}

// run implements core. In a run everybody decodes, nobody finishes before the last pass, the blocks suffice without
// evicting a running request, and the head of the queue stays where it is: either no slot is free, or its verdict of
// too few blocks holds, which only a release, an eviction that makes a used copy the primary one, or a publication of
// what it asks for could change (architecture §4). It costs O(running) plus O(1) per pass.
func (c *vllm) run(now Time, ends []Time, limit int) ([]Time, error) {
	c.plan.passes = 0
	if c.bursts != nil || c.cfg.WorkerType == Prefill || len(c.running) == 0 ||
		len(c.running) > c.cfg.MaxNumBatchedTokens {
		return ends, nil
	}
	n, active := limit, 0
	for _, s := range c.running {
		if s.computed != s.len-1 || s.computed < s.prompt {
			return ends, nil
		}
		n = min(n, s.stop-s.len)
		active += s.len
	}
	n = c.fitting(n, c.pool.Available())
	if n > 0 && c.waiting.n > 0 && len(c.running) < c.cfg.MaxNumSeqs {
		if d, _ := c.decide(c.waiting.head); d != wait {
			return ends, nil
		}
		n = c.whileBlocked(n)
	}
	ends, err := decodeRow(c.model, now, ends, c.decodeBatch(len(c.running), active), n)
	c.plan.passes = len(ends)
	return ends, err
}

// growth returns how many blocks n passes of decode allocate.
func (c *vllm) growth(n int) int {
	blocks := 0
	for _, s := range c.running {
		blocks += c.blocksFor(s.len+n-1) - len(s.blocks)
	}
	return blocks
}

// fitting returns the largest number of passes, at most n, whose growth fits into blocks.
func (c *vllm) fitting(n, blocks int) int {
	if n <= 0 || len(c.running)*((n+c.cfg.BlockSize-1)/c.cfg.BlockSize+1) <= blocks {
		return max(0, n)
	}
	fits := 0
	for lo, hi := 1, n; lo <= hi; {
		mid := (lo + hi) / 2
		if c.growth(mid) <= blocks {
			fits, lo = mid, mid+1
		} else {
			hi = mid - 1
		}
	}
	return fits
}

// whileBlocked returns how many of n passes surely leave the verdict on the head of the queue alone.
func (c *vllm) whileBlocked(n int) int {
	n = c.fitting(n, c.pool.Available()-c.pool.Inactive()+c.pool.Harmless(c.growth(n)))
	if !c.cfg.EnablePrefixCaching {
		return n
	}
	head := c.waiting.head
	c.probe(head)
	var missing kv.SequenceHash
	if at := len(c.hits); at < head.len/c.cfg.BlockSize {
		missing = c.hash(head, at)
	}
	for _, s := range c.running {
		size := c.cfg.BlockSize
		for i := s.published; i < s.ownFrom; i++ {
			pass := (i+1)*size - s.computed
			if pass > n {
				break
			}
			h := c.hash(s, i)
			if i >= s.ownFrom {
				break
			}
			if _, resident := c.pool.Lookup(h); resident || h == missing {
				n = pass - 1
				break
			}
		}
	}
	return n
}

// holds implements core: behind somebody else, or without a free slot, nobody looks at r during the run.
func (c *vllm) holds(*Request) bool {
	return c.waiting.n > 0 || len(c.running) >= c.cfg.MaxNumSeqs
}

// commit implements core.
func (c *vllm) commit(n int, r *Run) {
	r.After = c.state()
	if n > c.plan.passes {
		panic("engine: commit of more passes than were planned")
	}
	c.plan.passes = 0
	if n == 0 {
		return
	}
	if !c.pool.Reserve(nil, c.growth(n)) {
		panic("engine: a planned run does not fit")
	}
	c.plan.pubs = c.plan.pubs[:0]
	ended := false
	for i, s := range c.running {
		r.Requests = append(r.Requests, s.req)
		if more := c.blocksFor(s.len+n-1) - len(s.blocks); more > 0 {
			c.take(s, more)
		}
		if full := (s.computed + n) / c.cfg.BlockSize; full > s.published {
			c.complete(i, s, full)
		}
		s.len += n
		s.computed = s.len - 1
		s.allocated = s.computed
		ended = ended || s.complete()
	}
	c.publishRun()
	if ended {
		for _, s := range c.running {
			if s.complete() {
				r.Outputs = append(r.Outputs, Output{Req: s.req, Tokens: 1, Cached: s.cached, End: Completed})
				c.finish(s)
			}
		}
		c.compact()
	}
	r.After = c.state()
}

// complete publishes the blocks of s up to full, which the run completes, or notes those for which the order matters.
// s, the i-th of the running set, still has its old length.
func (c *vllm) complete(i int, s *seq, full int) {
	if !c.cfg.EnablePrefixCaching {
		s.published = full
		return
	}
	if c.hash(s, s.published); s.published >= s.ownFrom { // nobody has them, so their order does not matter
		for ; s.published < full; s.published++ {
			c.publishBlock(s, s.published)
		}
		return
	}
	for b := s.published; b < full; b++ {
		pass := (b+1)*c.cfg.BlockSize - s.computed
		c.plan.pubs = append(c.plan.pubs, uint64(pass)<<32|uint64(i))
	}
}

// publishRun makes the blocks visible in the order in which the passes completed them, so that of two equal blocks the
// same one becomes the primary copy as without runs.
func (c *vllm) publishRun() {
	slices.Sort(c.plan.pubs)
	for _, pub := range c.plan.pubs {
		s := c.running[uint32(pub)]
		c.publishBlock(s, s.published)
		s.published++
	}
}
