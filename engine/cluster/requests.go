package cluster

import "fakellm/engine"

// Requests lists what one rank of one worker holds; nil for a worker or rank that does not exist.
func (c *Cluster) Requests(worker, rank int) []engine.RequestState {
	if worker < 0 || worker >= len(c.workers) || rank < 0 || rank >= c.ranks {
		return nil
	}
	w, ok := c.workers[worker].(interface {
		Requests(int) []engine.RequestState
	})
	if !ok {
		return nil
	}
	return w.Requests(rank)
}
