package cluster

import (
	"errors"
	"fmt"

	"fakellm/engine"
)

// Config describes a cluster of equal workers.
type Config struct {
	// Workers is their number, at least 1.
	Workers int
	// Engine describes each of them; its WorkerID is overwritten with 0, 1, 2, …
	Engine engine.Config
	// Router chooses the worker of each request; nil for round robin.
	Router Router
}

// worker is what a cluster needs of an engine: the half-steps that let it order one instant over many of them.
type worker interface {
	ResetPrefixCache(at engine.Time) error
	Submit(at engine.Time, r *engine.Request) error
	Cancel(at engine.Time, id engine.RequestID, sink engine.Sink) bool
	Complete(to engine.Time, sink engine.Sink)
	Drive(at engine.Time, sink engine.Sink) error
	Next() (engine.Time, bool)
	Snapshot() engine.Snapshot
}

// Cluster is N workers on one timeline. Build it with [New].
type Cluster struct {
	workers []worker
	active  []int
	router  Router
	ranks   int
	now     engine.Time
	agenda  agenda
	inputs  inputs
	// held says which worker holds a request; queued for one that is still among the inputs.
	held map[engine.RequestID]int32
	// touched are the workers to drive in this instant.
	touched []int32
	marked  []bool
	ears    ears
	runEars runEars
	err     error

	cacheEars cacheEars
}

// queued marks a request that waits among the inputs.
const queued = -1

// New builds the workers. Errors name the field of the config that is wrong.
func New(cfg Config, model engine.StepModel) (*Cluster, error) {
	if cfg.Workers < 1 {
		return nil, fmt.Errorf("num_workers %d: must be at least 1", cfg.Workers)
	}
	workers := make([]worker, cfg.Workers)
	for i := range workers {
		own := cfg.Engine
		own.WorkerID = i
		e, err := engine.New(own, model)
		if err != nil {
			return nil, err
		}
		workers[i] = e
	}
	return assemble(workers, cfg.Engine.DPSize, cfg.Router), nil
}

func assemble(workers []worker, ranks int, router Router) *Cluster {
	c := &Cluster{
		workers: workers, router: router, ranks: max(1, ranks), agenda: newAgenda(len(workers)),
		held: make(map[engine.RequestID]int32), marked: make([]bool, len(workers)),
	}
	if c.router == nil {
		c.router = new(RoundRobin)
	}
	for i := range workers {
		c.active = append(c.active, i)
	}
	c.ears.cluster = c
	c.runEars.ears, c.cacheEars.ears = &c.ears, &c.ears
	return c
}

// Apply queues an outside event for the time at, which must not lie before the last [Cluster.Advance]. It may be
// called from inside the sink, then also for the present instant. Events of one instant are applied in the order of
// request ids, those of one id in the order of entry, a reset of the cache last. Bad input is an error and changes
// nothing. It costs O(1) when events come in order of time.
func (c *Cluster) Apply(at engine.Time, in engine.Input) error {
	if c.err != nil {
		return c.err
	}
	if at < c.now {
		return fmt.Errorf("input for time %d: the cluster is already at %d", at, c.now)
	}
	switch in := in.(type) {
	case engine.Submit:
		if err := c.check(in.Request); err != nil {
			return err
		}
		c.held[in.Request.ID] = queued
		c.inputs.add(input{at: at, key: uint64(in.Request.ID), in: in})
	case engine.Cancel:
		c.inputs.add(input{at: at, key: uint64(in.ID), in: in})
	case engine.ResetPrefixCache:
		c.inputs.add(input{at: at, key: ^uint64(0), in: in})
	default:
		return fmt.Errorf("input of type %T: a cluster does not know it", in)
	}
	return nil
}

func (c *Cluster) check(r *engine.Request) error {
	switch {
	case r == nil:
		return errors.New("submit: no request")
	case r.PromptTokens < 0:
		return fmt.Errorf("request %d: prompt_tokens %d: must not be negative", r.ID, r.PromptTokens)
	case r.MaxOutput < 0:
		return fmt.Errorf("request %d: max_output %d: must not be negative", r.ID, r.MaxOutput)
	case r.Rank != engine.AnyRank && (r.Rank < 0 || r.Rank >= c.ranks):
		return fmt.Errorf("request %d: rank %d: a worker has ranks 0 to %d", r.ID, r.Rank, c.ranks-1)
	}
	if _, known := c.held[r.ID]; known {
		return fmt.Errorf("request %d: already held", r.ID)
	}
	return nil
}

// Next returns the time of the next event: an input that waits or the end of a pass. ok is false when nothing will
// happen without further input. O(1).
func (c *Cluster) Next() (at engine.Time, ok bool) {
	at, ok = c.agenda.next()
	if in, some := c.inputs.next(); some && (!ok || in < at) {
		return in, true
	}
	return at, ok
}

// Held returns how many requests have been submitted and not ended.
func (c *Cluster) Held() int { return len(c.held) }
