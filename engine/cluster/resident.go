package cluster

import "fakellm/engine/kv"

// Resident returns the cached blocks of one rank of one worker, ascending; nil for a worker or rank that does not exist.
func (c *Cluster) Resident(worker, rank int) []kv.SequenceHash {
	if worker < 0 || worker >= len(c.workers) || rank < 0 || rank >= c.ranks {
		return nil
	}
	w, ok := c.workers[worker].(interface{ Resident(int) []kv.SequenceHash })
	if !ok {
		return nil
	}
	return w.Resident(rank)
}
