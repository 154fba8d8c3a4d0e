package engine

import (
	"maps"
	"slices"

	"fakellm/engine/kv"
)

// Resident returns the identities of the blocks that a rank's cache can be asked for, ascending; nil when the shape
// keeps no such table (SGLang without KV events). Between passes it is exactly what the KV events add up to. Takes
// O(n log n).
func (e *Engine) Resident(rank int) []kv.SequenceHash {
	switch c := e.ranks[rank].(type) {
	case *vllm:
		return c.pool.Resident(nil)
	case *sglangCore:
		if c.cache != nil {
			return slices.Sorted(maps.Keys(c.cache.live))
		}
	}
	return nil
}
