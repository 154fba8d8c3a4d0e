package cluster

import "fakellm/engine"

// ears stands between the workers and the sink: the cluster forgets a request before the sink hears of its end, so the
// sink may submit under the same id again.
type ears struct {
	cluster *Cluster
	sink    engine.Sink
}

// runEars are ears for a sink that takes runs.
type runEars struct {
	*ears
	sink engine.RunSink
}

// cacheEars are ears for a sink that hears of changes between passes.
type cacheEars struct {
	*ears
	sink engine.CacheSink
}

var (
	_ engine.Sink      = (*ears)(nil)
	_ engine.RunSink   = (*runEars)(nil)
	_ engine.CacheSink = (*cacheEars)(nil)
)

// listen returns what the workers are to tell in place of sink. Workers plan no runs while cache events are asked for, so
// nobody needs both kinds of ears.
func (c *Cluster) listen(sink engine.Sink) engine.Sink {
	c.ears.sink = sink
	if runs, ok := sink.(engine.RunSink); ok {
		c.runEars.sink = runs
		return &c.runEars
	}
	if cache, ok := sink.(engine.CacheSink); ok {
		c.cacheEars.sink = cache
		return &c.cacheEars
	}
	return &c.ears
}

func (e *ears) forget(outputs []engine.Output) {
	for i := range outputs {
		if outputs[i].End != engine.Running {
			delete(e.cluster.held, outputs[i].Req.ID)
		}
	}
}

// Began implements engine.Sink.
func (e *ears) Began(p *engine.Pass) { e.sink.Began(p) }

// Ended implements engine.Sink.
func (e *ears) Ended(p *engine.Pass) {
	e.forget(p.Outputs)
	e.sink.Ended(p)
}

// Left implements engine.Sink.
func (e *ears) Left(d engine.Departure) {
	delete(e.cluster.held, d.Req.ID)
	e.sink.Left(d)
}

// Ran implements engine.RunSink.
func (e *runEars) Ran(r *engine.Run) {
	e.forget(r.Outputs)
	e.sink.Ran(r)
}

// Changed implements engine.CacheSink.
func (e *cacheEars) Changed(c engine.CacheChange) { e.sink.Changed(c) }
