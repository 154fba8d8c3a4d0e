package engine

import "fakellm/engine/kv"

// decision is the verdict on the head of the queue.
type decision uint8

const (
	admit decision = iota
	wait
	reject
)

// decide says what happens to the head of the queue and how many of its tokens the cache spares (spec §2.4, §3). It
// leaves the blocks of the reuse in c.hits. It changes nothing else, so it may be asked at any time.
func (c *vllm) decide(s *seq) (decision, int) {
	c.hits = c.hits[:0]
	if c.whyRejected(s).Setting != "" {
		return reject, 0
	}
	if s.prebuilt() {
		return admit, s.prompt
	}
	if c.burstNeed(s) > c.cfg.NumGPUBlocks {
		return wait, 0 // for ever: the reference admits and evicts it without end
	}
	available := max(0, c.pool.Available()-c.owed)
	b := &c.blocked
	if b.head == s && b.version == c.pool.Version() && available <= b.available {
		return wait, 0
	}
	cached, active := c.probe(s)
	needed := c.blocksFor(s.len)
	if c.trt {
		needed = c.blocksFor(s.prompt + s.limit)
	}
	if needed-active/c.cfg.BlockSize > available {
		b.head, b.version, b.available = s, c.pool.Version(), available
		return wait, 0
	}
	return admit, cached
}

// burstNeed returns the blocks that the next burst of a preempted request must be able to reserve; 0 for others.
func (c *vllm) burstNeed(s *seq) int {
	if c.bursts == nil || !s.preempted {
		return 0
	}
	return c.blocksFor(s.len + max(0, min(c.width(), s.stop-s.len)))
}

// probe walks the resident prefix of s. It returns the tokens it may reuse and how many of those are in use now: only
// these are discounted from the need for blocks, since inactive ones are part of what is available.
func (c *vllm) probe(s *seq) (cached, active int) {
	size := c.cfg.BlockSize
	c.hits = c.hits[:0]
	if c.cfg.EnablePrefixCaching {
		for i := range s.len / size {
			b, ok := c.resident(s, i)
			if !ok {
				break
			}
			c.hits = append(c.hits, b)
			if c.pool.InUse(b) {
				active++
			}
		}
	}
	cached = len(c.hits) * size
	if !c.trt && s.limit > s.generated() {
		// The last token must be computed, and blocks are computed whole.
		cached = min(cached, (s.len-1)/size*size)
		if c.bursts != nil && cached >= size {
			cached -= size
		}
	}
	c.hits = c.hits[:cached/size]
	return cached, min(active*size, cached)
}

// resident returns the copy that block i of s can reuse.
func (c *vllm) resident(s *seq, i int) (kv.Block, bool) {
	h := c.hash(s, i)
	if i >= s.ownFrom && !s.evicted {
		return 0, false
	}
	return c.pool.Lookup(h)
}

// whyRejected returns the refusal of a request that can never be admitted, or the zero Refusal.
func (c *vllm) whyRejected(s *seq) Refusal {
	limit, pool := c.cfg.MaxModelLen, c.cfg.NumGPUBlocks
	switch {
	case s.prompt == 0:
		return Refusal{Setting: "prompt", Need: 1, Have: 0, Unit: "tokens"}
	case limit > 0 && s.prompt >= limit:
		return Refusal{Setting: "max_model_len", Need: s.prompt + 1, Have: limit, Unit: "tokens"}
	case s.preempted || s.prebuilt():
		return Refusal{}
	}
	need := c.blocksFor(s.len)
	if c.trt {
		need = c.blocksFor(s.prompt + s.limit)
	}
	if need > pool {
		return Refusal{Setting: "num_gpu_blocks", Need: need, Have: pool, Unit: "blocks"}
	}
	return Refusal{}
}
