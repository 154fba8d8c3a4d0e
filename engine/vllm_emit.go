package engine

// emit gives one token to every request whose known tokens all have KV and finishes those that are complete (spec
// §2.7).
func (c *vllm) emit(p *Pass) error {
	charged, active, ended := 0, 0, c.drain(p)
	for _, s := range c.running {
		if s.computed != s.len {
			continue
		}
		fresh := s.stamp == c.now.stamp && s.prompted > 0
		if !fresh {
			p.Forwards++
		}
		if fresh && s.len == s.prompt && c.cfg.WorkerType == Aggregated {
			continue // its first token comes out of the prefill
		}
		charged++
		active += s.len
	}
	p.Accepted = p.Forwards
	var err error
	if p.Decode, p.DecodeTime, err = c.timeDecode(charged, active); err != nil {
		return err
	}
	for _, s := range c.running {
		if s.computed != s.len {
			continue
		}
		s.len++
		out := Output{Req: s.req, Tokens: 1, Cached: s.cached}
		if s.complete() {
			out.End = Completed
			c.finish(s)
			ended = true
		}
		p.Outputs = append(p.Outputs, out)
	}
	if ended {
		c.compact()
	}
	return nil
}

// drain finishes, without a token, the requests that have nothing to generate. It says whether there were any.
func (c *vllm) drain(p *Pass) (ended bool) {
	for _, s := range c.running {
		if s.computed == s.len && s.complete() {
			p.Outputs = append(p.Outputs, Output{Req: s.req, Cached: s.cached, End: Completed})
			c.finish(s)
			ended = true
		}
	}
	return ended
}

// finish releases a complete request; compact must follow.
func (c *vllm) finish(s *seq) {
	c.owed -= c.owes(s)
	c.release(s)
	delete(c.byID, s.req.ID)
	s.running = false
	s.computed = -1 // not ready any more
}

// compact drops the finished requests from the running set, in order.
func (c *vllm) compact() {
	kept := c.running[:0]
	for _, s := range c.running {
		if s.running {
			kept = append(kept, s)
		} else {
			c.recycle(s)
		}
	}
	clear(c.running[len(kept):])
	c.running = kept
}
