package engine

// pass implements core: one scheduler iteration in the order of spec engine-core §4.2.
func (c *sglangCore) pass(p *Pass, t turn) (verdict, error) {
	c.batch, c.fresh, c.ended = c.batch[:0], c.fresh[:0], c.ended[:0]
	c.retracted, c.rejected, c.load = c.retracted[:0], c.rejected[:0], Load{}
	if c.cache != nil {
		c.cache.reuse()
	}
	c.rejectOverlong()
	if !c.headFirst {
		c.applyPolicy()
	}
	c.headFirst = false
	if !t.deferPrefill && !c.decodeOnly {
		c.formBatch(p)
	}
	if err := c.timePrefill(p); err != nil {
		return verdict{}, err
	}
	before := c.ratio
	c.decoded = false
	if len(c.batch) > 0 {
		c.observePrefill()
		c.settleBatch()
		p.After = c.state()
		p.After.Running += len(c.fresh)
		c.firstTokens(p)
	} else {
		c.decoded = len(c.running) > 0
		if err := c.decodeStep(p); err != nil {
			return verdict{}, err
		}
		if len(c.retracted) == 0 && (c.decoded || !t.deferPrefill) {
			c.ratio = max(c.ratio-c.ratioDecay, c.ratioMin)
		}
	}
	for _, s := range c.retracted {
		c.waiting.pushBack(s)
	}
	c.reportRejected(p)
	v := verdict{
		effect:    p.ScheduledTokens > 0 || len(p.Admitted)+len(p.Preempted)+len(p.Outputs) > 0,
		prefilled: p.PromptTokens > 0,
	}
	v.retry = c.mayRepeat(p, v.effect) && c.ratio != before
	if !v.effect && !v.retry && !t.deferPrefill {
		v.effect, v.retry = c.unblock(p)
	}
	c.watch(p)
	if c.cache != nil && v.effect { // nobody hears of a pass without effect
		p.Events = c.cache.take(p.Events)
	}
	c.observeQueue(p)
	return v, nil
}

// mayRepeat counts the passes without effect at one instant; the reference gives up after so many repeats.
func (c *sglangCore) mayRepeat(p *Pass, effect bool) bool {
	if effect || p.Start != c.repeatAt {
		c.repeats = 0
	}
	if !effect {
		c.repeatAt = p.Start
		c.repeats++
	}
	return c.repeats <= maxRetries
}

// settle implements core: a rank whose round was idle only because of the cadence starts anew with its estimate
// (spec engine-core §7.4).
func (c *sglangCore) settle(worked, deferred bool) {
	if deferred && !worked && !c.decoded {
		c.ratio = c.ratioInit
	}
}

// rejectOverlong takes every prompt that max_model_len leaves no room for out of the queue.
func (c *sglangCore) rejectOverlong() {
	if c.overlong == 0 {
		return
	}
	c.overlong = 0
	c.waiting.keep(func(s *sglSeq) bool {
		if c.tooLong(s) {
			c.rejected = append(c.rejected, s)
			return false
		}
		return true
	})
}

func (c *sglangCore) reportRejected(p *Pass) {
	for _, s := range c.rejected {
		p.Outputs = append(p.Outputs, Output{
			Req: s.req, End: Rejected,
			Why: &Refusal{Setting: "max_model_len", Need: s.prompt + 1, Have: c.cfg.MaxModelLen, Unit: "tokens"},
		})
		c.release(s)
		c.forget(s)
	}
}
