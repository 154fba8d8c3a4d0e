package cluster

import "fakellm/engine"

// Snapshot is a copied view of a cluster.
type Snapshot struct {
	Now engine.Time
	// Held counts the requests that have not left, those among the inputs included.
	Held    int
	Workers []engine.Snapshot
}

// Snapshot copies what outsiders may know of every worker. O(workers × ranks).
func (c *Cluster) Snapshot() Snapshot {
	s := Snapshot{Now: c.now, Held: len(c.held)}
	for _, w := range c.workers {
		if v, ok := w.(interface{ Snapshot() engine.Snapshot }); ok {
			s.Workers = append(s.Workers, v.Snapshot())
		}
	}
	return s
}
