package engine

// observePrefill records the batch for the forward-pass metrics (spec engine-core §10.3); members that computed nothing
// are left out.
func (c *sglangCore) observePrefill() {
	if !c.cfg.EmitLoad {
		return
	}
	var prompts moments
	for _, s := range c.batch {
		if s.end == s.begin {
			continue
		}
		prompts.add(s.prompt)
		c.load.PrefillTokens += s.end - s.begin
		c.load.PrefillKVTokens += s.begin
	}
	c.load.PrefillRequests, c.load.PrefillVar = prompts.n, prompts.variance()
}

// observeDecode records who is about to decode, before any of them is retracted.
func (c *sglangCore) observeDecode() {
	if !c.cfg.EmitLoad {
		return
	}
	var lengths moments
	for _, s := range c.running {
		lengths.add(s.length)
	}
	c.load.DecodeRequests, c.load.DecodeKVTokens, c.load.DecodeVar = lengths.n, lengths.sum, lengths.variance()
}

// observeQueue records who waits after the pass and hands the record over. O(waiting), only when somebody listens.
func (c *sglangCore) observeQueue(p *Pass) {
	if !c.cfg.EmitLoad {
		return
	}
	var prompts, retracted moments
	for i := range c.waiting.len() {
		if s := c.waiting.at(i); s.output() > 0 {
			retracted.add(s.length)
		} else {
			prompts.add(s.prompt)
		}
	}
	l := &c.load
	l.QueuedPrefillRequests, l.QueuedPrefillTokens, l.QueuedPrefillVar = prompts.n, prompts.sum, prompts.variance()
	l.QueuedDecodeRequests, l.QueuedDecodeKVTokens = retracted.n, retracted.sum
	l.QueuedDecodeVar = retracted.variance()
	p.Load = l
}
