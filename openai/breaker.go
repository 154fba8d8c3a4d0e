package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"fakellm/openai/fault"
	"fakellm/openai/journal"
)

// Breaker decides which answers break, and counts what came about. It is safe for concurrent use.
type Breaker struct {
	set   atomic.Pointer[fault.Set]
	start time.Time

	mu       sync.Mutex
	rules    []fault.Rule    // guarded by mu
	counters *fault.Counters // guarded by mu
	fired    func(kind string)
}

// NewBreaker returns a Breaker with no rules; chances and counts follow seed, schedules count from now. fired hears the
// kind of every fault that came about and may be nil.
func NewBreaker(seed uint64, fired func(kind string)) *Breaker {
	b := &Breaker{start: time.Now(), counters: fault.NewCounters(seed, 0), fired: fired}
	b.set.Store(new(fault.Set))
	return b
}

// Use replaces the rules and forgets their counts. The error joins every problem of the rules; nothing changes then.
func (b *Breaker) Use(rules []fault.Rule) error {
	set, err := fault.NewSet(rules)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set.Store(set)
	b.rules = rules
	b.counters.Reset()
	return nil
}

// Rules returns the rules in force. They must not be changed.
func (b *Breaker) Rules() []fault.Rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rules
}

// plan is what shall go wrong with a request: what it asks for itself, else what its scripted answer says, else the
// rules.
func (b *Breaker) plan(asked, scripted string, f fault.Facts) (fault.Plan, error) {
	for _, text := range []string{asked, scripted} {
		if text == "" {
			continue
		}
		p, err := fault.Parse(text)
		if only, ok := p.StreamOnly(); ok && err == nil && !f.Stream {
			err = fmt.Errorf("fault %s: it needs a stream, and this request asks for a whole answer", only.Kind)
		}
		if err != nil {
			return nil, &APIError{
				Status: http.StatusBadRequest, Type: typeInvalid, Param: fault.Header, Code: "invalid_fault", Message: err.Error(),
			}
		}
		return p, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p, _ := b.set.Load().Choose(time.Since(b.start), f, b.counters)
	return p, nil
}

// facts are what fault rules may ask about a request.
func (s *Server) facts(c *gin.Context, model string, sm *Sampling) fault.Facts {
	f := fault.Facts{Route: c.FullPath(), Model: model, Key: clientKey(c.Request.Header)}
	f.Retry, _ = strconv.Atoi(c.GetHeader("X-Stainless-Retry-Count"))
	if sm != nil {
		f.Session, f.Stream = sm.SessionKey, sm.Stream
	}
	return f
}

// breakage is the plan for a request, as it asks itself, as its scripted answer says, or by the rules.
func (x *exchange) breakage(model string, sm *Sampling, scripted string) (fault.Plan, error) {
	b := x.s.opts.Breaker
	if b == nil {
		return nil, nil
	}
	return b.plan(sm.Wishes.Fault, scripted, x.s.facts(x.c, model, sm))
}

// perform answers a planned request: within its limits, broken where a fault says so, and noted in the journal.
func (x *exchange) perform(p *planned, model string, sm *Sampling, answer func() []run) {
	plan, err := x.breakage(model, sm, p.choices[0].fault)
	if err != nil {
		x.s.refuse(x.c, asAPIError(err))
		return
	}
	if !x.admit(p) {
		return
	}
	var runs []run
	x.s.breaking(x.c, plan, func() { runs = answer() })
	x.close(p, runs)
}

// breaking answers a request by next, and breaks what the plan says. Without a plan it costs nothing.
func (s *Server) breaking(c *gin.Context, plan fault.Plan, next func()) {
	if len(plan) == 0 {
		next()
		return
	}
	entry := journal.From(c.Request.Context())
	opts := fault.Options{WriteTimeout: s.opts.WriteTimeout, ErrorBody: func(f fault.Failure) []byte {
		e := APIError{Status: f.Status, Message: f.Message, Type: f.Type, Param: f.Param, Code: f.Code}
		return e.body(s.opts.Dialect)
	}}
	inner := c.Writer
	fired, done := fault.Before(c.Request.Context(), unwrap(inner), plan, opts)
	defer func() {
		s.opts.Breaker.report(fired)
		entry.Update(func(r *journal.Record) { r.Fault, r.Fired = plan.String(), fired.String() })
	}()
	if done {
		status := statusGone
		if len(fired) > 0 && fired[len(fired)-1].Kind == fault.Status {
			status = orDefault(fired[len(fired)-1].Failure.Status, http.StatusInternalServerError)
		}
		c.Set(keyStatus, status)
		return
	}
	client := c.Request.Context()
	ctx, cancel := context.WithCancel(client)
	defer cancel()
	w := &brokenWriter{Writer: fault.Wrap(client, cancel, unwrap(inner), plan, opts), status: http.StatusOK}
	c.Writer, c.Request = w, c.Request.WithContext(ctx)
	defer func() {
		defer func() { // Finish panics where only net/http can cut the connection
			fired = append(fired, w.Fired()...)
			status := w.Sent()
			if status == 0 && client.Err() != nil {
				status = statusGone
			}
			c.Set(keyStatus, status)
			switch err := w.Ended(); {
			case errors.Is(err, fault.ErrInjected):
				c.Set(keyCut, false) // the fault has ended it as it wants, which may be cleanly
			case err != nil:
				c.Set(keyDelivered, false)
			}
			if w.finished != nil {
				w.finished()
			}
		}()
		w.WriteHeaderNow()
		w.Finish()
	}()
	next()
}

// report counts faults that came about.
func (b *Breaker) report(fired fault.Plan) {
	if b.fired == nil {
		return
	}
	for _, f := range fired {
		b.fired(string(f.Kind))
	}
}

// brokenWriter is a fault.Writer with what gin wants of a writer besides: it writes the header late, as gin's own does.
// It has no Unwrap, so the face writes through it.
type brokenWriter struct {
	*fault.Writer
	status, size int
	written      bool
	// finished is called when the response has ended; it may be nil.
	finished func()
}

var _ gin.ResponseWriter = (*brokenWriter)(nil)

// WriteHeader remembers the status.
func (w *brokenWriter) WriteHeader(status int) {
	if status > 0 && !w.written {
		w.status = status
	}
}

// WriteHeaderNow sends the header if it has not left.
func (w *brokenWriter) WriteHeaderNow() {
	if !w.written {
		w.written = true
		w.Writer.WriteHeader(w.status)
	}
}

// Write sends the header and p.
func (w *brokenWriter) Write(p []byte) (int, error) {
	w.WriteHeaderNow()
	n, err := w.Writer.Write(p)
	w.size += n
	return n, err
}

// WriteString is Write for a string.
func (w *brokenWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Status, Size and Written are gin's view of what has left.
func (w *brokenWriter) Status() int   { return w.status }
func (w *brokenWriter) Size() int     { return w.size }
func (w *brokenWriter) Written() bool { return w.written }

// Pusher is nil: nothing is pushed.
func (w *brokenWriter) Pusher() http.Pusher { return nil }

// CloseNotify never tells: the request's context does.
func (w *brokenWriter) CloseNotify() <-chan bool { return nil }
