package recorder

import (
	"fmt"

	"fakellm/engine"
	"fakellm/internal/experiment/report"
)

// Config describes a Recorder.
type Config struct {
	// Ranks is the number of ranks per worker, at least 1.
	Ranks int
	// Expect is the number of requests to come, as far as known, to make room for their records at once.
	Expect int
	// Ended is called at the end of every request; nil for nobody. at is the instant and ms the same unrounded.
	Ended func(e *Entry, at engine.Time, end engine.End)
}

// Recorder is a sink that keeps the records of the requests that have ended, in the order of their ends. Requests it
// is to follow carry the *Entry of [Recorder.Follow] as their Owner; it ignores all others.
type Recorder struct {
	cfg     Config
	records []report.Record
	gaps    *report.Gaps
	lanes   []*lane
	phases  []phase
	prefill int64
	slab    []Entry
	free    []*Entry // ended ones, to be used again
}

// Entry follows one request, until its end: afterwards it may follow another.
type Entry struct {
	report.Record
	// SessionIndex and TurnIndex are the caller's.
	SessionIndex, TurnIndex int32
	arrival                 engine.Time
	track                   track
}

// phase is how far the timeline of a worker runs behind the instants told: a worker that was idle starts at its
// arrival, which the machine rounds up to a whole nanosecond, and keeps that distance while it has work.
type phase struct {
	behind     float64 // ms, in [0, 1e-6)
	start, end engine.Time
	// seek: the worker was idle before the passes that start at start, and the arrival that set it going is not yet found.
	seek bool
}

// New returns an empty recorder.
func New(cfg Config) *Recorder {
	cfg.Ranks = max(1, cfg.Ranks)
	return &Recorder{cfg: cfg, gaps: report.NewGaps(), records: make([]report.Record, 0, cfg.Expect)}
}

var _ engine.RunSink = (*Recorder)(nil)

// Follow returns the entry of a request about to be submitted. arrival is its time unrounded, in ms, at the same on the
// machine's timeline.
func (r *Recorder) Follow(req *engine.Request, arrival float64, at engine.Time) *Entry {
	e := r.entry()
	e.Record = report.Record{
		ID: uint64(req.ID), Arrival: arrival, Input: req.PromptTokens, Requested: req.MaxOutput,
		FirstAdmit: report.None(), FirstToken: report.None(), SecondToken: report.None(), LastToken: report.None(),
		Terminal: report.None(), Worker: -1, Rank: -1, Scheduler: -1,
	}
	e.arrival = at
	e.track.last = never
	return e
}

func (r *Recorder) entry() *Entry {
	if last := len(r.free) - 1; last >= 0 {
		e := r.free[last]
		r.free = r.free[:last]
		return e
	}
	if len(r.slab) == 0 {
		r.slab = make([]Entry, 64)
	}
	e := &r.slab[0]
	r.slab = r.slab[1:]
	return e
}

// Records returns what has ended, in order of the ends. The recorder keeps appending to it.
func (r *Recorder) Records() []report.Record { return r.records }

// CommittedPrefill returns the tokens computed in finished passes by requests with prompt tokens in them.
func (r *Recorder) CommittedPrefill() int64 { return r.prefill }

// Gaps returns the gaps between tokens of the completed requests. It ends the recording: call it once, after the run.
func (r *Recorder) Gaps() *report.Gaps {
	for _, l := range r.lanes {
		if l != nil {
			l.flush(r.gaps, true)
		}
	}
	return r.gaps
}

// Began implements engine.Sink.
func (r *Recorder) Began(p *engine.Pass) {
	ph := r.phase(p.Worker)
	if p.Start != ph.end && p.Start != ph.start {
		ph.behind, ph.seek = 0, true
	}
	ph.start = p.Start
	for i := range p.Admitted {
		a := &p.Admitted[i]
		e, ok := a.Req.Owner.(*Entry)
		if !ok {
			continue
		}
		if ph.seek && e.arrival == p.Start {
			ph.behind, ph.seek = e.arrival.Milliseconds()-e.Arrival, false
		}
		r.admit(e, p, a, ph)
	}
	ph.end = max(ph.end, p.End)
}

func (r *Recorder) admit(e *Entry, p *engine.Pass, a *engine.Admission, ph *phase) {
	at := p.Start.Milliseconds() - ph.behind
	if e.Admissions == 0 {
		e.FirstAdmit, e.FirstReused = at, a.Cached
		r.place(e, p.Worker, p.Rank)
	} else {
		e.Again = append(e.Again, report.Admission{At: at, Reused: a.Cached})
	}
	e.Admissions++
	e.Reused = max(e.Reused, a.Cached)
}

func (r *Recorder) place(e *Entry, worker, rank int) {
	e.Worker, e.Rank, e.Scheduler = worker, rank, worker*r.cfg.Ranks+rank
}

// Ended implements engine.Sink.
func (r *Recorder) Ended(p *engine.Pass) {
	ph := r.phase(p.Worker)
	ph.end = p.End
	r.prefill += int64(p.PromptTokens)
	if len(p.Outputs) == 0 {
		return
	}
	ms := p.End.Milliseconds() - ph.behind
	l := r.lane(p.Worker, p.Rank)
	index := l.mark(p.End)
	for i := range p.Outputs {
		out := &p.Outputs[i]
		e, ok := out.Req.Owner.(*Entry)
		if !ok {
			continue
		}
		if out.Tokens > 0 {
			l.tokens(e, index, p.End, ms, out.Tokens)
		}
		if out.End != engine.Running {
			r.place(e, p.Worker, p.Rank)
			r.end(e, l, out, p.End, ms)
		}
	}
	l.flush(r.gaps, false)
}

// Ran implements engine.RunSink.
func (r *Recorder) Ran(run *engine.Run) {
	ph := r.phase(run.Worker)
	n := len(run.Ends)
	at := run.Ends[n-1]
	ph.end = at
	l := r.lane(run.Worker, run.Rank)
	first := l.marks(run.Ends)
	for _, req := range run.Requests {
		if e, ok := req.Owner.(*Entry); ok {
			l.run(e, first, run.Ends, ph.behind)
		}
	}
	for i := range run.Outputs {
		out := &run.Outputs[i]
		if e, ok := out.Req.Owner.(*Entry); ok && out.End != engine.Running {
			r.end(e, l, out, at, at.Milliseconds()-ph.behind)
		}
	}
	l.flush(r.gaps, false)
}

// Left implements engine.Sink.
func (r *Recorder) Left(d engine.Departure) {
	e, ok := d.Req.Owner.(*Entry)
	if !ok {
		return
	}
	r.place(e, d.Worker, d.Rank)
	r.end(e, r.lane(d.Worker, d.Rank), &d.Output, d.At, d.At.Milliseconds()-r.phase(d.Worker).behind)
}

func (r *Recorder) end(e *Entry, l *lane, out *engine.Output, at engine.Time, ms float64) {
	e.Terminal, e.Status = ms, out.End.String()
	if out.Why != nil {
		e.Why = fmt.Sprintf("%s %d: %d %s needed", out.Why.Setting, out.Why.Have, out.Why.Need, out.Why.Unit)
	}
	l.close(e, e.Counts(), r.gaps)
	r.records = append(r.records, e.Record)
	if r.cfg.Ended != nil {
		r.cfg.Ended(e, at, out.End)
	}
	r.free = append(r.free, e)
}

func (r *Recorder) phase(worker int) *phase {
	for worker >= len(r.phases) {
		r.phases = append(r.phases, phase{start: -1, end: -1})
	}
	return &r.phases[worker]
}

func (r *Recorder) lane(worker, rank int) *lane {
	i := worker*r.cfg.Ranks + rank
	for i >= len(r.lanes) {
		r.lanes = append(r.lanes, nil)
	}
	if r.lanes[i] == nil {
		r.lanes[i] = new(lane)
	}
	return r.lanes[i]
}

// Clock returns the instant at in ms, unrounded as far as a worker is known to have been at it.
func (r *Recorder) Clock(at engine.Time) float64 {
	ms := at.Milliseconds()
	for i := range r.phases {
		if r.phases[i].end == at {
			return ms - r.phases[i].behind
		}
	}
	return ms
}
