package drive

import "fakellm/engine"

// Source supplies the inputs of a virtual run, in order of time.
type Source interface {
	// Next says when the next known input is due; ok is false while none is known. The answer may change whenever the
	// sink has heard something: a closed loop knows its next request when one ends.
	Next() (at engine.Time, ok bool)
	// Take returns that input and moves on.
	Take() engine.Input
}

// Virtual runs m until neither it nor src has anything left, or up to and including until, whichever is first; cut
// reports the latter. It asks src again after everything the sink hears, so a source fed by the sink closes the loop
// within the same instant. last is the time of the last input or event told. Errors of the machine or about an input
// end the run.
func Virtual(m Machine, src Source, sink engine.Sink, until engine.Time) (last engine.Time, cut bool, err error) {
	p := &pump{machine: m, src: src, sink: sink}
	var ears engine.Sink = p
	if runs, ok := sink.(engine.RunSink); ok {
		ears = &runPump{pump: p, runs: runs}
	}
	for p.err == nil {
		to, more := src.Next()
		if !more || to > until {
			to = until
		}
		p.draw(to)
		if err := m.Advance(to, ears); err != nil {
			return p.last, false, err
		}
		if to == until {
			_, busy := m.Next()
			_, more := src.Next()
			return p.last, busy || more, p.err
		}
	}
	return p.last, false, p.err
}

// pump passes on what the machine tells and feeds it what the source learns from that.
type pump struct {
	machine Machine
	src     Source
	sink    engine.Sink
	// horizon is how far the machine is being advanced: inputs due by then must be in.
	horizon, last engine.Time
	err           error
}

type runPump struct {
	*pump
	runs engine.RunSink
}

var (
	_ engine.Sink    = (*pump)(nil)
	_ engine.RunSink = (*runPump)(nil)
)

// draw hands the machine every known input due by horizon.
func (p *pump) draw(horizon engine.Time) {
	p.horizon = horizon
	for p.err == nil {
		at, ok := p.src.Next()
		if !ok || at > horizon {
			return
		}
		p.last = max(p.last, at)
		p.err = p.machine.Apply(at, p.src.Take())
	}
}

func (p *pump) heard(at engine.Time) {
	p.last = max(p.last, at)
	p.draw(p.horizon)
}

// Began implements engine.Sink.
func (p *pump) Began(pass *engine.Pass) { p.sink.Began(pass) }

// Ended implements engine.Sink.
func (p *pump) Ended(pass *engine.Pass) {
	p.sink.Ended(pass)
	p.heard(pass.End)
}

// Left implements engine.Sink.
func (p *pump) Left(d engine.Departure) {
	p.sink.Left(d)
	p.heard(d.At)
}

// Ran implements engine.RunSink.
func (p *runPump) Ran(r *engine.Run) {
	p.runs.Ran(r)
	p.heard(r.Ends[len(r.Ends)-1])
}
