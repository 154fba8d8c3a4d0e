package drive

import (
	"sync"
	"time"

	"fakellm/engine"
)

// Mailbox holds what has become due for one request: counters and instants, never a queue. A reader that looks rarely
// loses nothing, and one that never looks holds up nobody.
type Mailbox struct {
	live      *Live
	wake      func()
	owner     any
	req       engine.Request
	submitted engine.Time

	mu        sync.Mutex
	state     state
	cancelled bool
}

// state is a Progress on the machine's timeline.
type state struct {
	tokens, forwards, cached  int
	admitted                  bool
	end                       engine.End
	why                       *engine.Refusal
	err                       error
	due, admit, first, latest engine.Time
}

// Progress is the state of a request by now. Instants are modelled ones, on the wall clock; zero while unknown.
type Progress struct {
	// Tokens are due so far. Cached prompt tokens were reused, known once Admitted.
	Tokens, Cached int
	Admitted       bool
	// End is Running while the request goes on. Why and Err explain Rejected and Failed; Err is set when it was not the
	// engine's verdict: bad input, a broken timing model, a shutdown.
	End engine.End
	Why *engine.Refusal
	Err error
	// Due is the instant of the newest news.
	Due                                               time.Time
	Submitted, FirstAdmitted, FirstToken, LatestToken time.Time
	// Forwards counts the passes that gave tokens; with speculation Tokens may be larger.
	Forwards int
}

// ID returns the id under which the request is known to sinks.
func (b *Mailbox) ID() engine.RequestID { return b.req.ID }

// Owner returns what Request.Owner was when the request was submitted.
func (b *Mailbox) Owner() any { return b.owner }

// Progress returns what is due by now. O(1), never blocks on the loop.
func (b *Mailbox) Progress() Progress {
	b.mu.Lock()
	s := b.state
	b.mu.Unlock()
	p := Progress{
		Tokens: s.tokens, Cached: s.cached, Admitted: s.admitted, End: s.end, Why: s.why, Err: s.err,
		Forwards: s.forwards, Submitted: b.live.Wall(b.submitted),
	}
	if s.admitted {
		p.FirstAdmitted = b.live.Wall(s.admit)
		p.Due = p.FirstAdmitted
	}
	if s.tokens > 0 {
		p.FirstToken, p.LatestToken = b.live.Wall(s.first), b.live.Wall(s.latest)
		p.Due = p.LatestToken
	}
	if s.end != engine.Running {
		p.Due = b.live.Wall(s.due)
	}
	return p
}

// Cancel frees the request's slot within one pass; the mailbox then ends as Cancelled. After the end, and a second
// time, it does nothing.
func (b *Mailbox) Cancel() {
	b.mu.Lock()
	skip := b.cancelled || b.state.end != engine.Running
	b.cancelled = true
	b.mu.Unlock()
	if !skip {
		b.live.cancel(b.req.ID)
	}
}

func (b *Mailbox) admit(at engine.Time, a engine.Admission) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.state.admitted {
		b.state.admitted, b.state.admit, b.state.cached = true, at, a.Cached
	}
}

func (b *Mailbox) put(at engine.Time, out *engine.Output) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.state
	if out.Tokens > 0 {
		if s.tokens == 0 {
			s.first = at
		}
		s.tokens += out.Tokens
		s.forwards++
		s.latest = at
	}
	s.due, s.end, s.why = at, out.End, out.Why
}

func (b *Mailbox) finish(at engine.Time, end engine.End, why *engine.Refusal, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.due, b.state.end, b.state.why, b.state.err = at, end, why, err
}

func (b *Mailbox) call() {
	if b.wake != nil {
		b.wake()
	}
}
