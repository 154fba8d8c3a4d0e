package cluster

import "fakellm/engine"

// Router chooses the worker of a request at the instant of its arrival. Arrivals of one instant are routed one by one,
// each seeing what the one before it did.
type Router interface {
	// Route returns one of active, the workers that take requests, ascending and never empty.
	Route(at engine.Time, r *engine.Request, active []int) int
}

// RoundRobin serves the workers in turn, busy or not (spec simulation-harness §5.1). The zero value starts at the
// first.
type RoundRobin struct{ cursor int }

// Route returns the worker at the cursor and moves it on. O(1).
func (r *RoundRobin) Route(_ engine.Time, _ *engine.Request, active []int) int {
	i := r.cursor % len(active)
	r.cursor = i + 1
	return active[i]
}
