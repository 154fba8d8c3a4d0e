package kv

// edgeIndex finds the child of a node by the first page of its edge: open addressing with linear probing, at most half
// full, over the nodes of one tree.
type edgeIndex struct {
	// slots hold node ids; 0, the root, is nobody's child and marks an empty slot.
	slots []Node
	shift uint8
	used  int
}

const edgeIndexBits = 6

func (x *edgeIndex) reset() {
	*x = edgeIndex{slots: make([]Node, 1<<edgeIndexBits), shift: 64 - edgeIndexBits}
}

// home is the first slot of an edge.
func (x *edgeIndex) home(parent Node, first LocalHash) int {
	return int((uint64(first) ^ uint64(parent)*0xBF58476D1CE4E5B9) * 0x9E3779B97F4A7C15 >> x.shift)
}

// child returns the child of a node whose edge begins with a page, or nowhere.
func (t *Radix) child(parent Node, first LocalHash) Node {
	mask := len(t.index.slots) - 1
	for i := t.index.home(parent, first); ; i = (i + 1) & mask {
		id := t.index.slots[i]
		if id == 0 {
			return nowhere
		}
		if n := &t.nodes[id]; n.parent == parent && n.keys[0] == first {
			return id
		}
	}
}

func (x *edgeIndex) insert(nodes []node, id Node) {
	if x.used++; 2*x.used > len(x.slots) {
		old := x.slots
		x.slots = make([]Node, 2*len(old))
		x.shift--
		for _, o := range old {
			if o != 0 {
				x.place(nodes, o)
			}
		}
	}
	x.place(nodes, id)
}

func (x *edgeIndex) place(nodes []node, id Node) {
	mask := len(x.slots) - 1
	i := x.home(nodes[id].parent, nodes[id].keys[0])
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = id
}

// remove takes an edge out and moves later ones of its cluster back, so no tombstones are needed.
func (x *edgeIndex) remove(nodes []node, id Node) {
	mask := len(x.slots) - 1
	hole := x.home(nodes[id].parent, nodes[id].keys[0])
	for x.slots[hole] != id {
		hole = (hole + 1) & mask
	}
	for next := (hole + 1) & mask; x.slots[next] != 0; next = (next + 1) & mask {
		o := x.slots[next]
		home := x.home(nodes[o].parent, nodes[o].keys[0])
		if (next-home)&mask >= (next-hole)&mask {
			x.slots[hole] = o
			hole = next
		}
	}
	x.slots[hole] = 0
	x.used--
}
