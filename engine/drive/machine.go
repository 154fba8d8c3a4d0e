package drive

import "fakellm/engine"

// Machine is what a driver needs of an engine or a cluster.
type Machine interface {
	// Apply queues an outside event for a time not before the last Advance; bad input is an error and changes nothing.
	Apply(at engine.Time, in engine.Input) error
	// Next says when the machine next changes by itself or by a queued input, if ever.
	Next() (at engine.Time, ok bool)
	// Advance runs everything due up to and including to and tells the sink.
	Advance(to engine.Time, sink engine.Sink) error
}

// Forever is later than any event.
const Forever = engine.Time(1<<63 - 1)
