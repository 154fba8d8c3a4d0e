package openai

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// answer is one HTTP request while the Backend paces it: the part that streams and whole responses share.
type answer struct {
	srv     *Server
	runs    []run
	prompts []Prompt
	// perPrompt answers are made of each prompt.
	perPrompt int
	since     time.Time

	writer *writer
	// own wakes the handler's goroutine when it serves the answer itself.
	own      chan struct{}
	detached atomic.Bool
	queued   atomic.Bool
	// started is set when all tickets are known.
	started atomic.Bool
	// done is closed under mu when nothing more will be written.
	done chan struct{}

	mu     sync.Mutex
	closed bool
	// failed is the answer instead of the planned one, when the first byte has not left yet.
	failed *APIError
}

// init prepares the answer to a planned request that came in at since.
func (a *answer) init(s *Server, p *planned, since time.Time) {
	a.srv, a.prompts, a.perPrompt, a.since = s, p.prompts, p.perPrompt, since
	a.own, a.done, a.runs = make(chan struct{}, 1), make(chan struct{}), make([]run, len(p.choices))
	for i := range p.choices {
		a.runs[i] = newRun(&p.choices[i], i)
	}
	a.writer = s.nextWriter()
}

// submit enters every choice into the Backend. On an error the choices already entered are cancelled.
func (a *answer) submit(jobs []Job, wake func()) error {
	for i := range jobs {
		t, err := a.enter(jobs[i], a.runs[i].plan.timing, wake)
		if err != nil {
			a.cancel(i)
			return err
		}
		a.runs[i].ticket = t
	}
	a.started.Store(true)
	wake()
	return nil
}

// cancel gives back the slots of the first n choices. Ended tickets do not mind.
func (a *answer) cancel(n int) {
	for i := range n {
		a.runs[i].ticket.Cancel()
	}
}

// cancelOpen gives back what was still running when the answer ended: choices beside one that failed.
func (a *answer) cancelOpen() {
	for i := range a.runs {
		if a.runs[i].last.End == Open {
			a.runs[i].ticket.Cancel()
		}
	}
}

// wake queues v, which is the visitor around a. It never blocks.
func (a *answer) wake(v visitor) {
	if a.queued.Swap(true) {
		return
	}
	if a.detached.Load() || !a.writer.push(v) {
		a.pokeOwn()
	}
}

func (a *answer) pokeOwn() {
	select {
	case a.own <- struct{}{}:
	default:
	}
}

// look reads all tickets. It reports the latest news, whether all are complete, and the first failure.
func (a *answer) look() (due time.Time, complete bool, failed *APIError) {
	complete = true
	for i := range a.runs {
		r := &a.runs[i]
		if r.finished {
			continue
		}
		r.last = r.ticket.Progress()
		if r.last.Due.After(due) {
			due = r.last.Due
		}
		if failed == nil {
			failed = r.failure()
		}
		complete = complete && r.last.End == Completed
	}
	return due, complete, failed
}

// end closes the answer; mu is held. It reports false if that has happened before.
func (a *answer) end() bool {
	if a.closed {
		return false
	}
	a.closed = true
	close(a.done)
	return true
}

// abandon is called when the client has gone: everything is cancelled at once. It reports false if the answer had ended
// before.
func (a *answer) abandon() bool {
	a.mu.Lock()
	first := a.end()
	a.mu.Unlock()
	a.cancel(len(a.runs))
	if first {
		a.srv.counters.aborted.Add(1)
	}
	return first
}

// whole waits for a response that is not streamed.
type whole struct{ answer }

// visit looks whether everything has ended.
func (w *whole) visit(scratch []byte) []byte {
	w.queued.Store(false)
	if !w.started.Load() {
		return scratch
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return scratch
	}
	_, complete, failed := w.look()
	if complete || failed != nil {
		w.failed = failed
		w.end()
	}
	return scratch
}

// wait parks until the response is complete. It reports false when the client left.
func (w *whole) wait(ctx context.Context) bool {
	for {
		select {
		case <-w.done:
			w.cancelOpen()
			return true
		case <-w.own:
			w.visit(nil)
		case <-ctx.Done():
			w.abandon()
			return false
		}
	}
}

// crashed answers 500.
func (w *whole) crashed(p any) {
	tellPanic("a writer", p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = internalError()
	w.end()
}
