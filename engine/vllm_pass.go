package engine

import "time"

// pass implements core (spec §2.3).
func (c *vllm) pass(p *Pass, t turn) (verdict, error) {
	c.begin(p)
	deferred := t.deferPrefill && !c.capacityBound && c.decodes()
	c.scheduleRunning(p, deferred)
	c.scheduleWaiting(p, deferred)
	if !c.now.preempted && !deferred {
		c.capacityBound = c.waiting.n > 0
	}
	if err := c.timePrefill(p); err != nil {
		return verdict{}, err
	}
	p.After = c.state()
	if c.cfg.EmitLoad {
		c.loadScheduled()
	}
	prefilled := p.PromptTokens > 0
	emit := c.emit
	if c.bursts != nil {
		emit = c.emitBursts
	}
	if err := emit(p); err != nil {
		return verdict{}, err
	}
	if len(p.Outputs) > 0 {
		c.evictions = 0
	}
	p.Outputs = append(p.Outputs, c.now.rejects...)
	if c.cfg.EmitLoad {
		c.loadQueued()
		p.Load = &c.load
	}
	p.Events = c.events.list
	effect := p.ScheduledTokens > 0 || len(p.Admitted) > 0 || len(p.Preempted) > 0 || len(p.Outputs) > 0
	return verdict{effect: effect, prefilled: prefilled}, nil
}

// begin resets what belongs to one pass.
func (c *vllm) begin(p *Pass) {
	c.now.stamp++
	c.now.budget = c.cfg.MaxNumBatchedTokens
	c.now.batch = prefillSums{}
	c.now.preempted = false
	c.now.rejects = c.now.rejects[:0]
	c.events.reset(p.Events)
	c.noteRemoved() // by a reset of the cache between passes
}

// decodes says whether a running request has its whole prompt in the cache.
func (c *vllm) decodes() bool {
	for _, s := range c.running {
		if s.prebuilt() {
			return true
		}
	}
	return false
}

// scheduleRunning gives the budget to the running set, in order. The index is not corrected when a request before it is
// evicted, so the next one misses this pass: the reference does the same (spec §2.3 step 2).
func (c *vllm) scheduleRunning(p *Pass, deferred bool) {
	for i := 0; i < len(c.running) && c.now.budget > 0; {
		s := c.running[i]
		if deferred && s.computed < s.prompt {
			i++
			continue
		}
		switch c.schedule(p, s, 0) {
		case scheduled:
			i++
		case evictedSelf:
		case noRoom:
			return
		}
	}
}

// scheduleWaiting admits from the head of the queue until something does not fit (spec §2.3 step 3).
func (c *vllm) scheduleWaiting(p *Pass, deferred bool) {
	if c.circling() {
		c.giveUp(c.waiting.head)
	}
	for !c.now.preempted && len(c.running) < c.cfg.MaxNumSeqs && c.waiting.n > 0 {
		s := c.waiting.head
		decision, cached := c.decide(s)
		if decision == wait {
			return
		}
		if decision == reject {
			c.reject(s)
			continue
		}
		if deferred && s.len-cached > 1 && !s.prebuilt() {
			return
		}
		if c.schedule(p, s, cached) != scheduled {
			return
		}
		c.waiting.remove(s)
		p.Admitted = append(p.Admitted, Admission{Req: s.req, Cached: cached, Again: s.admitted})
		if !s.admitted {
			s.admitted, s.cached = true, cached
		}
		s.preempted = false
		c.enterRunning(s)
		if s.used == 0 && c.now.budget == 0 {
			return
		}
	}
}

// reject drops the head of the queue; its signal ends the pass.
func (c *vllm) reject(s *seq) {
	why := c.whyRejected(s)
	c.now.rejects = append(c.now.rejects, Output{Req: s.req, Cached: s.cached, End: Rejected, Why: &why})
	c.waiting.remove(s)
	c.retire(s)
}

// circling says that requests have been evicting each other, without a token for anybody, more often than any load that
// gets on could: with first-in victims two that do not fit together can do so for ever, where the reference never ends.
func (c *vllm) circling() bool {
	return c.evictions > 64+2*(len(c.running)+c.waiting.n) && c.waiting.n > 0
}

// giveUp ends a waiting request so that the others get on.
func (c *vllm) giveUp(s *seq) {
	why := c.whyNever(s)
	out := Output{Req: s.req, Cached: s.cached, End: Rejected, Why: &why}
	if s.len > s.prompt {
		out.End = Failed
	}
	c.evictions = 0
	c.now.rejects = append(c.now.rejects, out)
	c.waiting.remove(s)
	c.retire(s)
}

// timePrefill asks for the prefill half of the pass (spec §6.1). A decode worker never counts a batch.
func (c *vllm) timePrefill(p *Pass) error {
	b := c.now.batch
	if b.count == 0 {
		return nil
	}
	shape := PrefillBatch{Requests: b.count, MeanISL: b.isl / b.count, MeanPrefix: b.prefix / b.count}
	if shape.New() == 0 {
		return nil
	}
	p.Prefill = shape
	var err error
	p.PrefillTime, err = c.model.Prefill(shape)
	return err
}

// timeDecode asks for the decode half: n charged requests with active tokens between them, before this pass's own.
func (c *vllm) timeDecode(n, active int) (DecodeBatch, time.Duration, error) {
	if n == 0 || c.cfg.WorkerType == Prefill {
		return DecodeBatch{}, 0, nil
	}
	b := c.decodeBatch(n, active)
	d, err := c.model.Decode(b)
	return b, d, err
}

// decodeBatch is the shape of n requests, at least one, with active tokens between them.
func (c *vllm) decodeBatch(n, active int) DecodeBatch {
	total := c.cfg.NumGPUBlocks * c.cfg.BlockSize
	return DecodeBatch{Requests: n, ActiveKV: active, MeanContext: active / n, TotalKV: total}
}
