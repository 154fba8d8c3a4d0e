package replay

import (
	"fmt"

	"fakellm/engine"
	"fakellm/engine/cluster"
	"fakellm/engine/drive"
	"fakellm/internal/experiment/report"
	"fakellm/internal/experiment/workload"
	"fakellm/internal/observe/recorder"
)

// Config says against what, and how, a workload is replayed.
type Config struct {
	Cluster  cluster.Config
	Arrivals workload.Arrivals
	// MaxSimMS ends the run before the first instant later than this; nil for no limit.
	MaxSimMS *float64
	// GPUs is the number of GPUs behind one worker, for the report.
	GPUs int
	// Progress is called after every request that ended; nil for nobody.
	Progress func(done, total int)
	// plain, for tests, stands between the machine and the recorder; what it returns takes no runs.
	plain func(engine.Sink) engine.Sink
}

// Result is what happened.
type Result struct {
	// Records are in the order in which the requests ended. Requests cut off by MaxSimMS have none.
	Records []report.Record
	Totals  report.Totals
}

// Run replays load and returns when nothing is left to do. Errors name what cannot start, or say which pass the timing
// model could not price.
func Run(load *workload.Load, cfg Config, model engine.StepModel) (*Result, error) {
	until := drive.Forever
	if cfg.MaxSimMS != nil {
		until = engine.Time(*cfg.MaxSimMS * 1e6)
	}
	cfg.Cluster.Engine.Runs = cfg.MaxSimMS == nil // a run told as a whole cannot be cut off in its middle
	machine, err := cluster.New(cfg.Cluster, model)
	if err != nil {
		return nil, err
	}
	r := &run{load: load, cfg: cfg}
	r.recorder = recorder.New(recorder.Config{
		Ranks: cfg.Cluster.Engine.DPSize, Expect: len(load.Turns), Ended: r.ended,
	})
	if r.feed, err = workload.NewFeed(load, cfg.Arrivals, r.release); err != nil {
		return nil, err
	}
	var sink engine.Sink = r.recorder
	if cfg.plain != nil {
		sink = cfg.plain(sink)
	}
	last, cut, err := drive.Virtual(machine, r.feed, sink, until)
	if err != nil {
		return nil, err
	}
	if left := machine.Held(); left > 0 && !cut {
		return nil, fmt.Errorf("dead end at %.6f ms: %d requests are held and nothing is due", last.Milliseconds(), left)
	}
	return &Result{Records: r.recorder.Records(), Totals: report.Totals{
		Released: r.feed.Released(), CommittedPrefill: r.recorder.CommittedPrefill(), Gaps: r.recorder.Gaps(),
		WorkerMS: float64(cfg.Cluster.Workers) * r.recorder.Clock(last), GPUs: cfg.GPUs,
	}}, nil
}

// run ties the feed and the recorder of one replay together.
type run struct {
	load     *workload.Load
	cfg      Config
	feed     *workload.Feed
	recorder *recorder.Recorder
	done     int
}

func (r *run) release(rel workload.Release) any {
	e := r.recorder.Follow(rel.Request, rel.Arrival, workload.Instant(rel.Arrival))
	e.SessionIndex, e.TurnIndex = rel.Session, rel.Turn
	if r.load.Named || r.load.File && r.cfg.Arrivals.Concurrency > 0 {
		s := &r.load.Sessions[rel.Session]
		e.Named, e.Session, e.Turn = true, s.Name, int(rel.Turn)
		if s.Name == "" {
			e.Session = fmt.Sprintf("request_%d", s.Line)
		}
	}
	return e
}

func (r *run) ended(e *recorder.Entry, at engine.Time, end engine.End) {
	r.feed.Ended(e.SessionIndex, e.TurnIndex, at, e.Terminal, end, e.Output)
	r.done++
	if r.cfg.Progress != nil {
		r.cfg.Progress(r.done, r.feed.Total())
	}
}
