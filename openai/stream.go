package openai

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
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
	// direct says that once the header has left, events go to the socket itself; see direct.go.
	direct bool
	// includeUsage asks for the last chunk.
	includeUsage bool
	// begun says that headers have left, pending are bytes that a writer could not get rid of: framed ones if they go to
	// the socket itself. owed of them are counted when they have left.
	begun    bool
	pending  []byte
	owed     int
	deadline time.Time
	// firstWrite and lastWrite are when bytes had left; bytes and events count them.
	firstWrite, lastWrite time.Time
	bytes, events         int64
	// marks say what was written to a writer that breaks answers; see observe.go.
	marks []mark
	// left are the tokens that had left at the last write.
	left tokenTimes
	// old says that the client speaks HTTP/1.0, which has no trailers.
	old bool
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
	if s.detached.Load() || !s.mu.TryLock() {
		// The handler's goroutine has the stream and may hold mu while it waits for its client, which a writer must not.
		s.pokeOwn()
		return scratch
	}
	defer s.mu.Unlock()
	if s.closed {
		return scratch
	}
	out, due, more := s.fill(scratch, maxBatch)
	switch {
	case len(out) == 0:
	case s.directly():
		out = s.try(out, due)
	case !s.socket.fits(len(out) + framing):
		s.handOver(out)
	default:
		s.flush(out, due)
	}
	if more && !s.closed && !s.detached.Load() {
		s.wake(s)
	}
	return out
}

// handOver leaves to the handler's goroutine what could not be written without waiting.
func (s *stream) handOver(rest []byte) {
	s.pending = append(s.pending, rest...)
	s.detached.Store(true)
	s.srv.counters.handovers.Add(1)
	s.pokeOwn()
}

// crashed answers 500 or, when the header has left, breaks off.
func (s *stream) crashed(p any) {
	tellPanic("a writer", p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	if !s.begun {
		s.failed = internalError()
	} else {
		s.srv.counters.failed.Add(1)
	}
	s.end()
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
	s.deadline = time.Time{}
	var more bool
	if s.directly() {
		more = s.force()
	} else {
		var out []byte
		var due time.Time
		out, due, more = s.fill(s.pending, ownBatch)
		s.pending = out[:0]
		s.flush(out, due)
	}
	if more || s.closed {
		return !s.closed
	}
	if s.socket != nil && s.socket.fits(maxBatch) {
		// The client has caught up: back to the shared writer, which sets no deadline and must meet none.
		s.clearDeadline()
		s.detached.Store(false)
	}
	return false
}

// setDeadline renews the deadline of writes when half of it has passed.
func (s *stream) setDeadline(now time.Time) {
	if s.deadline.Sub(now) < s.srv.opts.WriteTimeout/2 {
		s.deadline = now.Add(s.srv.opts.WriteTimeout)
		_ = s.rc.SetWriteDeadline(s.deadline)
	}
}

func (s *stream) clearDeadline() {
	if !s.deadline.IsZero() {
		s.deadline = time.Time{}
		_ = s.rc.SetWriteDeadline(s.deadline)
	}
}

// serve parks until the stream has ended. It reports false when the client left or could not be written to.
func (s *stream) serve(ctx context.Context) bool {
	for {
		select {
		case <-s.done:
			s.cancelOpen()
			s.clearDeadline()
			return !s.broken
		case <-s.own:
			for s.pump() && ctx.Err() == nil {
			}
		case <-ctx.Done():
			if s.abandon() {
				return false
			}
			s.clearDeadline() // the client took all there was and left
			return !s.broken
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
			s.events++
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
	s.events++
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

// flush sends out through net/http and ends the stream if it is finished. mu is held.
func (s *stream) flush(out []byte, due time.Time) {
	if len(out) == 0 {
		return
	}
	now := time.Now()
	s.setDeadline(now)
	if !s.begun {
		s.begin(now)
	}
	s.mark()
	_, err := s.w.Write(out)
	if err == nil {
		err = s.flusher.FlushError()
	}
	if s.direct {
		s.clearDeadline()
	}
	s.wrote(len(out), due, err)
}

// wrote counts what has left, or breaks the stream off; it ends a finished one. mu is held.
func (s *stream) wrote(n int, due time.Time, err error) {
	if err != nil {
		s.broken = true
		s.srv.counters.aborted.Add(1)
		s.srv.stalled(s.head, err)
		s.end()
		return
	}
	s.srv.counters.writes.Add(1)
	s.lastWrite = time.Now()
	if s.firstWrite.IsZero() {
		s.firstWrite = s.lastWrite
	}
	s.bytes += int64(n)
	s.told()
	if o := s.srv.opts.Observer; o != nil && !due.IsZero() {
		o.Emitted(s.lastWrite.Sub(due))
	}
	if s.finished {
		s.end()
	}
}

// begin sends the headers, which leave with the first token so that a refusal can still be a status.
func (s *stream) begin(now time.Time) {
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	if !s.old {
		h.Set("Trailer", "Server-Timing")
	}
	h.Set("Openai-Processing-Ms", strconv.FormatInt(now.Sub(s.since).Milliseconds(), 10))
	s.head.WriteHeader(http.StatusOK)
	s.head.WriteHeaderNow()
}
