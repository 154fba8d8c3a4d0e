package engine

// moments sums a set for its population variance, exactly, in integers.
type moments struct{ n, sum, squares int }

func (m *moments) add(x int) {
	m.n++
	m.sum += x
	m.squares += x * x
}

// variance is that of the population; 0 for an empty set.
func (m *moments) variance() float64 {
	if m.n == 0 {
		return 0
	}
	mean := float64(m.sum) / float64(m.n)
	return max(0, float64(m.squares)/float64(m.n)-mean*mean)
}

// loadScheduled fills the scheduled half of the forward-pass metrics, before anything is emitted (spec §10.3).
func (c *vllm) loadScheduled() {
	c.load = Load{}
	l := &c.load
	var prefill, decode moments
	for _, s := range c.running {
		switch {
		case s.stamp != c.now.stamp:
		case s.prompted > 0:
			prefill.add(s.prompt)
			l.PrefillTokens += s.used
			l.PrefillKVTokens += s.prefixed
		case s.computed == s.len && s.complete():
		default:
			decode.add(s.len)
		}
	}
	l.PrefillRequests, l.PrefillVar = prefill.n, prefill.variance()
	l.DecodeRequests, l.DecodeKVTokens, l.DecodeVar = decode.n, decode.sum, decode.variance()
}

// loadQueued fills the queued half, at the end of the pass.
func (c *vllm) loadQueued() {
	l := &c.load
	var prefill, decode moments
	for s := c.waiting.head; s != nil; s = s.next {
		if s.preempted {
			decode.add(s.len)
		} else {
			prefill.add(s.prompt)
		}
	}
	l.QueuedPrefillRequests, l.QueuedPrefillTokens = prefill.n, prefill.sum
	l.QueuedPrefillVar = prefill.variance()
	l.QueuedDecodeRequests, l.QueuedDecodeKVTokens, l.QueuedDecodeVar = decode.n, decode.sum, decode.variance()
}
