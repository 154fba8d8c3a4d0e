package enginetest

import (
	"fmt"

	"fakellm/engine"
)

// Record is what happened to one request. Instants are -1 while unknown.
type Record struct {
	Req                               *engine.Request
	Arrival, Admit, First, Last, Done engine.Time
	// Reused is the largest reuse of an admission, as the reference's report has it.
	Tokens, Reused, Admissions int
	End                        engine.End
	Why                        *engine.Refusal
	// Stamps are the instants of all tokens.
	Stamps []engine.Time
}

// Recorder is a RunSink that keeps a record per request and checks, as it listens, that what it hears is possible:
// times do not go back per request, every token comes once, nothing follows a terminal output.
type Recorder struct {
	Records map[engine.RequestID]*Record
	Order   []*Record
	// Keep keeps the instant of every token.
	Keep bool
	// OnEnd, if set, hears of every request that ends, at its instant.
	OnEnd func(at engine.Time, r *Record)
	// OnPass, if set, hears of every pass at its end.
	OnPass func(*engine.Pass)
	// Passes counts passes, those of runs included; Preemptions those of requests.
	Passes, Preemptions int
	// Problems lists broken laws.
	Problems []string
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{Records: map[engine.RequestID]*Record{}} }

// Arrived notes that a request was handed in.
func (r *Recorder) Arrived(at engine.Time, req *engine.Request) {
	rec := &Record{Req: req, Arrival: at, Admit: -1, First: -1, Last: -1, Done: -1}
	r.Records[req.ID] = rec
	r.Order = append(r.Order, rec)
}

func (r *Recorder) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Began implements engine.Sink.
func (r *Recorder) Began(p *engine.Pass) {
	if len(p.Outputs) > 0 || len(p.Events) > 0 {
		r.problem("pass %d shows its end at its start", p.Seq)
	}
	for _, a := range p.Admitted {
		rec := r.Records[a.Req.ID]
		rec.Admissions++
		if a.Again != (rec.Admissions > 1) {
			r.problem("request %d: admission %d says again %v", a.Req.ID, rec.Admissions, a.Again)
		}
		if rec.Admissions == 1 {
			rec.Admit = p.Start
		}
		rec.Reused = max(rec.Reused, a.Cached)
		if p.Start < rec.Arrival || rec.End != engine.Running {
			r.problem("request %d: admitted at %d", a.Req.ID, p.Start)
		}
	}
	r.Preemptions += len(p.Preempted)
}

// Ended implements engine.Sink.
func (r *Recorder) Ended(p *engine.Pass) {
	r.Passes++
	if r.OnPass != nil {
		r.OnPass(p)
	}
	for _, o := range p.Outputs {
		r.tokens(p.End, o.Req, o.Tokens)
		r.end(p.End, o)
	}
}

// Ran implements engine.RunSink.
func (r *Recorder) Ran(run *engine.Run) {
	r.Passes += len(run.Ends)
	for _, req := range run.Requests {
		for _, at := range run.Ends {
			r.tokens(at, req, 1)
		}
	}
	for _, o := range run.Outputs {
		r.end(run.Ends[len(run.Ends)-1], o)
	}
}

// Left implements engine.Sink.
func (r *Recorder) Left(d engine.Departure) { r.end(d.At, d.Output) }

func (r *Recorder) tokens(at engine.Time, req *engine.Request, n int) {
	if n == 0 {
		return
	}
	rec := r.Records[req.ID]
	if rec.First < 0 {
		rec.First = at
	}
	if at < rec.Last || rec.Admit < 0 || at < rec.Admit || rec.End != engine.Running {
		r.problem("request %d: token at %d after %+v", req.ID, at, rec)
	}
	rec.Last = at
	rec.Tokens += n
	if rec.Tokens > req.MaxOutput {
		r.problem("request %d: %d tokens of %d", req.ID, rec.Tokens, req.MaxOutput)
	}
	for range n {
		if r.Keep {
			rec.Stamps = append(rec.Stamps, at)
		}
	}
}

func (r *Recorder) end(at engine.Time, o engine.Output) {
	if o.End == engine.Running {
		return
	}
	rec := r.Records[o.Req.ID]
	if rec.End != engine.Running {
		r.problem("request %d: ended twice", o.Req.ID)
	}
	rec.End, rec.Done, rec.Why = o.End, at, o.Why
	if (o.End == engine.Rejected || o.End == engine.Failed) && o.Why == nil {
		r.problem("request %d: %s without reason", o.Req.ID, o.End)
	}
	if r.OnEnd != nil {
		r.OnEnd(at, rec)
	}
}
