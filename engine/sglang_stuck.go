package engine

// Where the reference hangs (spec engine-core §4.4, §4.6), this core first lets go of half-computed prompts, then ends
// the request that stands in the way.

// unblock is asked when nothing moves any more: chunked prompts that are not next in line, or that stand in the way of
// the only running request, give back their pages and start again. It reports whether there was one.
func (c *sglangCore) unblock(p *Pass) bool {
	from := 1
	if len(c.running) > 0 {
		from = 0
	}
	freed := false
	for i := from; i < c.waiting.len(); i++ {
		if s := c.waiting.at(i); s.materialized > 0 {
			c.retract(p, s)
			freed = true
		}
	}
	return freed
}

// stuck implements core.
func (c *sglangCore) stuck() (Output, bool) {
	var s *sglSeq
	var why *Refusal
	switch {
	case len(c.running) > 0:
		s = c.running[0]
		c.running = without(c.running, s)
		why = c.refuseBlocks(c.pool.Total() - c.room() + c.growth(s, c.burst()))
	case c.waiting.len() > 0:
		s = c.waiting.at(0)
		why = c.refuseHead(s)
		c.waiting.popFront()
		if c.tooLong(s) {
			c.overlong--
		}
	default:
		return Output{}, false
	}
	out := Output{Req: s.req, Cached: s.reused, End: Failed, Why: why}
	if s.output() == 0 {
		out.End = Rejected
	}
	c.release(s)
	c.forget(s)
	return out, true
}

func (c *sglangCore) refuseBlocks(need int) *Refusal {
	return &Refusal{Setting: "num_gpu_blocks", Need: need, Have: c.pool.Total(), Unit: "blocks"}
}

// refuseHead names the setting that keeps the head of the queue out of an otherwise empty batch.
func (c *sglangCore) refuseHead(s *sglSeq) *Refusal {
	b := budgets{
		total: float64(c.room() * c.page),
		input: float64(c.cfg.SGLang.MaxPrefillTokens), chunk: float64(c.chunk),
	}
	f := c.measure(s, &b)
	switch {
	case f.short == "chunked_prefill_size":
		return &Refusal{Setting: f.short, Need: c.page, Have: c.chunk, Unit: "tokens"}
	case f.short == "max_prefill_tokens":
		return &Refusal{Setting: f.short, Need: f.charge, Have: c.cfg.SGLang.MaxPrefillTokens, Unit: "tokens"}
	case c.slots() <= 0:
		return &Refusal{Setting: "max_num_seqs", Need: 1, Have: c.cfg.MaxNumSeqs, Unit: "requests"}
	}
	// The estimate must stay strictly below the room, so exactly filling the pool is one token too many.
	used := c.pool.Total() - c.room()
	return c.refuseBlocks(max(used+c.pages(f.charge+f.reserve+1), c.pages(f.end)))
}
