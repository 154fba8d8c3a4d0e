package engine

import "fakellm/engine/kv"

// outcome is what became of one attempt to schedule a request.
type outcome uint8

const (
	// scheduled: it got tokens of this pass, or needs none.
	scheduled outcome = iota
	// noRoom: budget or blocks do not suffice.
	noRoom
	// evictedSelf: it was its own victim.
	evictedSelf
)

// schedule gives s as many tokens as budget and pool allow (spec §2.5). cached is the reuse c.decide granted, whose
// blocks are in c.hits; it counts only while nothing is computed.
func (c *vllm) schedule(p *Pass, s *seq, cached int) outcome {
	before := s.computed
	if before == 0 {
		before = cached
	}
	promptBefore := min(before, s.prompt)
	if !c.cfg.EnableChunkedPrefill && s.prompt-promptBefore > c.now.budget {
		return noRoom
	}
	want := min(s.len-before, c.now.budget)
	if want == 0 && s.len > before {
		return noRoom
	}
	after := before + want
	for after > s.allocated && !c.allocate(s, after) {
		victim := c.victim()
		if victim == nil {
			after = before
			break
		}
		c.preempt(p, victim, true)
		if victim == s {
			return evictedSelf
		}
	}
	if after == before && before < s.len {
		return noRoom
	}
	s.computed = after
	c.publish(s)
	s.stamp, s.used, s.prefixed = c.now.stamp, after-before, promptBefore
	s.prompted = min(after, s.prompt) - promptBefore
	c.now.budget -= s.used
	p.ScheduledTokens += s.used
	if s.prompted > 0 {
		p.PromptTokens += s.used
		if c.cfg.WorkerType != Decode {
			c.now.batch.count++
			c.now.batch.isl += promptBefore + s.prompted
			c.now.batch.prefix += promptBefore
		}
	}
	return scheduled
}

// allocate makes the blocks of s cover its first tokens, all or nothing. Only an empty lease takes blocks of the cache.
func (c *vllm) allocate(s *seq, tokens int) bool {
	var hits []kv.Block
	if s.allocated == 0 {
		hits = c.hits
	}
	fresh := c.blocksFor(tokens) - len(s.blocks) - len(hits)
	if fresh > 0 || len(hits) > 0 {
		if !c.pool.Reserve(hits, fresh) {
			return false
		}
		c.noteRemoved()
		if len(hits) > 0 {
			s.blocks = append(s.blocks, hits...)
			s.published = len(hits)
		}
		c.take(s, fresh)
	}
	s.allocated = tokens
	return true
}

// take turns n reserved blocks into blocks of s.
func (c *vllm) take(s *seq, n int) {
	for range n {
		s.blocks = append(s.blocks, c.pool.Take())
	}
	if s.running && c.trt {
		c.owed -= n
	}
}

// publish makes every block visible whose tokens all have KV, at once: the next request of the same pass can reuse them
// (spec §5.4).
func (c *vllm) publish(s *seq) {
	full := s.computed / c.cfg.BlockSize
	if full == s.published {
		return
	}
	if !c.cfg.EnablePrefixCaching {
		s.published = full
		return
	}
	for i := s.published; i < full; i++ {
		visible := c.publishBlock(s, i)
		if c.cfg.EmitKVEvents {
			c.noteStored(s, i, visible)
		}
	}
	c.events.open = false
	s.published = full
}

// publishBlock caches block i of s and says whether it thereby became visible.
func (c *vllm) publishBlock(s *seq, i int) bool {
	h := c.hash(s, i)
	if i < s.ownFrom || s.evicted {
		return c.pool.Publish(s.blocks[i], h)
	}
	c.pool.PublishOwn(s.blocks[i], h)
	return true
}

// victim returns the request to evict next, or nil.
func (c *vllm) victim() *seq {
	switch {
	case c.trt || len(c.running) == 0:
		return nil
	case c.cfg.PreemptionMode == "fifo":
		return c.running[0]
	}
	return c.running[len(c.running)-1]
}

// preempt evicts a running request to the front of the queue (spec §2.6). It keeps its tokens and identities. While the
// pass is being scheduled its share of the pass is given back; later, only its blocks are.
func (c *vllm) preempt(p *Pass, s *seq, scheduling bool) {
	i := 0
	if c.cfg.PreemptionMode != "fifo" {
		i = len(c.running) - 1
	}
	c.dropRunning(i)
	p.Preempted = append(p.Preempted, Preemption{Req: s.req, Blocks: len(s.blocks)})
	for b := min(s.ownFrom, s.published); b < s.published; b++ {
		c.pool.Reveal(s.blocks[b])
	}
	c.release(s)
	s.computed, s.preempted, s.evicted = 0, true, true
	c.preemptions++
	c.evictions++
	c.waiting.pushFront(s)
	c.now.preempted = true
	if !scheduling || s.stamp != c.now.stamp {
		return
	}
	s.stamp = 0
	c.now.budget += s.used
	p.ScheduledTokens -= s.used
	if s.prompted == 0 {
		return
	}
	p.PromptTokens -= s.used
	if c.cfg.WorkerType != Decode {
		c.now.batch.count--
		c.now.batch.isl -= s.prefixed + s.prompted
		c.now.batch.prefix -= s.prefixed
	}
}
