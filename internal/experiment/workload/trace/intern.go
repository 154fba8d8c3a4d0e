package trace

// interner renumbers 64-bit ids 0, 1, 2, … in order of first appearance. Ids that are themselves small and dense, as
// most traces have them, cost one array access; others a map.
type interner struct {
	dense  []uint32 // by id: number+1, 0 for unseen
	sparse map[uint64]uint32
	count  uint32
}

// number returns the number of id. O(1).
func (n *interner) number(id uint64) uint32 {
	if id < uint64(len(n.dense)) {
		if v := n.dense[id]; v != 0 {
			return v - 1
		}
	}
	return n.slow(id)
}

func (n *interner) slow(id uint64) uint32 {
	if v, ok := n.sparse[id]; ok {
		return v
	}
	v := n.count
	n.count++
	switch {
	case id < uint64(len(n.dense)):
		n.dense[id] = v + 1
	case id < 2*uint64(n.count)+4096:
		size := max(2*len(n.dense), int(id)+1, 4096)
		n.dense = append(make([]uint32, 0, size), n.dense...)[:size]
		n.dense[id] = v + 1
	default:
		if n.sparse == nil {
			n.sparse = make(map[uint64]uint32)
		}
		n.sparse[id] = v
	}
	return v
}
