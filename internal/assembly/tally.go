package assembly

import (
	"log/slog"
	"sync/atomic"
	"time"

	"fakellm/engine"
	"fakellm/internal/observe/metrics"
	"fakellm/timing"
)

// Counts are what a server did in its life.
type Counts struct {
	Requests     int64 `json:"requests"`
	Completed    int64 `json:"completed"`
	Cancelled    int64 `json:"cancelled"`
	Refused      int64 `json:"refused"`
	Tokens       int64 `json:"tokens"`
	Disconnected int64 `json:"disconnected"`
	// Cut answers ended too early and not by their client's doing: it did not read, or the drain timed out.
	Cut int `json:"cut"`
}

// tally counts ends and tokens. It implements engine.Sink; counts may be read concurrently.
type tally struct {
	completed, cancelled, refused, tokens, disconnected, cut atomic.Int64
}

// Began does nothing.
func (t *tally) Began(*engine.Pass) {}

// Ended counts the outputs of a pass.
func (t *tally) Ended(p *engine.Pass) {
	for i := range p.Outputs {
		t.output(&p.Outputs[i])
	}
}

// Left counts an end between passes.
func (t *tally) Left(d engine.Departure) { t.output(&d.Output) }

func (t *tally) output(o *engine.Output) {
	t.tokens.Add(int64(o.Tokens))
	switch o.End {
	case engine.Running:
	case engine.Completed:
		t.completed.Add(1)
	case engine.Cancelled:
		t.cancelled.Add(1)
	case engine.Rejected, engine.Failed:
		t.refused.Add(1)
	}
}

func (t *tally) counts() Counts {
	c := Counts{
		Completed: t.completed.Load(), Cancelled: t.cancelled.Load(), Refused: t.refused.Load(), Tokens: t.tokens.Load(),
		Disconnected: t.disconnected.Load(), Cut: int(t.cut.Load()),
	}
	c.Requests = c.Completed + c.Cancelled + c.Refused
	return c
}

// watcher turns what the face observes into metrics. It implements openai.Observer.
type watcher struct {
	own   *metrics.Own
	tally *tally
	log   *slog.Logger
}

// Stalled notes a client whose answer was cut because it did not read.
func (w *watcher) Stalled(id string, after time.Duration) {
	w.tally.cut.Add(1)
	w.log.Warn("an answer was cut: its client did not read", "request", id, "write_timeout", after)
}

// Emitted notes the lateness of a write.
func (w *watcher) Emitted(late time.Duration) { w.own.EmitLate(late) }

// Answered notes a finished HTTP request.
func (w *watcher) Answered(route string, status int, _ time.Duration) { w.own.Request(route, status) }

// Left notes a client that left before the end of its answer.
func (w *watcher) Left() {
	w.own.Disconnected()
	w.tally.disconnected.Add(1)
}

// outside republishes, once per pass, how many shapes the timing model had to extrapolate: the model itself belongs to
// the pacing loop and may not be read by a scrape. It implements engine.Sink.
type outside struct {
	model timing.Extrapolator // nil: nothing to count
	seen  atomic.Uint64
}

func newOutside(t StepTiming) *outside {
	m, _ := t.Model.(timing.Extrapolator)
	return &outside{model: m}
}

// Began does nothing.
func (o *outside) Began(*engine.Pass) {}

// Left does nothing.
func (o *outside) Left(engine.Departure) {}

// Ended copies the count.
func (o *outside) Ended(*engine.Pass) {
	if o.model != nil {
		o.seen.Store(o.model.Extrapolations())
	}
}

func (o *outside) count() uint64 { return o.seen.Load() }
