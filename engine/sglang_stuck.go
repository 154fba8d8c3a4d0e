package engine

// Where the reference hangs (spec engine-core §4.4, §4.6), this core first takes back pages from half-computed prompts,
// then ends the request that stands in the way. Everything here starts only when the reference's rules lead nowhere.

// barrenPasses is how many passes beyond one per request may retract without a single token coming out before admission
// stops until one does.
const barrenPasses = 64

// watch looks for requests that drive each other out for ever: admitted, retracted before anybody got a token, and again.
// When that goes on for too long, the running ones go first until one of them gets a token or proves unable to grow.
func (c *sglangCore) watch(p *Pass) {
	if len(p.Outputs) > 0 {
		c.barren, c.decodeOnly = 0, false
		return
	}
	if len(p.Preempted) > 0 {
		if c.barren++; c.barren > len(c.byID)+barrenPasses && len(c.running) > 0 {
			c.decodeOnly = true
		}
	}
}

// unblock is asked when nothing moves any more. If only a request that cannot grow is running, half-computed prompts give
// back their pages and stay out until it has got a token. If nothing is running, the oldest of these goes first and the
// others give back theirs. It reports whether the next pass can be different.
func (c *sglangCore) unblock(p *Pass) (effect, retry bool) {
	var first *sglSeq
	if len(c.running) == 0 {
		first = c.oldestHolder()
	}
	for i := range c.waiting.len() {
		if s := c.waiting.at(i); s.materialized > 0 && s != first {
			c.retract(p, s)
			effect = true
		}
	}
	switch {
	case len(c.running) > 0:
		c.decodeOnly = c.decodeOnly || effect
	case first != nil && c.waiting.at(0) != first:
		c.waiting.remove(first)
		c.waiting.pushFront(first)
		retry = true
		c.headFirst = true
	case effect:
		c.headFirst = true
	}
	return effect, retry
}

// oldestHolder returns the waiting request that owns pages and came first.
func (c *sglangCore) oldestHolder() (oldest *sglSeq) {
	for i := range c.waiting.len() {
		if s := c.waiting.at(i); s.materialized > 0 && (oldest == nil || s.owner < oldest.owner) {
			oldest = s
		}
	}
	return oldest
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
	c.barren, c.decodeOnly = 0, false
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
