package metrics

import (
	"time"

	"fakellm/engine"
)

// timeline is what the sets remember of a request while it lives.
type timeline struct {
	arrival, admitted, first, last engine.Time
	cached, tokens                 int
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

// finished returns the label under which engines count an end.
func finished(o *engine.Output) string {
	switch o.End {
	case engine.Completed:
		return o.Req.FinishReason
	case engine.Cancelled:
		return "abort"
	case engine.Rejected, engine.Failed, engine.Running:
	}
	return "error"
}
