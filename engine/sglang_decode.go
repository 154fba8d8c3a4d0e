package engine

// decodeStep gives every running request its next token, or a burst of them (spec engine-core §4.6).
func (c *sglangCore) decodeStep(p *Pass) error {
	c.drainComplete(p)
	c.observeDecode()
	growth := c.makeRoom(p)
	p.After = c.state()
	p.After.Waiting += len(c.retracted)
	n := len(c.running)
	if n == 0 {
		return nil
	}
	c.evict(growth - c.pool.Free())
	if growth > c.pool.Free() {
		return nil // a lone request that cannot grow: no tokens, no time
	}
	active := 0
	for _, s := range c.running {
		active += s.length
	}
	p.Decode = DecodeBatch{Requests: n, ActiveKV: active, MeanContext: active / n, TotalKV: c.pool.Total() * c.page}
	d, err := c.model.Decode(p.Decode)
	if err != nil {
		return err
	}
	p.DecodeTime = d
	p.ScheduledTokens += n
	c.emit(p, growth)
	return nil
}

// drainComplete ends the running requests that have nothing left to generate, without a token.
func (c *sglangCore) drainComplete(p *Pass) {
	kept := c.running[:0]
	for _, s := range c.running {
		if s.remaining() > 0 {
			kept = append(kept, s)
			continue
		}
		p.Outputs = append(p.Outputs, Output{Req: s.req, Cached: s.reused, End: Completed})
		c.finish(s)
		c.forget(s)
	}
	clear(c.running[len(kept):])
	c.running = kept
}

// burst is the largest number of tokens a request can get from one pass.
func (c *sglangCore) burst() int {
	if c.bursts == nil || c.cfg.WorkerType == Prefill {
		return 1
	}
	return c.cfg.NumSpeculativeTokens + 1
}

// makeRoom returns the pages that the running requests need for their next tokens. While even eviction could not supply
// them and more than one runs, it retracts the one with the least output, the earliest among equals; then it estimates
// the ratio anew from those that are left.
func (c *sglangCore) makeRoom(p *Pass) int {
	burst, growth := c.burst(), 0
	for _, s := range c.running {
		growth += c.growth(s, burst)
	}
	if growth <= c.room() || len(c.running) < 2 {
		return growth
	}
	for growth > c.room() && len(c.running) > 1 {
		victim := c.running[0]
		for _, s := range c.running {
			if s.output() < victim.output() {
				victim = s
			}
		}
		growth -= c.growth(victim, burst)
		c.running = without(c.running, victim)
		c.retract(p, victim)
		c.retracted = append(c.retracted, victim)
	}
	c.estimate()
	return growth
}

func (c *sglangCore) growth(s *sglSeq, burst int) int {
	return (c.ceil(s.length+min(burst, s.remaining())) - s.allocated) / c.page
}

// retract takes everything from a request but its output and the identity of its pages.
func (c *sglangCore) retract(p *Pass, s *sglSeq) {
	p.Preempted = append(p.Preempted, Preemption{Req: s.req, Blocks: s.allocated / c.page})
	c.preemptions++
	c.release(s)
}

// estimate sets the ratio after a retraction: the share of the output of the running requests that is there after
// another look-ahead each.
func (c *sglangCore) estimate() {
	var done, total int
	for _, s := range c.running {
		done += s.output()
		total += s.maxOutput
	}
	c.ratio = min(1, float64(done+retractLookAhead*len(c.running))/float64(total+1))
}

// emit hands out the tokens of a decode step for which growth pages are free. Those who end do so after all have emitted.
func (c *sglangCore) emit(p *Pass, growth int) {
	if !c.pool.Take(growth) {
		panic("engine: sglang core took pages it had not checked for")
	}
	spare := growth
	kept := c.running[:0]
	for _, s := range c.running {
		accepted := 1
		if c.burst() > 1 {
			accepted = c.bursts.draw()
		}
		tokens := min(accepted, s.remaining())
		p.accept(accepted)
		for range tokens {
			spare -= c.grow(s)
		}
		out := Output{Req: s.req, Tokens: tokens, Cached: s.reused}
		if s.remaining() == 0 {
			out.End = Completed
			c.ended = append(c.ended, s)
		} else {
			kept = append(kept, s)
		}
		p.Outputs = append(p.Outputs, out)
	}
	clear(c.running[len(kept):])
	c.running = kept
	c.pool.Give(spare)
	for _, s := range c.ended {
		c.finish(s)
		c.forget(s)
	}
}

// grow appends one token and returns the pages it took. Complete pages that are not in the tree yet enter it, unless the
// request ends with this token.
func (c *sglangCore) grow(s *sglSeq) int {
	took := 0
	s.length++
	s.materialized++
	if s.materialized > s.allocated {
		s.allocated += c.page
		took = 1
	}
	if s.length-s.cached >= c.page && s.remaining() > 0 {
		c.insertUnfinished(s)
	}
	return took
}
