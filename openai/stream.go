package openai

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"fakellm/openai/journal"
)

// stream is an answer written as server-sent events. A writer serves it as long as its client keeps up; a slow one is
// handed over to the handler's goroutine, which is parked in serve and may block. mu says who writes.
type stream struct {
	answer
	renderer
	w http.ResponseWriter
	// head is gin's view of w: it must know that the header has left.
	head    gin.ResponseWriter
	rc      *http.ResponseController
	flusher interface{ FlushError() error }
	socket  *socket
	// includeUsage asks for the last chunk.
	includeUsage bool
	// begun says that headers have left, pending are rendered bytes that a writer could not get rid of.
	begun    bool
	pending  []byte
	deadline time.Time
	// firstWrite and lastWrite are when bytes had left; bytes and events count them.
	firstWrite, lastWrite time.Time
	bytes, events         int64
	// finished says that the last event has been rendered.
	finished bool
	// broken says that the stream ended with an in-band error or a write error.
	broken bool
}

// visit is the writer's turn: render what is due and write it unless that might block.
func (s *stream) visit(scratch []byte) []byte {
	s.queued.Store(false)
	if !s.started.Load() {
		return scratch
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return scratch
	}
	if s.detached.Load() {
		s.pokeOwn()
		return scratch
	}
	out, due, more := s.fill(scratch, maxBatch)
	if len(out) > 0 && !s.socket.fits(len(out)+framing) {
		s.pending = append(s.pending, out...)
		s.detached.Store(true)
		s.srv.counters.handovers.Add(1)
		s.pokeOwn()
		return out
	}
	s.flush(out, due)
	if more && !s.closed {
		s.wake(s)
	}
	return out
}

// framing is what net/http adds around one write, headers of the response not counted.
const framing = 16

// pump is the handler goroutine's turn: it may block until the write deadline. It reports whether more is due.
func (s *stream) pump() bool {
	s.queued.Store(false)
	if !s.started.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	out, due, more := s.fill(s.pending, ownBatch)
	s.pending = out[:0]
	s.deadline = time.Time{}
	s.flush(out, due)
	if more || s.closed {
		return !s.closed
	}
	if s.socket != nil && s.socket.fits(maxBatch) {
		// The client has caught up: back to the shared writer.
		s.detached.Store(false)
	}
	return false
}

// serve parks until the stream has ended. It reports false when the client left or could not be written to.
func (s *stream) serve(ctx context.Context) bool {
	for {
		select {
		case <-s.done:
			s.cancelOpen()
			if !s.deadline.IsZero() {
				_ = s.rc.SetWriteDeadline(time.Time{})
			}
			return !s.broken
		case <-s.own:
			for s.pump() && ctx.Err() == nil {
			}
		case <-ctx.Done():
			s.abandon()
			return false
		}
	}
}

// fill renders what is due into dst. When everything has been said it adds usage and [DONE]; a failure after the first
// byte becomes an in-band event, one before it is left in failed. mu is held.
func (s *stream) fill(dst []byte, limit int) (out []byte, due time.Time, more bool) {
	if s.finished {
		// The end was rendered by a writer that could not get rid of it; dst holds it.
		return dst, due, false
	}
	due, _, failed := s.look()
	if failed != nil {
		return s.fail(dst, failed), due, false
	}
	all := true
	for i := range s.runs {
		r := &s.runs[i]
		var events int
		var rest bool
		dst, events, rest = s.render(dst, r, limit)
		s.srv.counters.events.Add(int64(events))
		s.events += int64(events)
		more = more || rest
		all = all && r.finished
	}
	if all {
		if s.includeUsage {
			dst = s.frame.appendUsage(dst, usage(s.prompts, s.runs, s.perPrompt))
		}
		dst = append(dst, doneEvent...)
		s.finished = true
	}
	return dst, due, more
}

// fail ends the stream with an error, in-band if its first byte has left (spec openai-endpoint S11).
func (s *stream) fail(dst []byte, e *APIError) []byte {
	if !s.begun && len(dst) == 0 {
		s.failed = e
		s.end()
		return dst
	}
	s.srv.counters.failed.Add(1)
	s.finished = true
	dst = append(append(append(dst, eventStart...), e.body(inBand(s.srv.opts.Dialect))...), eventEnd...)
	if s.srv.opts.Dialect == DialectVLLM {
		dst = append(dst, doneEvent...)
	}
	return dst
}

// inBand is the dialect of error objects inside a stream: never flat, since readers look for an "error" member.
func inBand(d Dialect) Dialect {
	if d == DialectSGLang || d == DialectTRTLLM {
		return DialectVLLM
	}
	return d
}

// flush sends out and ends the stream if it is finished. mu is held.
func (s *stream) flush(out []byte, due time.Time) {
	if len(out) == 0 {
		return
	}
	now := time.Now()
	if s.deadline.Sub(now) < s.srv.opts.WriteTimeout/2 {
		s.deadline = now.Add(s.srv.opts.WriteTimeout)
		_ = s.rc.SetWriteDeadline(s.deadline)
	}
	if !s.begun {
		s.begin(now)
	}
	_, err := s.w.Write(out)
	if err == nil {
		err = s.flusher.FlushError()
	}
	if err != nil {
		s.broken = true
		s.srv.counters.aborted.Add(1)
		s.end()
		return
	}
	s.srv.counters.writes.Add(1)
	s.lastWrite = time.Now()
	if s.firstWrite.IsZero() {
		s.firstWrite = s.lastWrite
	}
	s.bytes += int64(len(out))
	if o := s.srv.opts.Observer; o != nil && !due.IsZero() {
		o.Emitted(s.lastWrite.Sub(due))
	}
	if s.finished {
		s.end()
	}
}

// observe notes in a record what has been written and when, as the predicted times are: from the arrival of the request
// to the first bytes and to the last, and the mean gap between the tokens of the first choice.
func (s *stream) observe(r *journal.Record) {
	r.Events, r.Bytes, r.Observed = s.events, s.bytes, s.observed()
}

// observed is nil when nothing was written. The stream has ended.
func (s *stream) observed() *journal.Latency {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.firstWrite.IsZero() {
		return nil
	}
	l := &journal.Latency{TTFT: milliseconds(s.firstWrite.Sub(s.since)), Total: milliseconds(s.lastWrite.Sub(s.since))}
	if n := s.runs[0].last.Tokens; n > 1 {
		l.ITL = milliseconds(s.lastWrite.Sub(s.firstWrite)) / float64(n-1)
	}
	return l
}

// observedTiming goes on from serverTiming with what came about.
func (s *stream) observedTiming() string {
	l := s.observed()
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", observed-ttft;dur=%.3f, observed-itl;dur=%.3f, observed-total;dur=%.3f", l.TTFT, l.ITL, l.Total)
}

// begin sends the headers, which leave with the first token so that a refusal can still be a status.
func (s *stream) begin(now time.Time) {
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	h.Set("Trailer", "Server-Timing")
	h.Set("Openai-Processing-Ms", strconv.FormatInt(now.Sub(s.since).Milliseconds(), 10))
	s.head.WriteHeader(http.StatusOK)
	s.head.WriteHeaderNow()
}
