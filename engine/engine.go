package engine

import (
	"errors"
	"fmt"
	"slices"
)

// Engine is one worker: its ranks behind their barrier, on the timeline. It is a pure state machine with two sets of
// doors. A lone worker is driven by Apply, Next and Advance, which keep the order of one instant. A cluster, which has
// to order one instant over many workers, uses the half steps Complete, Submit, Cancel and Drive instead, in this
// order (spec simulation-harness §4.2). Make one with [New].
type Engine struct {
	cfg   Config
	ranks []core
	now   Time
	err   error // what poisoned it
	held  map[RequestID]holding
	// turnRank is the next choice of the round robin over ranks.
	turnRank int
	// due says that something changed since the last Drive, stale that listeners to the cache may not know of it.
	due, stale bool

	group group
	run   steady
	// inbox holds the inputs of Apply, those before taken are done; coming are the ids of requests among them.
	inbox  []stamped
	taken  int
	coming map[RequestID]struct{}
}

// holding is where a request is.
type holding struct {
	req  *Request
	rank int32
}

// New returns an idle engine at the origin of the timeline. The error joins every problem of the config, each naming
// its field.
func New(cfg Config, model StepModel) (*Engine, error) {
	problems := cfg.Validate()
	if model == nil {
		problems = append(problems, errors.New("timing model: missing"))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	e := &Engine{cfg: cfg, held: make(map[RequestID]holding), coming: make(map[RequestID]struct{})}
	core := newVLLM
	if cfg.Backend == SGLang {
		core = newSGLang
	}
	for rank := range cfg.DPSize {
		e.ranks = append(e.ranks, core(cfg.perRank(), rank, model))
	}
	e.group.init(cfg)
	e.run.init(cfg)
	return e, nil
}

// perRank returns the config of one rank: several SGLang ranks share the chunk and are told to expect less output (spec
// engine-core §1.1).
func (c Config) perRank() Config {
	if c.Backend == SGLang && c.DPSize > 1 {
		c.SGLang.ChunkedPrefillSize /= c.DPSize
		c.SGLang.ScheduleConservativeness *= 0.3
	}
	return c
}

// Config returns what the engine was made from.
func (e *Engine) Config() Config { return e.cfg }

// Now returns the latest instant the engine was told of.
func (e *Engine) Now() Time { return e.now }

// Held returns the number of requests that have not left.
func (e *Engine) Held() int { return len(e.held) }

// Err returns the error that ended the engine, if any: a pass that could not be timed.
func (e *Engine) Err() error { return e.err }

// reach moves the clock to at. It refuses to go back, and to pass the end of a pass that was not completed.
func (e *Engine) reach(at Time) error {
	if e.err != nil {
		return e.err
	}
	if at < e.now {
		return fmt.Errorf("engine: instant %d lies before %d", at, e.now)
	}
	if end, ok := e.boundary(); ok && end <= at {
		return fmt.Errorf("engine: the pass that ends at %d must be completed before instant %d", end, at)
	}
	e.now = at
	return nil
}

// boundary is the end of the pass in flight or of the planned run.
func (e *Engine) boundary() (Time, bool) {
	switch {
	case e.group.inFlight:
		return e.group.end, true
	case e.run.planned:
		return e.run.ends[len(e.run.ends)-1], true
	}
	return 0, false
}

// Submit enters a request at an instant. A bad request is an error and changes nothing. With a run planned, the passes
// that ended by then are told to the sink of the Drive that planned it.
func (e *Engine) Submit(at Time, r *Request) error {
	if err := e.check(r); err != nil {
		return err
	}
	if err := e.reach(at); err != nil {
		return err
	}
	rank := r.Rank
	if rank == AnyRank {
		rank = e.turnRank
		e.turnRank = (rank + 1) % len(e.ranks)
	}
	if e.run.planned && !e.ranks[rank].holds(r) {
		if err := e.cut(at, false); err != nil {
			return err
		}
	}
	r.Arrival = at
	e.held[r.ID] = holding{req: r, rank: int32(rank)}
	e.ranks[rank].submit(r)
	e.group.shown[rank].Waiting++
	e.due = true
	return nil
}

// maxTokens bounds lengths so that sums never overflow.
const maxTokens = 1 << 48

// check refuses what no scheduler could make sense of.
func (e *Engine) check(r *Request) error {
	switch {
	case r == nil:
		return errors.New("engine: submit without request")
	case r.PromptTokens < 0 || r.PromptTokens > maxTokens:
		return fmt.Errorf("engine: request %d: prompt tokens %d: out of range 0..%d", r.ID, r.PromptTokens, maxTokens)
	case r.MaxOutput < 0 || r.MaxOutput > maxTokens:
		return fmt.Errorf("engine: request %d: max output %d: out of range 0..%d", r.ID, r.MaxOutput, maxTokens)
	case r.Rank < AnyRank || r.Rank >= len(e.ranks):
		return fmt.Errorf("engine: request %d: rank %d: this worker has %d", r.ID, r.Rank, len(e.ranks))
	}
	if _, twice := e.held[r.ID]; twice {
		return fmt.Errorf("engine: request %d: already held", r.ID)
	}
	return nil
}

// Cancel withdraws a request at an instant and tells the sink; false if it is not held. A pass in flight keeps its
// length, only the outputs of this request are taken out of it.
func (e *Engine) Cancel(at Time, id RequestID, sink Sink) bool {
	h, ok := e.held[id]
	if !ok || e.reach(at) != nil {
		return false
	}
	if e.run.planned {
		if e.cut(at, false) != nil {
			return false
		}
		if _, ok = e.held[id]; !ok {
			return false // the cut completed it
		}
	}
	before := e.ranks[h.rank].state()
	e.ranks[h.rank].cancel(id)
	e.group.strip(int(h.rank), id, before, e.ranks[h.rank].state())
	e.due = true
	e.leave(at, int(h.rank), Output{Req: h.req, End: Cancelled}, sink)
	return true
}

// ResetPrefixCache forgets, on all ranks, the cached blocks nobody holds.
func (e *Engine) ResetPrefixCache(at Time) error {
	if err := e.reach(at); err != nil {
		return err
	}
	if e.run.planned {
		if err := e.cut(at, false); err != nil {
			return err
		}
	}
	for _, c := range e.ranks {
		c.resetPrefixCache()
	}
	e.due, e.stale = true, e.cfg.EmitKVEvents
	return nil
}

// tellCache tells a CacheSink what happened to the caches between passes. O(ranks), and nothing when nothing happened.
func (e *Engine) tellCache(at Time, sink Sink) {
	if !e.stale || e.group.inFlight || e.run.planned {
		return
	}
	e.stale = false
	ears, ok := sink.(CacheSink)
	if !ok {
		return // the next pass tells it
	}
	for rank, c := range e.ranks {
		if events := c.changes(); len(events) > 0 {
			ears.Changed(CacheChange{At: at, Worker: e.cfg.WorkerID, Rank: rank, Events: events})
		}
	}
}

// leave tells the sink that a request ended outside a pass.
func (e *Engine) leave(at Time, rank int, out Output, sink Sink) {
	e.stale = e.cfg.EmitKVEvents
	delete(e.held, out.Req.ID)
	sink.Left(Departure{At: at, Worker: e.cfg.WorkerID, Rank: rank, Output: out})
}

// forget drops the requests with a terminal output from the books.
func (e *Engine) forget(outs []Output) {
	for i := range outs {
		if outs[i].End != Running {
			delete(e.held, outs[i].Req.ID)
		}
	}
}

// Next returns the instant at which the engine next changes by itself.
func (e *Engine) Next() (Time, bool) {
	at, ok := e.boundary()
	if !ok && e.due {
		at, ok = e.now, true
	}
	if e.taken < len(e.inbox) && (!ok || e.inbox[e.taken].at < at) {
		at, ok = e.inbox[e.taken].at, true
	}
	return at, ok
}

// Snapshot is a copied view of a worker.
type Snapshot struct {
	Now Time
	// Ranks are the states at the last boundary of the group, with the queue kept up to date. During a planned run they
	// are those of its start.
	Ranks []RankState
	// Held counts the requests that have not left; Busy says that a pass is in flight.
	Held int
	Busy bool
}

// Snapshot returns the state that outsiders may know: nothing of a pass in flight beyond what its start made visible.
func (e *Engine) Snapshot() Snapshot {
	s := Snapshot{Now: e.now, Held: len(e.held), Busy: e.group.inFlight || e.run.planned}
	for rank := range e.ranks {
		s.Ranks = append(s.Ranks, e.State(rank))
	}
	return s
}

// State returns what Snapshot says of one rank, without copying the others.
func (e *Engine) State(rank int) RankState {
	if e.group.inFlight {
		return e.group.shown[rank]
	}
	return e.ranks[rank].state()
}

// fail poisons the engine.
func (e *Engine) fail(err error) error {
	e.err = err
	return err
}

// strip takes a cancelled request out of the pass in flight and shows the change of its rank.
func (g *group) strip(rank int, id RequestID, before, after RankState) {
	if !g.inFlight {
		return
	}
	p := &g.passes[rank]
	p.Outputs = slices.DeleteFunc(p.Outputs, func(o Output) bool { return o.Req.ID == id })
	g.shown[rank].shift(before, after)
}

// shift applies the change from before to after to a state that was taken at another moment. What is only known at the
// end of a pass may be part of the change, so the result is kept possible.
func (s *RankState) shift(before, after RankState) {
	s.Running = max(0, s.Running+after.Running-before.Running)
	s.Waiting = max(0, s.Waiting+after.Waiting-before.Waiting)
	s.Preemptions += after.Preemptions - before.Preemptions
	s.ActiveBlocks = max(0, s.ActiveBlocks+after.ActiveBlocks-before.ActiveBlocks)
	s.InactiveBlocks = max(0, s.InactiveBlocks+after.InactiveBlocks-before.InactiveBlocks)
	s.InactiveBlocks = min(s.InactiveBlocks, s.TotalBlocks-s.ActiveBlocks)
}
