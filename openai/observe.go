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
	// tokens of the first choice that were in it.
	tokens int
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
	r := &s.runs[0]
	tokens := min(max(r.said-r.plan.Free, 0), r.last.Tokens)
	if r.finished {
		tokens = r.last.Tokens
	}
	s.marks = append(s.marks, mark{s.events, tokens})
}

// tokensIn is how many tokens of the first choice were in the first so many events; between two marks every event is
// taken for one. O(writes).
func tokensIn(marks []mark, events int64) int {
	var last mark
	for _, m := range marks {
		if m.events >= events {
			return min(last.tokens+int(events-last.events), m.tokens)
		}
		last = m
	}
	return last.tokens
}

// departed is what has left of a stream that has ended. Behind a fault only its writer knows: what the stream has
// written may leave later, in part, or never.
func (s *stream) departed() departure {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.w.(*brokenWriter)
	if !ok {
		return departure{s.events, s.bytes, s.firstWrite, s.lastWrite, s.runs[0].last.Tokens}
	}
	l := w.Left()
	said := l.Events
	for _, f := range w.Fired() {
		if f.Kind == fault.ErrorEvent {
			said-- // an event, but none of ours
		}
	}
	return departure{l.Events, l.Bytes, l.First, l.Last, tokensIn(s.marks, said)}
}

// latency gives times as the predicted ones are given: from the arrival of the request to the first bytes and to the
// last, and the mean gap between the tokens of the first choice. It is nil when nothing has left.
func (d departure) latency(since time.Time) *journal.Latency {
	if d.first.IsZero() {
		return nil
	}
	l := &journal.Latency{TTFT: milliseconds(d.first.Sub(since)), Total: milliseconds(d.last.Sub(since))}
	if d.tokens > 1 {
		l.ITL = milliseconds(d.last.Sub(d.first)) / float64(d.tokens-1)
	}
	return l
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
