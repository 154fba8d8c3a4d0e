package engine

import "slices"

// The horizon of a run adapts to how far runs get before an arrival cuts them, so that planning costs O(1) per pass
// that is really committed.
const minHorizon, maxHorizon = 16, 1024

// steady is the run of a worker: passes planned ahead in which only lengths change (architecture §4). Nothing of it is
// real before it is committed.
type steady struct {
	allowed bool
	planned bool
	start   Time
	ends    []Time
	sink    RunSink
	horizon int
	// driven is the last instant at which the worker was driven during the run: a pass that starts then has started.
	driven Time
	said   Run
}

func (s *steady) init(cfg Config) {
	s.horizon = minHorizon
	s.allowed = cfg.Runs && cfg.DPSize == 1 && cfg.NumSpeculativeTokens == 0 && !cfg.EmitKVEvents && !cfg.EmitLoad &&
		cfg.PrefillDecodeInterval == 0
}

// planRun tries to plan a run from at.
func (e *Engine) planRun(at Time, sink Sink) (bool, error) {
	s := &e.run
	if !s.allowed {
		return false, nil
	}
	runs, ok := sink.(RunSink)
	if !ok {
		return false, nil
	}
	ends, err := e.ranks[0].run(at, s.ends[:0], s.horizon)
	s.ends = ends
	if err != nil || len(ends) == 0 {
		return false, err
	}
	s.planned, s.start, s.sink, s.driven = true, at, runs, at
	return true, nil
}

// commit applies the first n passes of the run, drops the rest and tells the sink.
func (e *Engine) commit(n int) {
	s := &e.run
	s.planned = false
	switch {
	case n < len(s.ends):
		s.horizon = min(max(minHorizon, 2*n), maxHorizon)
	case n == s.horizon:
		s.horizon = min(2*n, maxHorizon)
	}
	s.said = Run{
		Worker: e.cfg.WorkerID, Seq: e.group.seq, Start: s.start, Ends: s.ends[:n],
		Requests: s.said.Requests[:0], Outputs: s.said.Outputs[:0],
	}
	e.ranks[0].commit(n, &s.said)
	if n == 0 {
		return
	}
	e.group.seq += uint64(n)
	e.forget(s.said.Outputs)
	s.sink.Ran(&s.said)
}

// cut ends the run at an instant: passes that ended by then are committed, and the one that contains it becomes an
// ordinary pass in flight. If a pass ends exactly at that instant, what comes now joins the next one, unless the worker
// was already driven at it. With ahead, the rest is planned again instead.
func (e *Engine) cut(at Time, ahead bool) error {
	s := &e.run
	n, exact := slices.BinarySearch(s.ends, at)
	start := s.start
	if exact {
		n++
	}
	if n > 0 {
		start = s.ends[n-1]
	}
	all, sink := n == len(s.ends), Sink(s.sink)
	started := n == 0 || start < at || s.driven == at
	e.commit(n)
	if all || !started {
		e.due = true
		return nil
	}
	if ahead {
		if planned, err := e.planRun(start, sink); planned || err != nil {
			if err != nil {
				return e.fail(err)
			}
			return nil
		}
	}
	if _, err := e.launch(start, sink); err != nil {
		return e.fail(err)
	}
	return nil
}
