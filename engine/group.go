package engine

import "fmt"

// maxRetries bounds how often an effect-free round is repeated at one instant (spec §7.3). A core counts them itself,
// so that its last answer can be another one; the Engine only makes sure that an instant ends.
const maxRetries = 1023

// group is the barrier of a worker's ranks: one pass in flight for all of them (spec §7.1), and the cadences that space
// prefills over the whole group (spec §7.4).
type group struct {
	worker   int
	passes   []Pass
	flying   []int // ranks whose pass is in flight
	end      Time
	inFlight bool
	seq      uint64
	// shown is the state of each rank that outsiders see while a pass is in flight.
	shown []RankState
	// every is vLLM's prefill_schedule_interval (0: off), step counts the executed rounds.
	every, step int
	// interval is SGLang's prefill_decode_interval, countdown the rounds it still holds prefill back.
	interval, countdown int
	// idle are the ranks of the last round that did nothing and cannot hope to.
	idle []int
}

func (g *group) init(cfg Config) {
	g.worker = cfg.WorkerID
	g.passes = make([]Pass, cfg.DPSize)
	g.shown = make([]RankState, cfg.DPSize)
	if cfg.DPSize > 1 && cfg.PrefillScheduleInterval > 1 {
		g.every = cfg.PrefillScheduleInterval
	}
	if cfg.Backend == SGLang {
		g.interval = cfg.PrefillDecodeInterval
	}
}

// Complete ends the pass in flight, or the planned run, if it is due at or before to: each rank's outputs and events
// become visible at the group's end, in the order of ranks. Complete the due workers of an instant before anything else
// of that instant.
func (e *Engine) Complete(to Time, sink Sink) {
	if e.err != nil {
		return
	}
	end, ok := e.boundary()
	if !ok || end > to {
		return
	}
	e.now = max(e.now, end)
	e.due = true
	if e.run.planned {
		e.commit(len(e.run.ends))
		return
	}
	e.land(sink)
}

// land makes the pass in flight visible.
func (e *Engine) land(sink Sink) {
	g := &e.group
	g.inFlight = false
	for _, rank := range g.flying {
		e.forget(g.passes[rank].Outputs)
	}
	for _, rank := range g.flying {
		g.passes[rank].After = e.ranks[rank].state()
		sink.Ended(&g.passes[rank])
	}
}

// Drive starts the next pass at an instant if none is in flight and there is work. Passes of zero length are completed
// on the spot and driven again, until one takes time or none has an effect; then the worker parks until something
// outside changes. What can never proceed is ended here with a reason. Drive a worker after the completions and
// arrivals of an instant. The error is that of the timing model and ends the engine.
func (e *Engine) Drive(at Time, sink Sink) error {
	if err := e.reach(at); err != nil {
		return err
	}
	for retries := 0; ; {
		e.tellCache(at, sink)
		switch {
		case e.group.inFlight:
			e.due = false
			return nil
		case e.run.planned:
			e.due, e.run.driven = false, at
			return nil
		case !e.ready():
			e.due = false
			e.expire()
			return nil
		}
		if planned, err := e.planRun(at, sink); planned || err != nil {
			if err != nil {
				return e.fail(err)
			}
			continue
		}
		done, err := e.launch(at, sink)
		if err != nil {
			return e.fail(err)
		}
		ended := e.endStuck(at, sink)
		switch {
		case e.group.inFlight && e.group.end == at:
			e.land(sink)
			retries = 0
		case e.group.inFlight || ended || done.countdown:
		case done.retry && retries < 2*maxRetries:
			retries++
		default:
			e.due = false
			return nil
		}
	}
}

// ready says whether any rank has something to do.
func (e *Engine) ready() bool {
	for _, c := range e.ranks {
		if c.ready() {
			return true
		}
	}
	return false
}

// expire lets a countdown run out at once when nobody has work: idle rounds take no time (spec §7.4). The step of the
// vLLM cadence starts over.
func (e *Engine) expire() {
	g := &e.group
	g.step = 0
	if g.countdown == 0 {
		return
	}
	g.countdown = 0
	for _, c := range e.ranks {
		c.settle(false, true)
	}
}

// round is what a launch amounts to besides a pass in flight.
type round struct {
	// retry: an effect-free round may be repeated at once. countdown: so it may because a cadence counts rounds.
	retry, countdown bool
}

// launch runs one round: every ready rank computes its pass at once. If any of it takes time or has an effect, the
// group is in flight until its slowest rank ends, and the sink hears of the starts.
func (e *Engine) launch(at Time, sink Sink) (round, error) {
	g := &e.group
	t := turn{deferPrefill: g.countdown > 0 || g.every > 0 && g.step%g.every != 0}
	end := at
	worked, prefilled, retry := false, false, false
	g.flying, g.idle = g.flying[:0], g.idle[:0]
	for rank, c := range e.ranks {
		g.shown[rank] = c.state()
		if !c.ready() {
			continue
		}
		p := &g.passes[rank]
		p.reset(g.worker, rank, at)
		v, err := c.pass(p, t)
		if err != nil {
			return round{}, fmt.Errorf("engine: worker %d rank %d: prefill %+v, decode %+v: %w",
				g.worker, rank, p.Prefill, p.Decode, err)
		}
		took := p.PrefillTime + p.DecodeTime
		switch {
		case v.effect || took > 0:
			g.flying = append(g.flying, rank)
			g.shown[rank] = p.After
			end = max(end, at.Add(took))
		case !v.retry:
			g.idle = append(g.idle, rank)
		}
		retry = retry || v.retry
		worked = worked || p.ScheduledTokens > 0
		prefilled = prefilled || v.prefilled
	}
	deferred := g.countdown > 0
	for _, c := range e.ranks {
		c.settle(worked, deferred)
	}
	g.count(prefilled)
	if deferred {
		g.idle = g.idle[:0]
	}
	if len(g.flying) > 0 {
		e.begin(end, sink)
	}
	return round{retry: retry, countdown: deferred}, nil
}

// count moves the cadences on after a round.
func (g *group) count(prefilled bool) {
	switch {
	case prefilled && g.interval > 0:
		g.countdown = g.interval
	case g.countdown > 0:
		g.countdown--
	}
	if len(g.flying) > 0 {
		g.step++
	}
}

// begin puts the group in flight and tells the sink of the starts, with the ends still hidden.
func (e *Engine) begin(end Time, sink Sink) {
	g := &e.group
	g.inFlight, g.end = true, end
	for _, rank := range g.flying {
		p := &g.passes[rank]
		p.Seq, p.End = g.seq, end
		outputs, events := p.Outputs, p.Events
		p.Outputs, p.Events = p.Outputs[:0], p.Events[:0]
		sink.Began(p)
		p.Outputs, p.Events = outputs, events
	}
	g.seq++
}

// endStuck ends one request on each rank that did nothing and never will, and says whether it ended any.
func (e *Engine) endStuck(at Time, sink Sink) (ended bool) {
	for _, rank := range e.group.idle {
		out, ok := e.ranks[rank].stuck()
		if !ok {
			continue
		}
		ended = true
		e.group.shown[rank] = e.ranks[rank].state() // it has no pass in flight
		e.leave(at, rank, out, sink)
	}
	return ended
}

// reset prepares a reused pass.
func (p *Pass) reset(worker, rank int, start Time) {
	*p = Pass{
		Worker: worker, Rank: rank, Start: start,
		Admitted: p.Admitted[:0], Preempted: p.Preempted[:0], Outputs: p.Outputs[:0], Events: p.Events[:0],
	}
}
