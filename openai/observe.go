package openai

import (
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"fakellm/openai/fault"
	"fakellm/openai/journal"
)

// departure is what has left of a stream, and when. Its zero value is nothing.
type departure struct {
	events, bytes int64
	first, last   time.Time
	// tokens of the first choice that were in it, whole.
	tokens tokenTimes
}

// mark says how many tokens of the first choice had been said in the first so many events.
type mark struct {
	events int64
	tokens int
}

// mark notes what is about to be written, if a fault may keep it back. mu is held.
func (s *stream) mark() {
	if _, ok := s.w.(*brokenWriter); !ok {
		return
	}
	s.marks = append(s.marks, mark{s.events, s.tokensSaid()})
}

// written is a row of marks; lead events at its start hold no token: the role of a chat answer.
type written struct {
	marks []mark
	lead  int64
}

// tokensIn is how many tokens of the first choice were in the first so many events; between two marks every event is
// taken for one. O(writes).
func (w written) tokensIn(events int64) int {
	last := mark{events: w.lead}
	for _, m := range w.marks {
		switch {
		case m.events == events:
			return m.tokens
		case m.events > events:
			return min(last.tokens+int(max(events-last.events, 0)), m.tokens)
		}
		last = m
	}
	return last.tokens
}

// eventOf is the number, from 1, of the event that held token number n of the first choice, from 1; 0 if none did.
// O(writes).
func (w written) eventOf(n int) int64 {
	last := mark{events: w.lead}
	for _, m := range w.marks {
		if m.tokens >= n {
			return min(last.events+int64(n-last.tokens), m.events)
		}
		last = m
	}
	return 0
}

// tokenTimes are when the first and the latest of n tokens of the first choice had left.
type tokenTimes struct {
	n           int
	first, last time.Time
}

// gap is the mean time between the tokens.
func (t *tokenTimes) gap() time.Duration {
	if t.n < 2 {
		return 0
	}
	return t.last.Sub(t.first) / time.Duration(t.n-1)
}

// tokensSaid is how many tokens of the first choice have been rendered. mu is held.
func (s *stream) tokensSaid() int {
	r := &s.runs[0]
	if r.finished {
		return r.last.Tokens
	}
	return min(max(r.said-r.plan.Free, 0), r.last.Tokens)
}

// told notes that what has been rendered left at the last write. mu is held.
func (s *stream) told() {
	n := s.tokensSaid()
	if n == s.left.n {
		return
	}
	if s.left.n == 0 {
		s.left.first = s.lastWrite
	}
	s.left.n, s.left.last = n, s.lastWrite
}

// departed is what has left of a stream that has ended. Behind a fault only its writer knows: what the stream has
// written may leave later, in part, or never.
func (s *stream) departed() departure {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.w.(*brokenWriter)
	if !ok {
		return departure{s.events, s.bytes, s.firstWrite, s.lastWrite, s.left}
	}
	l := w.Left()
	wrote := written{marks: s.marks}
	if s.frame.chat {
		wrote.lead = 1
	}
	t := tokenTimes{n: wrote.tokensIn(w.ours(&l))}
	if t.n > 0 {
		t.first, t.last = l.When(wrote.eventOf(1)), l.When(wrote.eventOf(t.n))
	}
	return departure{l.Events, l.Bytes, l.First, l.Last, t}
}

// ours is how many of the events that left were not made by a fault.
func (w *brokenWriter) ours(l *fault.Left) int64 {
	n := l.Events
	for _, f := range w.Fired() {
		if f.Kind == fault.ErrorEvent && n > 0 {
			n--
		}
	}
	return n
}

// latency gives times as the predicted ones are given: from the arrival of the request to the first bytes and to the
// last, and the mean gap between the tokens of the first choice, from the first that left to the last. It is nil when
// nothing has left.
func (d departure) latency(since time.Time) *journal.Latency {
	if d.first.IsZero() {
		return nil
	}
	return &journal.Latency{
		TTFT: milliseconds(d.first.Sub(since)), Total: milliseconds(d.last.Sub(since)), ITL: milliseconds(d.tokens.gap()),
	}
}

// report notes in the record and in the trailer of a stream that has been served what has left; whole says that nobody
// broke it off. Behind a fault that is known when the writer of the fault has finished.
func (s *stream) report(c *gin.Context, whole bool) {
	entry := journal.From(c.Request.Context())
	tell := func() {
		d := s.departed()
		l := d.latency(s.since)
		entry.Update(func(r *journal.Record) { r.Events, r.Bytes, r.Observed = d.events, d.bytes, l })
		t := serverTiming(s.runs)
		if !s.begun || !whole || t == "" {
			return
		}
		if l != nil {
			t += fmt.Sprintf(", observed-ttft;dur=%.3f, observed-itl;dur=%.3f, observed-total;dur=%.3f", l.TTFT, l.ITL, l.Total)
		}
		s.w.Header().Set("Server-Timing", t)
	}
	if w, ok := s.w.(*brokenWriter); ok {
		w.finished = tell
		return
	}
	tell()
}
