package kv

// Evict drops up to n evictable pages and returns how many it dropped, fewer only if the tree has no more. Victims are
// the unlocked leaves, least recently used first; of a leaf only as many pages as needed go, from its end; a parent that
// becomes an unlocked leaf joins with its own time of use. In a tree with sequence hashes those of the dropped pages are
// appended to gone, each before its parent. O(pages + leaves log leaves).
func (t *Radix) Evict(n int, gone []SequenceHash) (int, []SequenceHash) {
	dropped := 0
	for dropped < n && len(t.heap) > 0 {
		id := t.heap[0]
		leaf := &t.nodes[id]
		take := min(n-dropped, len(leaf.keys))
		rest := len(leaf.keys) - take
		if t.sequences {
			for i := len(leaf.seqs) - 1; i >= rest; i-- {
				gone = append(gone, leaf.seqs[i])
			}
		}
		dropped += take
		t.evictable -= take
		if rest == 0 {
			t.drop(id)
			continue
		}
		leaf.keys = leaf.keys[:rest]
		if t.sequences {
			leaf.seqs = leaf.seqs[:rest]
		}
	}
	return dropped, gone
}

// drop removes the leaf at the top of the heap and tells its parent when it was last used through it.
func (t *Radix) drop(id Node) {
	t.leave(0)
	t.index.remove(t.nodes, id)
	n := &t.nodes[id]
	p := &t.nodes[n.parent]
	p.access, p.up = max(p.access, n.up), max(p.up, n.up)
	p.children--
	if p.children == 0 && p.refs == 0 && n.parent != RadixRoot {
		t.enter(n.parent)
	}
	t.keys.put(n.keys)
	t.seqs.put(n.seqs)
	*n = node{parent: t.freeNode, place: nowhere}
	t.freeNode = id
}

// The heap holds the unlocked leaves, least recently used on top, lower index first among equals (which only nodes of
// one path can be, so never two leaves).

func (t *Radix) before(a, b Node) bool {
	x, y := &t.nodes[a], &t.nodes[b]
	return x.access < y.access || x.access == y.access && a < b
}

func (t *Radix) set(i int, id Node) {
	t.heap[i] = id
	t.nodes[id].place = int32(i)
}

// enter adds a node that has become an unlocked leaf.
func (t *Radix) enter(id Node) {
	t.heap = append(t.heap, id)
	t.rise(len(t.heap)-1, id)
}

// leaveIf takes a node out if it is a candidate.
func (t *Radix) leaveIf(id Node) {
	if i := t.nodes[id].place; i != nowhere {
		t.leave(int(i))
	}
}

// leave takes out the node at a place.
func (t *Radix) leave(i int) {
	t.nodes[t.heap[i]].place = nowhere
	last := len(t.heap) - 1
	moved := t.heap[last]
	t.heap = t.heap[:last]
	if i == last {
		return
	}
	t.rise(i, moved)
	t.sink(int(t.nodes[moved].place))
}

// rise puts a node at a place or above it.
func (t *Radix) rise(i int, id Node) {
	for i > 0 {
		up := (i - 1) / 2
		if !t.before(id, t.heap[up]) {
			break
		}
		t.set(i, t.heap[up])
		i = up
	}
	t.set(i, id)
}

// sink moves the node at a place down to where it belongs.
func (t *Radix) sink(i int) {
	id := t.heap[i]
	for {
		kid := 2*i + 1
		if kid >= len(t.heap) {
			break
		}
		if kid+1 < len(t.heap) && t.before(t.heap[kid+1], t.heap[kid]) {
			kid++
		}
		if !t.before(t.heap[kid], id) {
			break
		}
		t.set(i, t.heap[kid])
		i = kid
	}
	t.set(i, id)
}
