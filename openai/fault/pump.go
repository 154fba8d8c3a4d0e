package fault

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// pump carries operations out on a goroutine of its own, in order, so that waiting disturbs nobody.
type pump struct {
	w      *Writer
	mu     sync.Mutex
	queue  []op
	queued int
	closed bool
	err    error
	signal chan struct{}
	ended  chan struct{}
}

// newPump starts the goroutine; close ends it.
func newPump(w *Writer) *pump {
	p := &pump{w: w, signal: make(chan struct{}, 1), ended: make(chan struct{})}
	go p.loop()
	return p
}

// push queues an operation and returns what has failed so far. It never waits.
func (p *pump) push(o op) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if p.queued += len(o.data); p.queued > maxBacklog {
		p.err = errBacklog
		return p.err
	}
	p.queue = append(p.queue, o)
	p.poke()
	return nil
}

func (p *pump) poke() {
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// close waits until everything has been done, or drops it.
func (p *pump) close(drop bool) {
	p.mu.Lock()
	p.closed = true
	if drop {
		p.queue = nil
		p.err = ErrInjected
	}
	p.poke()
	p.mu.Unlock()
	<-p.ended
}

func (p *pump) loop() {
	defer close(p.ended)
	for {
		p.mu.Lock()
		ops, closed := p.queue, p.closed
		p.queue, p.queued = nil, 0
		p.mu.Unlock()
		for _, o := range ops {
			if err := p.w.perform(o); err != nil {
				p.fail(err)
				return
			}
		}
		if len(ops) > 0 {
			continue
		}
		if closed {
			return
		}
		select {
		case <-p.signal:
		case <-p.w.ctx.Done():
			p.fail(context.Cause(p.w.ctx))
			return
		}
	}
}

// fail makes further operations fail and stops the handler.
func (p *pump) fail(err error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	p.queue = nil
	p.mu.Unlock()
	p.w.cancel()
}

// Finish ends the response after the handler has returned: it waits for slow faults and lets incomplete events through.
// It panics with http.ErrAbortHandler, which net/http expects, when the connection must be cut and could not be taken
// over. It returns the faults that came about.
func (w *Writer) Finish() Plan {
	w.mu.Lock()
	if w.err == nil && !w.over {
		w.out = append(w.out, w.tail...)
		w.tail = nil
		w.send()
		w.commit()
	}
	w.mu.Unlock()
	if w.pump != nil {
		w.pump.close(false)
		_ = w.rc.SetWriteDeadline(time.Time{})
	}
	if w.aborted {
		panic(http.ErrAbortHandler)
	}
	if w.err == nil && !w.over && (w.pump == nil || w.pump.err == nil) {
		w.leave() // net/http sends the rest when the handler has returned
	}
	return w.fired
}

// Fired are the faults that have come about so far.
func (w *Writer) Fired() Plan {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(Plan(nil), w.fired...)
}

// discard ends the goroutine when the handler did not come back.
func (w *Writer) discard() {
	w.cancel()
	if w.pump != nil {
		w.pump.close(true)
	}
}

// sleep waits, unless the request ends before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
