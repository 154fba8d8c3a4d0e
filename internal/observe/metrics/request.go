package metrics

import (
	"time"

	"fakellm/engine"
)

// timeline is what the sets remember of a request while it lives.
type timeline struct {
	arrival, admitted, first, last engine.Time
	cached, tokens, retracted      int
	seenFirst                      bool
}

// book follows the requests of a machine from admission to end. One entry per live request: O(1) per effect.
type book struct {
	live map[*engine.Request]*timeline
	free []*timeline
}

func newBook() book { return book{live: map[*engine.Request]*timeline{}} }

// admit notes an admission and reports whether it is the request's first.
func (b *book) admit(a engine.Admission, at engine.Time) (*timeline, bool) {
	if t, ok := b.live[a.Req]; ok {
		return t, false
	}
	t := &timeline{}
	if n := len(b.free); n > 0 {
		t, b.free = b.free[n-1], b.free[:n-1]
	}
	*t = timeline{arrival: a.Req.Arrival, admitted: at, cached: a.Cached}
	b.live[a.Req] = t
	return t, true
}

// forget drops a request that ended.
func (b *book) forget(r *engine.Request) {
	if t, ok := b.live[r]; ok {
		delete(b.live, r)
		b.free = append(b.free, t)
	}
}

// gap notes tokens that became visible at once and returns the time since the token before: the TTFT for the first.
func (t *timeline) gap(at engine.Time, tokens int) (d time.Duration, first bool) {
	from, first := t.last, !t.seenFirst
	if first {
		from, t.first, t.seenFirst = t.arrival, at, true
	}
	t.last = at
	t.tokens += tokens
	return at.Sub(from), first
}

// set is one engine's family of metrics: what [sink] calls while it follows the requests. e numbers the scheduler.
type set interface {
	// admitted: a first admission.
	admitted(e int, a engine.Admission, t *timeline)
	// preempted: a request lost its blocks; t is what is known of it, and counts this time already.
	preempted(e int, r *engine.Request, t *timeline)
	// prefilled: the prompt is done, with its first token or, for an answer of none, at its end.
	prefilled(e int, r *engine.Request, t *timeline)
	// stepped: tokens became visible, gap after the ones before (after the arrival, for the first).
	stepped(e, tokens int, gap time.Duration, first bool)
	// ended: t is nil when the request was never admitted.
	ended(e int, o *engine.Output, t *timeline)
	// began and done: the state of a rank after scheduling and after a pass.
	began(e int, p *engine.Pass)
	done(e int, p *engine.Pass)
}

// sink turns effects into the calls of a set. It implements engine.Sink.
type sink struct {
	set
	ranks int
	book  book
}

func newSink(s set, ranks int) *sink { return &sink{set: s, ranks: ranks, book: newBook()} }

// Began reports admissions and the state at the start of a pass.
func (s *sink) Began(p *engine.Pass) {
	e := p.Worker*s.ranks + p.Rank
	for _, a := range p.Admitted {
		if t, first := s.book.admit(a, p.Start); first {
			s.admitted(e, a, t)
		}
	}
	for i := range p.Preempted {
		if t, ok := s.book.live[p.Preempted[i].Req]; ok {
			t.retracted++
			s.preempted(e, p.Preempted[i].Req, t)
		}
	}
	s.began(e, p)
}

// Ended reports tokens and ends and the state at the end of a pass.
func (s *sink) Ended(p *engine.Pass) {
	e := p.Worker*s.ranks + p.Rank
	for k := range p.Outputs {
		s.output(e, &p.Outputs[k], p.End)
	}
	s.done(e, p)
}

// Left reports a request that ended between passes.
func (s *sink) Left(d engine.Departure) { s.output(d.Worker*s.ranks+d.Rank, &d.Output, d.At) }

func (s *sink) output(e int, o *engine.Output, at engine.Time) {
	t := s.book.live[o.Req]
	if o.Tokens > 0 && t != nil {
		gap, first := t.gap(at, o.Tokens)
		if first {
			s.prefilled(e, o.Req, t)
		}
		s.stepped(e, o.Tokens, gap, first)
	}
	if o.End == engine.Running {
		return
	}
	if t != nil && o.End == engine.Completed && !t.seenFirst {
		t.first, t.last = at, at
		s.prefilled(e, o.Req, t)
	}
	s.ended(e, o, t)
	s.book.forget(o.Req)
}

// finished returns the label under which engines count an end.
func finished(o *engine.Output) string {
	switch o.End {
	case engine.Completed: // to an engine a tool call, too, is text that stopped
		if o.Req.FinishReason == "length" {
			return "length"
		}
		return "stop"
	case engine.Cancelled:
		return "abort"
	case engine.Rejected, engine.Failed, engine.Running:
	}
	return "error"
}
