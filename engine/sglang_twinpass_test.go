package engine

import "slices"

// pass follows spec engine-core §4.2.
func (c *twinCore) pass(p *Pass, t turn) (verdict, error) {
	var rejected []*twinSeq
	if limit := c.cfg.MaxModelLen; limit > 0 {
		over := func(s *twinSeq) bool { return s.prompt >= limit }
		for _, s := range c.waiting {
			if over(s) {
				rejected = append(rejected, s)
			}
		}
		c.waiting = slices.DeleteFunc(c.waiting, over)
	}
	if !c.headFirst {
		c.policy()
	}
	c.headFirst = false
	var batch []*twinSeq
	if !t.deferPrefill && !c.decodeOnly {
		batch = c.form(p)
	}
	if b := p.Prefill; b.Requests > 0 && b.New() > 0 && c.cfg.WorkerType != Decode {
		p.PrefillTime, _ = c.model.Prefill(b)
	}
	before := c.ratio
	var retracted []*twinSeq
	c.decoded = false
	if len(batch) > 0 {
		c.first(p, batch)
	} else {
		c.decoded = len(c.running) > 0
		retracted = c.decode(p)
		if len(retracted) == 0 && (c.decoded || !t.deferPrefill) {
			init := 0.7 * c.cfg.SGLang.ScheduleConservativeness
			c.ratio = max(c.ratio-(init-0.14*init)/600, 0.14*init)
		}
	}
	c.waiting = append(c.waiting, retracted...)
	for _, s := range rejected {
		p.Outputs = append(p.Outputs, Output{Req: s.req, End: Rejected})
		c.release(s)
	}
	v := verdict{retry: c.ratio != before, prefilled: p.PromptTokens > 0}
	v.effect = p.ScheduledTokens > 0 || len(p.Admitted)+len(p.Preempted)+len(p.Outputs) > 0
	if c.repeats++; v.effect {
		c.repeats = 0
	} else if p.Start != c.at {
		c.at, c.repeats = p.Start, 1
	}
	v.retry = v.retry && c.repeats <= maxRetries
	if !v.effect && !v.retry && !t.deferPrefill {
		v.effect, v.retry = c.unblock(p)
	}
	if len(p.Outputs) > 0 {
		c.barren, c.decodeOnly = 0, false
	} else if len(p.Preempted) > 0 {
		c.barren++
		c.decodeOnly = c.decodeOnly || len(c.running) > 0 && c.barren > len(c.waiting)+len(c.running)+barrenPasses
	}
	if v.effect {
		p.Events = append(p.Events, c.events...)
		c.events = nil
	}
	return v, nil
}

// form is §4.4.
func (c *twinCore) form(p *Pass) (batch []*twinSeq) {
	clip := c.cfg.SGLang.ClipMaxNewTokens
	total := float64(c.available() + c.evictable())
	var reserved float64
	for _, s := range c.running {
		reserved += float64(min(s.remaining(), clip)) * c.ratio
	}
	total -= reserved
	input, left := float64(c.cfg.SGLang.MaxPrefillTokens), float64(c.cfg.SGLang.ChunkedPrefillSize)
	isl, prefix := 0, 0
	for len(batch) < c.cfg.MaxNumSeqs-len(c.running) && len(c.waiting) > 0 {
		s := c.waiting[0]
		cached := 0
		if s.materialized == 0 && c.cfg.EnablePrefixCaching {
			upTo := s.len - 1
			if s.max == 0 {
				upTo = s.len
			}
			cached = c.tree.match(c.keys(s, max(0, upTo)/c.page)) * c.page
		}
		start := max(s.materialized, cached)
		extend := s.len - start
		if extend == 0 && s.materialized > 0 {
			break
		}
		chunk := extend
		if float64(c.ceil(extend)) > left {
			if chunk = min(extend, int(left)/c.page*c.page); chunk == 0 {
				break
			}
		}
		charge, reserve := c.ceil(chunk), 0
		if chunk == extend {
			reserve = min(s.remaining(), clip)
		}
		if float64(charge+reserve) >= total || float64(charge) > input || float64(charge) > left {
			break
		}
		end := start + chunk
		first := s.materialized == 0
		if first && c.cfg.EnablePrefixCaching {
			s.node, _ = c.tree.matchLock(c.keys(s, start/c.page))
		}
		need := c.ceil(end)/c.page - max(len(s.pages), start/c.page)
		if need > c.pool.free()+c.tree.evictable() {
			if first {
				c.tree.lock(s.node, -1)
				s.node = c.tree.root
			}
			break
		}
		if first {
			s.pages, s.cached = c.path(s.node), start
		}
		c.evict(need - c.pool.free())
		s.pages = append(s.pages, c.pool.take(need)...)
		s.materialized, s.begin, s.end = end, start, end
		if first {
			p.Admitted = append(p.Admitted, Admission{Req: s.req, Cached: start, Again: s.admitted})
			if !s.admitted {
				s.reused, s.admitted = start, true
			}
		}
		c.announce(s, end/c.page)
		isl, prefix = isl+end, prefix+start
		total -= float64(charge + reserve)
		input -= float64(charge)
		left -= float64(charge)
		p.PromptTokens += chunk
		p.ScheduledTokens += chunk
		c.waiting = c.waiting[1:]
		batch = append(batch, s)
		if left <= 0 {
			break
		}
	}
	if n := len(batch); n > 0 {
		p.Prefill = PrefillBatch{Requests: n, MeanISL: isl / n, MeanPrefix: prefix / n}
	}
	return batch
}

// first is §4.2.6 and §4.5.
func (c *twinCore) first(p *Pass, batch []*twinSeq) {
	var fresh []*twinSeq
	for _, s := range batch {
		if s.materialized < s.len {
			c.insertUnfinished(s)
			c.waiting = append([]*twinSeq{s}, c.waiting...)
		} else {
			fresh = append(fresh, s)
		}
	}
	growth := 0
	for _, s := range fresh {
		if s.remaining() > 1 {
			growth += c.ceil(s.len+1)/c.page - len(s.pages)
		}
	}
	c.evict(growth - c.pool.free())
	granted := growth <= c.pool.free()
	var silent, single []*twinSeq
	for _, s := range fresh {
		out := Output{Req: s.req, Tokens: 1, Cached: s.reused}
		switch {
		case s.remaining() == 0:
			out.Tokens, out.End = 0, Completed
			silent = append(silent, s)
		case s.remaining() == 1:
			s.len++
			out.End = Completed
			single = append(single, s)
		case granted:
			s.len++
			s.materialized++
			s.pages = append(s.pages, c.pool.take(c.ceil(s.len)/c.page-len(s.pages))...)
			c.insertUnfinished(s)
			c.running = append(c.running, s)
		default:
			c.running = append(c.running, s)
			continue
		}
		p.Outputs = append(p.Outputs, out)
	}
	for _, s := range append(silent, single...) {
		c.finish(s)
	}
}

// decode is §4.6. It returns the retracted requests.
func (c *twinCore) decode(p *Pass) (retracted []*twinSeq) {
	burst := 1
	if c.bursts != nil && c.cfg.WorkerType != Prefill {
		burst = c.cfg.NumSpeculativeTokens + 1
	}
	growth := func() (pages int) {
		for _, s := range c.running {
			pages += c.ceil(s.len+min(burst, s.remaining()))/c.page - len(s.pages)
		}
		return pages
	}
	for len(c.running) > 1 && c.pool.free()+c.tree.evictable() < growth() {
		least := 0
		for i, s := range c.running {
			if s.output() < c.running[least].output() {
				least = i
			}
		}
		s := c.running[least]
		c.running = slices.Delete(c.running, least, least+1)
		c.retract(p, s)
		retracted = append(retracted, s)
	}
	n, active, output, limit := len(c.running), 0, 0, 0
	for _, s := range c.running {
		active, output, limit = active+s.len, output+s.output(), limit+s.max
	}
	if len(retracted) > 0 {
		c.ratio = min(1, float64(output+20*n)/float64(limit+1))
	}
	need := growth()
	c.evict(need - c.pool.free())
	if n == 0 || need > c.pool.free() {
		return retracted
	}
	p.Decode = DecodeBatch{Requests: n, ActiveKV: active, MeanContext: active / n, TotalKV: c.pool.total * c.page}
	p.DecodeTime, _ = c.model.Decode(p.Decode)
	p.ScheduledTokens += n
	c.speak(p, burst, c.pool.take(need))
	return retracted
}

// speak hands out the tokens, with the pages reserved for them.
func (c *twinCore) speak(p *Pass, burst int, reserved []int) {
	var ended, kept []*twinSeq
	for _, s := range c.running {
		accepted := 1
		if burst > 1 {
			accepted = c.bursts.draw()
		}
		p.Accepted += accepted
		p.Forwards++
		tokens := min(accepted, s.remaining())
		out := Output{Req: s.req, Tokens: tokens, Cached: s.reused}
		for range tokens {
			s.len++
			s.materialized++
			if c.ceil(s.len)/c.page > len(s.pages) {
				s.pages = append(s.pages, reserved[0])
				reserved = reserved[1:]
			}
			if s.remaining() > 0 {
				c.insertUnfinished(s)
			}
		}
		if s.remaining() == 0 {
			out.End = Completed
			ended = append(ended, s)
		} else {
			kept = append(kept, s)
		}
		p.Outputs = append(p.Outputs, out)
	}
	c.running = kept
	c.free(reserved)
	for _, s := range ended {
		c.finish(s)
	}
}

func (c *twinCore) retract(p *Pass, s *twinSeq) {
	p.Preempted = append(p.Preempted, Preemption{Req: s.req, Blocks: len(s.pages)})
	c.retractions++
	c.release(s)
}

// unblock takes back pages when nothing moves any more.
func (c *twinCore) unblock(p *Pass) (effect, retry bool) {
	first := -1
	for i, s := range c.waiting {
		if len(c.running) == 0 && s.materialized > 0 && (first < 0 || s.owner < c.waiting[first].owner) {
			first = i
		}
	}
	for i, s := range c.waiting {
		if i != first && s.materialized > 0 {
			c.retract(p, s)
			effect = true
		}
	}
	if len(c.running) > 0 {
		c.decodeOnly = c.decodeOnly || effect
		return effect, false
	}
	if first > 0 {
		s := c.waiting[first]
		c.waiting = slices.Insert(slices.Delete(c.waiting, first, first+1), 0, s)
		retry = true
	}
	c.headFirst = effect || retry
	return effect, retry
}

// stuck ends the lone running request, else the head of the queue.
func (c *twinCore) stuck() (Output, bool) {
	list := &c.running
	if len(c.running) == 0 {
		list = &c.waiting
	}
	if len(*list) == 0 {
		return Output{}, false
	}
	s := (*list)[0]
	*list = (*list)[1:]
	c.barren, c.decodeOnly = 0, false
	out := Output{Req: s.req, Cached: s.reused, End: Failed}
	if s.output() == 0 {
		out.End = Rejected
	}
	c.release(s)
	return out, true
}
