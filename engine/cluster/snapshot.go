package cluster

import "fakellm/engine"

// Snapshot is a copied view of a cluster.
type Snapshot struct {
	// Now is the latest instant the cluster was told of.
	Now engine.Time
	// Held counts the requests that have not ended, Waiting the inputs whose time has not come.
	Held, Waiting int
	// Workers are in order of their ids.
	Workers []engine.Snapshot
}

// Snapshot returns what outsiders may know. O(workers × ranks).
func (c *Cluster) Snapshot() Snapshot {
	s := Snapshot{Now: c.now, Held: len(c.held), Waiting: len(c.inputs.list) - c.inputs.head}
	for _, w := range c.workers {
		s.Workers = append(s.Workers, w.Snapshot())
	}
	return s
}

// Workers returns their number.
func (c *Cluster) Workers() int { return len(c.workers) }
