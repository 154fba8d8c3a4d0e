package engine

import "fakellm/engine/kv"

// budgets are what one prefill batch may still take, in tokens; fractions come from the new-token ratio.
type budgets struct{ total, input, chunk float64 }

// formBatch admits waiting requests and continues chunked ones until the first that does not fit
// (spec engine-core §4.4). It fills c.batch and the prefill signature of p.
func (c *sglangCore) formBatch(p *Pass) {
	b := budgets{
		total: float64(c.room() * c.page),
		input: float64(c.cfg.SGLang.MaxPrefillTokens), chunk: float64(c.chunk),
	}
	if c.waiting.len() == 0 {
		return
	}
	var reserved float64
	for _, s := range c.running {
		reserved += float64(min(s.remaining(), c.cfg.SGLang.ClipMaxNewTokens)) * c.ratio
	}
	b.total -= reserved
	var isl, prefix int
	for slots := c.slots(); len(c.batch) < slots && c.waiting.len() > 0; {
		s := c.waiting.at(0)
		if !c.schedule(p, s, &b) {
			break
		}
		c.waiting.popFront()
		if c.tooLong(s) {
			c.overlong--
		}
		c.batch = append(c.batch, s)
		isl += s.end
		prefix += s.begin
		p.PromptTokens += s.end - s.begin
		if b.chunk <= 0 {
			break
		}
	}
	if n := len(c.batch); n > 0 {
		p.Prefill = PrefillBatch{Requests: n, MeanISL: isl / n, MeanPrefix: prefix / n}
		p.ScheduledTokens += p.PromptTokens
	}
}

// slots is how many requests may still join the running ones.
func (c *sglangCore) slots() int { return c.cfg.MaxNumSeqs - len(c.running) }

// fit is the part of a waiting request that the next pass would compute.
type fit struct {
	// begin and end bound it; charge is what it costs in whole pages, reserve the output to come that it must leave
	// room for.
	begin, end, charge, reserve int
	// short names the setting that forbids it, empty if nothing does.
	short string
}

// measure says what of a waiting request fits the budgets, without changing anything.
func (c *sglangCore) measure(s *sglSeq, b *budgets) fit {
	begin := s.materialized
	if begin == 0 && c.cfg.EnablePrefixCaching {
		match := s.length - 1
		if s.maxOutput == 0 {
			match = s.length
		}
		pages := c.matchable(max(0, match))
		c.identify(s, pages)
		begin = c.tree.Match(s.keys[:pages]) * c.page
	}
	extend := s.length - begin
	chunk := extend
	if float64(c.ceil(extend)) > b.chunk {
		chunk = min(extend, int(b.chunk)/c.page*c.page)
	}
	f := fit{begin: begin, end: begin + chunk, charge: c.ceil(chunk)}
	if chunk == extend {
		f.reserve = min(s.remaining(), c.cfg.SGLang.ClipMaxNewTokens)
	}
	switch {
	case chunk == 0 && (extend > 0 || s.materialized > 0), float64(f.charge) > b.chunk:
		f.short = "chunked_prefill_size"
	case float64(f.charge+f.reserve) >= b.total:
		f.short = "num_gpu_blocks"
	case float64(f.charge) > b.input:
		f.short = "max_prefill_tokens"
	}
	return f
}

// matchable is how many pages of so many tokens are worth comparing: the tree never holds more than the pool, and nobody
// should hash a prompt beyond all bounds only to learn that it does not fit.
func (c *sglangCore) matchable(tokens int) int {
	return min(tokens/c.page, max(c.pool.Total(), c.pages(sharedPrefix)))
}

// schedule puts the head of the queue into the batch if it fits: it locks the cached prefix of a new one, takes the pages
// of the chunk and charges the budgets.
func (c *sglangCore) schedule(p *Pass, s *sglSeq, b *budgets) bool {
	f := c.measure(s, b)
	if f.short != "" {
		return false
	}
	first := s.materialized == 0
	if first {
		if !c.lockPrefix(s, f) {
			return false
		}
	} else if need := c.pages(f.end) - s.allocated/c.page; need <= c.room() {
		c.take(max(0, need))
	} else {
		return false
	}
	s.begin, s.end = f.begin, f.end
	s.materialized, s.allocated = f.end, c.ceil(f.end)
	if first {
		c.admit(p, s, f.begin)
	}
	if c.cache != nil {
		c.identify(s, f.end/c.page)
		c.announce(s, f.end/c.page)
	}
	b.total -= float64(f.charge + f.reserve)
	b.input -= float64(f.charge)
	b.chunk -= float64(f.charge)
	return true
}

// lockPrefix locks the cached prefix of a request and takes the pages of its first chunk, or does neither.
func (c *sglangCore) lockPrefix(s *sglSeq, f fit) bool {
	s.node = kv.RadixRoot
	if c.cfg.EnablePrefixCaching {
		s.node, _ = c.tree.MatchLock(s.keys[:f.begin/c.page])
	}
	need := c.pages(f.end) - f.begin/c.page
	if need > c.room() {
		c.tree.Unlock(s.node)
		s.node = kv.RadixRoot
		return false
	}
	c.take(need)
	s.cached, s.announced = f.begin, f.begin/c.page
	return true
}

func (c *sglangCore) admit(p *Pass, s *sglSeq, reused int) {
	p.Admitted = append(p.Admitted, Admission{Req: s.req, Cached: reused, Again: s.admitted})
	if !s.admitted {
		s.reused, s.admitted = reused, true
	}
}

// checkBatch asks a model that judges prefill batches by their parts.
func (c *sglangCore) checkBatch() error {
	checker, ok := c.model.(PrefillChecker)
	if !ok {
		return nil
	}
	c.shapes = c.shapes[:0]
	for _, s := range c.batch {
		c.shapes = append(c.shapes, PrefillShape{New: s.end - s.begin, Prefix: s.begin})
	}
	return checker.CheckPrefill(c.shapes)
}

// timePrefill asks the model for the length of the batch.
func (c *sglangCore) timePrefill(p *Pass) error {
	if p.Prefill.Requests == 0 || c.cfg.WorkerType == Decode {
		return nil
	}
	if err := c.checkBatch(); err != nil {
		return err
	}
	if p.Prefill.New() == 0 {
		return nil
	}
	d, err := c.model.Prefill(p.Prefill)
	p.PrefillTime = d
	return err
}

// settleBatch puts the members of the batch where they belong after the forward: chunks in the middle of a prompt back to
// the front of the queue, the others into c.fresh.
func (c *sglangCore) settleBatch() {
	for _, s := range c.batch {
		if s.materialized >= s.length {
			c.fresh = append(c.fresh, s)
			continue
		}
		c.insertUnfinished(s)
		c.waiting.pushFront(s)
		if c.tooLong(s) {
			c.overlong++
		}
	}
}

// firstTokens emits what the prefill forward itself yields: one token per completed prompt, no time added
// (spec engine-core §4.5). Those that go on need a slot for it; if the pages for all of these cannot be had, none of them
// emits yet. Only then do the ended ones give back their pages.
func (c *sglangCore) firstTokens(p *Pass) {
	growth := 0
	for _, s := range c.fresh {
		if s.remaining() > 1 {
			growth += (c.ceil(s.length+1) - s.allocated) / c.page
		}
	}
	c.evict(growth - c.pool.Free())
	granted := c.pool.Take(growth)
	for _, s := range c.fresh {
		switch left := s.remaining(); {
		case left <= 0:
			p.Outputs = append(p.Outputs, Output{Req: s.req, Cached: s.reused, End: Completed})
		case left == 1:
			s.length++
			p.Outputs = append(p.Outputs, Output{Req: s.req, Tokens: 1, Cached: s.reused, End: Completed})
		case granted:
			s.length++
			s.materialized++
			s.allocated = c.ceil(s.materialized)
			c.insertUnfinished(s)
			p.Outputs = append(p.Outputs, Output{Req: s.req, Tokens: 1, Cached: s.reused})
			c.running = append(c.running, s)
		default:
			c.running = append(c.running, s)
		}
	}
	c.finishFresh(true)
	c.finishFresh(false)
}

// finishFresh ends the members of the batch that ended without a token, or those that ended with their only one.
func (c *sglangCore) finishFresh(silent bool) {
	for _, s := range c.fresh {
		if s.remaining() <= 0 && s.req != nil && silent == (s.maxOutput == 0) {
			c.finish(s)
			c.forget(s)
		}
	}
}
