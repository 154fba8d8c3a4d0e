package engine

// emitBursts is emit under speculative decoding (spec §8): worst-case blocks for everybody first, then one decode for
// all, then a burst of accepted tokens for each, all at one instant.
func (c *vllm) emitBursts(p *Pass) error {
	if c.drain(p) {
		c.compact()
	}
	width := c.width()
	before := c.state()
	reserved, ok := c.reserveBursts(p, width)
	after := c.state()
	after.ActiveBlocks -= reserved
	p.After.shift(before, after) // its evictions belong to the start of the pass
	ready := c.now.ready
	if !ok || len(ready) == 0 {
		return nil
	}
	active := 0
	for _, s := range ready {
		active += s.len
	}
	var err error
	if p.Decode, p.DecodeTime, err = c.timeDecode(len(ready), active); err != nil {
		return err
	}
	c.now.lengths = c.now.lengths[:0]
	for _, s := range ready {
		n := 1
		if width > 1 {
			n = c.bursts.draw()
		}
		if s.stamp != c.now.stamp || s.prompted == 0 {
			p.accept(n)
		}
		c.now.lengths = append(c.now.lengths, min(n, s.stop-s.len))
	}
	ended := false
	for i, s := range ready {
		reserved -= c.grow(s, c.now.lengths[i])
		out := Output{Req: s.req, Tokens: c.now.lengths[i], Cached: s.cached}
		if s.complete() {
			out.End = Completed
			c.finish(s)
			ended = true
		}
		p.Outputs = append(p.Outputs, out)
	}
	c.pool.Unreserve(reserved)
	if ended {
		c.compact()
	}
	return nil
}

// width is the longest burst.
func (c *vllm) width() int {
	if c.cfg.WorkerType == Prefill {
		return 1
	}
	return c.cfg.NumSpeculativeTokens + 1
}

// reserveBursts collects the ready requests in c.now.ready and reserves the blocks their longest bursts need, evicting
// running requests until that is possible. It returns what it reserved, and false if nobody can get any.
func (c *vllm) reserveBursts(p *Pass, width int) (blocks int, ok bool) {
	for {
		blocks = 0
		c.now.ready = c.now.ready[:0]
		for _, s := range c.running {
			if s.computed == s.len {
				c.now.ready = append(c.now.ready, s)
				blocks += c.blocksFor(s.len+min(width, s.stop-s.len)) - c.blocksFor(s.len)
			}
		}
		if c.pool.Reserve(nil, blocks) {
			c.noteRemoved()
			return blocks, true
		}
		victim := c.victim()
		if victim == nil {
			return 0, false
		}
		c.preempt(p, victim, false)
	}
}

// grow appends n tokens, each of which takes its slot from the reservation and completes the one before it. It returns
// the number of blocks taken.
func (c *vllm) grow(s *seq, n int) (taken int) {
	for range n {
		s.computed = s.len
		c.publish(s)
		s.len++
		if more := c.blocksFor(s.len) - len(s.blocks); more > 0 {
			c.take(s, more)
			taken += more
		}
	}
	s.allocated = max(s.allocated, s.len)
	s.computed = s.len - 1
	return taken
}
