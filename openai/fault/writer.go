package fault

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrInjected is returned by Write and FlushError once a fault has ended the response.
var ErrInjected = errors.New("fault: the response was ended on purpose")

// errBacklog ends a response that a slow plan could not get rid of in time.
var errBacklog = errors.New("fault: more bytes wait behind a slow fault than are kept")

// Bounds of one response: an event that is longer passes in pieces, and this much may wait behind a slow fault.
const (
	maxEvent   = 1 << 20
	maxBacklog = 16 << 20
)

// Options of Writer and Middleware. The zero value is usable.
type Options struct {
	// ErrorBody renders error answers and in-band events; nil is OpenAI's envelope.
	ErrorBody func(Failure) []byte
	// WriteTimeout bounds one write behind a slow fault (0: 60 s).
	WriteTimeout time.Duration
	// Report hears which faults of a plan came about, when the response has ended; it may be nil. Middleware calls it
	// only for requests that have a plan.
	Report func(r *http.Request, plan, fired Plan)
}

// Writer is an http.ResponseWriter that carries out a plan. It counts the events that pass, so the handler behind it
// needs to know nothing. Faults that wait are carried out by a goroutine of the Writer's own: Write itself never waits,
// because faces write many responses from one goroutine. After the handler returned, Finish must be called.
//
// Methods may be called from any goroutine, one at a time as for every ResponseWriter.
type Writer struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	ctx    context.Context
	cancel context.CancelFunc
	plan   Plan
	opts   Options

	mu    sync.Mutex
	began bool
	// stream says that the answer is an event stream, tail is an event that has not come whole.
	stream bool
	tail   []byte
	// passed counts events, or bytes outside streams. places are the faults still to come in the body, sorted by At.
	passed int
	places []Fault
	drip   Fault
	out    []byte
	// offered is how many bytes were to leave so far.
	offered int64
	fired   Plan
	err     error
	// committed says that the status has been given to w, over that the response has been ended on purpose.
	committed, over bool
	status          int
	// aborted asks Finish to let net/http cut the connection.
	aborted bool
	pump    *pump
	// dripped bytes have left since the last pause of a drip, meter counts what has been written; both belong to whoever
	// performs operations.
	dripped int
	meter   Meter

	leftMu sync.Mutex
	left   Left // guarded by leftMu
}

// Wrap returns a Writer for the part of a plan that concerns the body; see Before for the rest. Cancel is called when
// the response has been ended on purpose, so that the handler stops; it may be nil.
func Wrap(ctx context.Context, cancel context.CancelFunc, w http.ResponseWriter, plan Plan, opts Options) *Writer {
	if opts.WriteTimeout <= 0 {
		opts.WriteTimeout = time.Minute
	}
	if cancel == nil {
		cancel = func() {}
	}
	fw := &Writer{w: w, rc: http.NewResponseController(w), ctx: ctx, cancel: cancel, plan: plan, opts: opts}
	if plan.slow() {
		fw.pump = newPump(fw)
	}
	return fw
}

// Header is the header map of the response.
func (w *Writer) Header() http.Header { return w.w.Header() }

// WriteHeader starts the answer; it sees here whether this is an event stream.
func (w *Writer) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(status)
}

func (w *Writer) begin(status int) {
	if w.err != nil || w.began {
		return
	}
	if status < http.StatusOK {
		w.w.WriteHeader(status)
		return
	}
	w.began, w.status = true, status
	w.stream = strings.HasPrefix(w.w.Header().Get("Content-Type"), "text/event-stream")
}

// commit gives the headers to the real response. It waits for the first byte, because a connection that has headers
// cannot be cut without sending them.
func (w *Writer) commit() {
	if w.began && !w.committed {
		w.committed = true
		w.w.WriteHeader(w.status)
	}
}

// Write takes bytes of the answer. It never waits for a fault.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	w.begin(http.StatusOK)
	if w.places == nil {
		w.place(len(p))
		w.instead()
	}
	switch {
	case w.over:
		// Dropped: the end is waiting behind a slow fault.
	case w.stream:
		w.events(p)
	default:
		w.body(p)
	}
	w.send()
	return len(p), w.err
}

// place sorts the faults of the body by where they act; size is the length of the first write.
func (w *Writer) place(size int) {
	w.places = make([]Fault, 0, len(w.plan))
	for _, f := range w.plan {
		switch f.Kind {
		case Hang, Status, NoDone, DoubleDone:
			continue
		case ErrorEvent:
			if !w.stream {
				continue
			}
		default:
		}
		at := max(f.At, 0)
		if f.At == Unset {
			f.At = 0
			if !w.stream && f.Kind != Malformed {
				f.At = size / 2
			}
		}
		if f.Kind == Truncate && f.Bytes > 0 && !w.stream {
			f.At = partOf(at+f.Bytes, size)
		}
		w.places = append(w.places, f)
	}
	slices.SortStableFunc(w.places, func(a, b Fault) int { return a.At - b.At })
}

// instead answers with the error of a plan where there is no stream to send it in: a service that fails before the end
// of a whole answer has sent nothing of it. Stalls that stand before it in the plan pass first. An answer that is an
// error already stays.
func (w *Writer) instead() {
	if _, ok := w.plan.first(ErrorEvent); !ok || w.stream || w.status >= http.StatusBadRequest {
		return
	}
	for _, f := range w.plan {
		switch f.Kind {
		case Stall:
			w.fired = append(w.fired, f)
			w.do(op{kind: opWait, wait: f.For})
		case ErrorEvent:
			w.fired = append(w.fired, f)
			w.out = append(w.out, w.opts.errorBody(f.Failure)...)
			w.status = f.Failure.withDefaults().Status
			h := w.w.Header()
			h.Set("Content-Type", "application/json")
			h.Set("Content-Length", strconv.Itoa(len(w.out)))
			w.finish(endCleanly)
			return
		default:
		}
	}
}

// Sent is the status that the client gets, 0 before there is one, and for ever if the response ended before it.
func (w *Writer) Sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.committed {
		return 0
	}
	return w.status
}

// due returns the next fault that acts at this place.
func (w *Writer) due() (Fault, bool) {
	if len(w.places) == 0 || w.places[0].At > w.passed {
		return Fault{}, false
	}
	f := w.places[0]
	w.places = w.places[1:]
	w.fired = append(w.fired, f)
	return f, true
}

// events lets whole events through and keeps the rest. O(len(p)) amortised.
func (w *Writer) events(p []byte) {
	// What was kept holds no end, except that its last byte may be the first half of one.
	from := max(len(w.tail)-1, 0)
	w.tail = append(w.tail, p...)
	rest := w.tail
	for w.err == nil && !w.over {
		end := bytes.Index(rest[from:], []byte("\n\n"))
		if end < 0 {
			break
		}
		end += from + 2
		w.event(rest[:end])
		rest, from = rest[end:], 0
	}
	if len(rest) > maxEvent {
		w.out, rest = append(w.out, rest...), nil
	}
	w.tail = append(w.tail[:0], rest...)
}

const doneEvent = "data: [DONE]\n\n"

// event lets one event through, or what faults leave of it.
func (w *Writer) event(e []byte) {
	if dataAt(e) < 0 {
		w.out = append(w.out, e...)
		return
	}
	last := string(e) == doneEvent
	for {
		f, ok := w.due()
		if !ok {
			break
		}
		switch f.Kind {
		case ErrorEvent:
			w.out = append(append(append(w.out, "data: "...), w.opts.errorBody(f.Failure)...), "\n\n"...)
			w.finish(endCleanly)
		case Truncate:
			w.out = append(w.out, e[:partOf(f.Bytes, len(e))]...)
			w.finish(endClose)
		case Malformed:
			e = malform(e)
		default:
			w.act(f)
		}
		if w.err != nil || w.over {
			return
		}
	}
	switch {
	case last && w.has(NoDone):
		return
	case last && w.has(DoubleDone):
		w.out = append(w.out, e...)
	case !last:
		w.passed++
	}
	w.out = append(w.out, e...)
}

// has reports, and notes, a fault that has no place.
func (w *Writer) has(k Kind) bool {
	f, ok := w.plan.first(k)
	if ok {
		w.fired = append(w.fired, f)
	}
	return ok
}

// partOf is how many of n bytes a truncated event keeps: never all, so that it is never whole.
func partOf(asked, n int) int {
	if asked <= 0 {
		asked = n / 2
	}
	return min(asked, n-1)
}

// dataAt is where the data of an event begins, or -1 for a comment. Other fields may come first.
func dataAt(e []byte) int {
	const field = "data:"
	if bytes.HasPrefix(e, []byte(field)) {
		return len(field)
	}
	if at := bytes.Index(e, []byte("\n"+field)); at >= 0 {
		return at + 1 + len(field)
	}
	return -1
}

// malform cuts the JSON of an event in half and keeps its frame.
func malform(e []byte) []byte {
	at := dataAt(e)
	half := at + (len(e)-len("\n\n")-at)/2
	return append(bytes.Clone(e[:half]), "\n\n"...)
}

// body lets bytes of an answer through that is no stream.
func (w *Writer) body(p []byte) {
	for w.err == nil && !w.over {
		if len(w.places) > 0 && w.places[0].At > w.passed {
			n := min(w.places[0].At-w.passed, len(p))
			w.out = append(w.out, p[:n]...)
			w.passed += n
			p = p[n:]
		}
		if len(p) == 0 {
			return
		}
		f, ok := w.due()
		switch {
		case !ok && len(w.places) == 0:
			w.out = append(w.out, p...)
			w.passed += len(p)
			return
		case !ok:
		case f.Kind == Malformed:
			p = bytes.Clone(p)
			p[0] = brokenByte(p[0])
		case f.Kind == Truncate:
			w.finish(endClose)
		default:
			w.act(f)
		}
	}
}

// brokenByte makes JSON invalid wherever it stands: a list for an object, else a control character.
func brokenByte(b byte) byte {
	if b == '{' {
		return '['
	}
	return 0x01
}

// act carries out faults that are the same in every body.
func (w *Writer) act(f Fault) {
	switch f.Kind {
	case Stall:
		w.send()
		w.commit()
		w.do(op{kind: opFlush})
		w.do(op{kind: opWait, wait: f.For})
	case Drip:
		w.send()
		w.drip = f
	case Reset:
		w.finish(endReset)
	case Close:
		w.finish(endClose)
	default:
	}
}

// finish sends what is left and ends the response on purpose. When nothing has been sent the headers stay behind too.
// Behind a slow fault the handler hears of the end when it comes about, not before.
func (w *Writer) finish(how opKind) {
	w.send()
	if how == endCleanly {
		w.commit()
	}
	if w.committed {
		w.do(op{kind: opFlush})
	}
	w.do(op{kind: how})
	w.over = true
}

// send hands collected bytes on.
func (w *Writer) send() {
	if len(w.out) == 0 {
		return
	}
	o := op{kind: opWrite, data: w.out}
	if w.drip.Kind == Drip {
		o.kind, o.wait, o.step = opDrip, w.drip.For, max(w.drip.Bytes, 1)
	}
	if w.pump != nil {
		o.data = bytes.Clone(o.data)
	}
	w.offered += int64(len(o.data))
	w.out = w.out[:0]
	w.commit()
	w.do(o)
}

// do carries an operation out, or queues it behind a slow fault. mu is held.
func (w *Writer) do(o op) {
	if w.err != nil {
		return
	}
	if w.pump != nil {
		w.err = w.pump.push(o)
		return
	}
	w.err = w.perform(o)
}
