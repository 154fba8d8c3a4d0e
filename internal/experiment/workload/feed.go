package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fakellm/engine"
)

// Arrivals says when the sessions of a load begin.
type Arrivals struct {
	// Concurrency is the number of sessions under way in a closed loop, which ignores the start times; 0 for an open loop.
	Concurrency int
	// Speedup divides start times and, in an open loop, the delays between turns; 0 for 1.
	Speedup float64
}

// Validate returns every problem, each with the name of its setting.
func (a Arrivals) Validate() []error {
	var errs []error
	if a.Concurrency < 0 {
		errs = append(errs, fmt.Errorf("replay_concurrency %d: must be at least 1", a.Concurrency))
	}
	if a.Speedup < 0 || math.IsNaN(a.Speedup) || math.IsInf(a.Speedup, 0) {
		errs = append(errs, fmt.Errorf("arrival_speedup_ratio %v: must be finite and greater than 0", a.Speedup))
	}
	return errs
}

// Release is one request at the moment at which it is let go.
type Release struct {
	Request *engine.Request
	// Session and Turn say which it is.
	Session, Turn int32
	// Arrival is its unrounded arrival in ms.
	Arrival float64
}

// Feed releases the requests of a load. It is a drive.Source; whoever hears the ends tells it through [Feed.Ended].
type Feed struct {
	load    *Load
	cfg     Arrivals
	release func(Release) any
	// order lists the sessions as they start, next is the first that has not.
	order []int32
	next  int
	shift float64
	// ranks gives the request ids of an open loop of single turns; nil when ids follow the file.
	byStart bool
	// slots are the sessions that a closed loop may still start at slotsAt.
	slots   int
	slotsAt armed
	// turns are the later turns that know when they are ready, a heap by (at, session).
	turns    []armed
	released int
	slab     []engine.Request
	// dialogs hold, by session, what was said so far in a load that grows; speaker numbers what is generated.
	dialogs []*dialog
	emitted []int
	speaker speaker
}

// armed is a turn with its time.
type armed struct {
	at            engine.Time
	ms            float64
	session, turn int32
}

// NewFeed returns the feed of one run. release is called for every request let go, before the machine sees it; what it
// returns becomes the request's Owner. Errors name line and field of a session that cannot start.
func NewFeed(load *Load, cfg Arrivals, release func(Release) any) (*Feed, error) {
	if errs := cfg.Validate(); len(errs) > 0 {
		return nil, errs[0]
	}
	if cfg.Speedup == 0 {
		cfg.Speedup = 1
	}
	f := &Feed{load: load, cfg: cfg, release: release, order: make([]int32, len(load.Sessions))}
	for i := range f.order {
		f.order[i] = int32(i)
	}
	if cfg.Concurrency > 0 {
		f.slots = cfg.Concurrency
		return f, nil
	}
	f.byStart = len(load.Turns) == len(load.Sessions)
	return f, f.sort()
}

// sort orders the sessions of an open loop by (start, index) and shifts the first to 0.
func (f *Feed) sort() error {
	sessions := f.load.Sessions
	least := math.Inf(1)
	for i := range sessions {
		s := &sessions[i]
		if math.IsNaN(s.Start) {
			const problem = "missing on the first row of a session"
			return &Error{Source: f.load.Source, Line: s.Line, Field: "timestamp", Problem: problem}
		}
		least = min(least, s.Start)
	}
	f.shift = least
	slices.SortStableFunc(f.order, func(a, b int32) int { return cmp.Compare(sessions[a].Start, sessions[b].Start) })
	return nil
}

// Total returns how many requests the load has.
func (f *Feed) Total() int { return len(f.load.Turns) }

// Released returns how many have been let go.
func (f *Feed) Released() int { return f.released }

// Next implements drive.Source. O(1).
func (f *Feed) Next() (engine.Time, bool) {
	a, ok := f.peek()
	return a.at, ok
}

func (f *Feed) peek() (armed, bool) {
	start, ok := f.peekStart()
	if len(f.turns) > 0 && (!ok || f.turns[0].at < start.at) {
		return f.turns[0], true
	}
	return start, ok
}

// peekStart returns the session that starts next, if it is known when.
func (f *Feed) peekStart() (armed, bool) {
	if f.next == len(f.order) {
		return armed{}, false
	}
	s := f.order[f.next]
	if f.cfg.Concurrency > 0 {
		a := f.slotsAt
		a.session = s
		return a, f.slots > 0
	}
	ms := (f.load.Sessions[s].Start - f.shift) / f.cfg.Speedup
	return armed{at: Instant(ms), ms: ms, session: s}, true
}

// Take implements drive.Source. O(log sessions).
func (f *Feed) Take() engine.Input {
	a, _ := f.peek()
	if a.turn > 0 {
		f.popTurn()
	} else {
		f.next++
		if f.cfg.Concurrency > 0 {
			f.slots--
		}
	}
	return engine.Submit{Request: f.build(a)}
}

// build makes the request. Ids order the arrivals of one instant: by start, then file, in an open loop of single
// turns, by session, then turn, otherwise (spec simulation-harness §4.2).
func (f *Feed) build(a armed) *engine.Request {
	turn := f.load.Turn(a.session, a.turn)
	if len(f.slab) == 0 {
		f.slab = make([]engine.Request, min(256, len(f.load.Turns)-f.released))
	}
	r := &f.slab[0]
	f.slab = f.slab[1:]
	id := f.load.Sessions[a.session].First + a.turn
	if f.byStart {
		id = int32(f.next - 1)
	}
	*r = engine.Request{
		ID: engine.RequestID(id), PromptTokens: turn.Prompt, MaxOutput: turn.Output, Content: turn.Content,
		Rank: engine.AnyRank, FinishReason: "length",
	}
	if f.load.Grows {
		f.grow(r, a)
	}
	f.released++
	r.Owner = f.release(Release{Request: r, Session: a.session, Turn: a.turn, Arrival: a.ms})
	return r
}

// grow makes r the next turn of a conversation.
func (f *Feed) grow(r *engine.Request, a armed) {
	if f.dialogs == nil {
		f.dialogs, f.emitted = make([]*dialog, len(f.load.Sessions)), make([]int, len(f.load.Sessions))
	}
	turn := f.load.Turn(a.session, a.turn)
	d := f.dialogs[a.session].next(&f.speaker, f.emitted[a.session], turn.Content.(*Prompt), turn.Output)
	f.dialogs[a.session] = d
	r.PromptTokens, r.Content = d.prompt, d
}

// Ended tells the feed that a turn ended at at, ms being the same unrounded, with emitted tokens. The next turn of the
// session follows after its delay unless this one was cancelled or failed; when a session is over, a closed loop
// starts the next at once.
func (f *Feed) Ended(session, turn int32, at engine.Time, ms float64, end engine.End, emitted int) {
	s := &f.load.Sessions[session]
	if f.load.Grows {
		f.emitted[session] = emitted
	}
	if turn+1 < s.Count && (end == engine.Completed || end == engine.Rejected) {
		delay := f.load.Turn(session, turn+1).Delay
		if f.cfg.Concurrency == 0 {
			delay /= f.cfg.Speedup
		}
		ready := armed{at: at, ms: ms, session: session, turn: turn + 1}
		if delay > 0 {
			ready.ms = ms + delay
			ready.at = max(at, Instant(ready.ms))
		}
		f.pushTurn(ready)
		return
	}
	if f.cfg.Concurrency > 0 {
		f.slots++
		f.slotsAt = armed{at: at, ms: ms}
	}
}
