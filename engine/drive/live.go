package drive

import (
	"context"
	"errors"
	"sync"
	"time"

	"fakellm/engine"
)

// Errors of a Live.
var (
	// ErrClosed: the driver is closed, or closing after a drain.
	ErrClosed = errors.New("the engine is shut down")
	// ErrBusy: the inbox is full; the loop has not kept up.
	ErrBusy = errors.New("the engine's inbox is full")
)

// Config describes a Live. The zero value is valid.
type Config struct {
	// Inbox bounds the requests that wait for the loop; 0 for 65,536. Cancellations are not counted: there is at most one
	// per request.
	Inbox int
	// Sinks hear everything that happens, from inside the loop and before the clients wake. They must be quick and never
	// block. Changes of the cache between passes are told only to those that are an [engine.CacheSink].
	Sinks []engine.Sink
	// Sleeper makes the loop wait; nil for the most precise one of the system. Under testing/synctest use
	// [NewTimerSleeper].
	Sleeper Sleeper
	// Record hears every input with its stamp, from inside the loop: enough to replay the run offline. Nil for none.
	Record func(at engine.Time, in engine.Input)
	// Late hears how late the loop woke from a sleep that ran to its deadline. Nil for none.
	Late func(time.Duration)
}

// Live runs a machine on the wall clock. Build it with [NewLive], end it with [Live.Close].
type Live struct {
	cfg     Config
	machine Machine
	origin  time.Time
	done    chan struct{}

	mu     sync.Mutex
	inbox  []entry // guarded by mu
	nextID engine.RequestID
	fresh  int // submissions in inbox
	open   int // mailboxes without an end
	// refuse is what Submit answers once set; idle is closed when nothing is open any more and somebody drains.
	refuse error
	idle   chan struct{}
	stop   bool

	// Owned by the loop.
	spare []entry
	boxes map[engine.RequestID]*Mailbox
	err   error
}

// entry is an input with its stamp, or a question to the loop.
type entry struct {
	at  engine.Time
	in  engine.Input
	box *Mailbox
	ask func()
}

// NewLive starts the loop; its time 0 is now. The machine must not be touched by anyone else from here on.
func NewLive(m Machine, cfg Config) *Live {
	if cfg.Inbox <= 0 {
		cfg.Inbox = 1 << 16
	}
	if cfg.Sleeper == nil {
		cfg.Sleeper = NewSleeper()
	}
	l := &Live{
		cfg: cfg, machine: m, origin: time.Now(), done: make(chan struct{}), nextID: 1,
		boxes: make(map[engine.RequestID]*Mailbox),
	}
	go l.loop()
	return l
}

// Origin is the wall-clock instant of time 0.
func (l *Live) Origin() time.Time { return l.origin }

// Wall converts a modelled instant to the wall clock.
func (l *Live) Wall(at engine.Time) time.Time { return l.origin.Add(time.Duration(at)) }

func (l *Live) clock() engine.Time { return engine.Time(time.Since(l.origin)) }

// Submit enters r, stamped now, and returns its mailbox at once. ID, Arrival and Owner of r are the driver's to set;
// what Owner held is found again as [Mailbox.Owner]. wake is called from the loop, in the order in which a pass serves
// its requests, whenever the mailbox has news; it must not block. Nil for no wake.
func (l *Live) Submit(r engine.Request, wake func()) (*Mailbox, error) {
	box := &Mailbox{live: l, wake: wake, owner: r.Owner}
	box.req = r
	box.req.Owner = box
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return nil, l.refuse
	}
	if l.fresh >= l.cfg.Inbox {
		return nil, ErrBusy
	}
	box.req.ID = l.nextID
	l.nextID++
	l.fresh++
	l.open++
	at := l.clock()
	box.submitted = at
	l.post(entry{at: at, in: engine.Submit{Request: &box.req}, box: box})
	return box, nil
}

// ResetPrefixCache forgets every cached block that no request holds, as of now.
func (l *Live) ResetPrefixCache() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stop {
		l.post(entry{at: l.clock(), in: engine.ResetPrefixCache{}})
	}
}

func (l *Live) cancel(id engine.RequestID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stop {
		l.post(entry{at: l.clock(), in: engine.Cancel{ID: id}})
	}
}

// Inspect runs look inside the loop, where the machine may be read, and waits for it. It returns false, without a
// call, if the driver is closed.
func (l *Live) Inspect(look func()) bool {
	ran := make(chan struct{})
	l.mu.Lock()
	if l.stop {
		l.mu.Unlock()
		return false
	}
	l.post(entry{at: l.clock(), ask: func() { look(); close(ran) }})
	l.mu.Unlock()
	select {
	case <-ran:
		return true
	case <-l.done:
		select {
		case <-ran: // answered by the last round
			return true
		default:
			return false
		}
	}
}

// post queues e for the loop; l.mu is held.
func (l *Live) post(e entry) {
	l.inbox = append(l.inbox, e)
	if len(l.inbox) == 1 {
		l.cfg.Sleeper.Wake()
	}
}

// Drain refuses new requests and waits until every open one has ended, or ctx has.
func (l *Live) Drain(ctx context.Context) error {
	l.mu.Lock()
	if l.refuse == nil {
		l.refuse = ErrClosed
	}
	if l.open == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the loop and every open mailbox (as failed, with [ErrClosed]) and returns when it is gone. It may be
// called more than once.
func (l *Live) Close() {
	l.mu.Lock()
	if l.refuse == nil {
		l.refuse = ErrClosed
	}
	if !l.stop {
		l.stop = true
		l.cfg.Sleeper.Wake()
	}
	l.mu.Unlock()
	<-l.done
}

// Open returns how many requests have been submitted and not ended.
func (l *Live) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}
