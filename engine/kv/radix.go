package kv

// Node names an edge of a [Radix] tree together with the point where it ends.
type Node int32

// RadixRoot is the empty prefix.
const RadixRoot Node = 0

// nowhere is the absence of a node or of a place in the heap.
const nowhere = -1

// node is one compressed edge. Nodes lie in an arena and are linked by index; a free one is linked through parent.
type node struct {
	// keys are the page hashes along the edge, never empty outside the root; seqs, if kept, their sequence hashes.
	keys []LocalHash
	seqs []SequenceHash
	// access is the logical time of the last use. up is the time of the last use that also reached the parent through
	// this node; the parent hears of it only when this node goes, which is the first time it can matter.
	access, up uint64
	parent     Node
	children   int32
	// refs counts the locks on this node plus its children with refs > 0, so a node is protected iff refs > 0 although
	// locking touches only the part of the path that was not protected before.
	refs int32
	// place is the index in the heap of eviction candidates, or nowhere.
	place int32
}

// Radix is SGLang's prefix tree over page hashes with compressed edges (spec engine-core §4.8). Each page in it is
// either protected, on the path of a lock, or evictable. Times of use come from a logical clock. The tree holds no
// pages itself: Insert and Evict say how many change hands.
//
// Nodes are reused and edges come from size classes, so a tree in its steady state allocates nothing.
type Radix struct {
	nodes     []node
	freeNode  Node
	index     edgeIndex
	heap      []Node
	keys      slab[LocalHash]
	seqs      slab[SequenceHash]
	sequences bool
	// clock counts operations; times are twice that, so that a child made by an operation is one later than its
	// ancestors.
	clock                uint64
	evictable, protected int
}

// NewRadix returns an empty tree. With sequences it remembers the sequence hash of each page, for cache events.
func NewRadix(sequences bool) *Radix {
	t := &Radix{nodes: make([]node, 1, 64), freeNode: nowhere, sequences: sequences}
	t.nodes[RadixRoot] = node{parent: nowhere, place: nowhere}
	t.index.reset()
	return t
}

// Evictable is the number of pages that Evict can drop.
func (t *Radix) Evictable() int { return t.evictable }

// Protected is the number of pages on the path of a lock.
func (t *Radix) Protected() int { return t.protected }

// Match returns how many leading pages of keys the tree holds. It changes nothing, times included. O(pages compared).
func (t *Radix) Match(keys []LocalHash) int {
	_, done, part := t.walk(keys)
	return done + part
}

// MatchLock finds the longest prefix of keys in the tree, marks it as used, and locks it: the pages up to the returned
// node are protected until Unlock. An edge matched in part is split; its prefix keeps the old time of use.
func (t *Radix) MatchLock(keys []LocalHash) (at Node, pages int) {
	at, done, part := t.walk(keys)
	t.clock++
	t.touch(at, 2*t.clock)
	if part > 0 {
		at = t.split(t.child(at, keys[done]), part)
	}
	t.Lock(at)
	return at, done + part
}

// walk follows keys from the root: node at ends the last edge matched in full, after done pages; part more pages match
// the beginning of one of its edges.
func (t *Radix) walk(keys []LocalHash) (at Node, done, part int) {
	for done < len(keys) {
		next := t.child(at, keys[done])
		if next == nowhere {
			return at, done, 0
		}
		same := common(t.nodes[next].keys, keys[done:])
		if same < len(t.nodes[next].keys) {
			return at, done, same
		}
		at, done = next, done+same
	}
	return at, done, 0
}

// common returns the length of the longest common prefix.
func common(a, b []LocalHash) int {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// touch marks a node and, lazily, all its ancestors as used at a time.
func (t *Radix) touch(at Node, when uint64) {
	n := &t.nodes[at]
	n.access, n.up = when, when
	if n.place != nowhere {
		t.sink(int(n.place))
	}
}

// Lock protects the path to a node. Locking the root is a no-op. O(1) plus the unprotected part of the path.
func (t *Radix) Lock(at Node) {
	for at != RadixRoot {
		n := &t.nodes[at]
		n.refs++
		if n.refs > 1 {
			return
		}
		t.evictable -= len(n.keys)
		t.protected += len(n.keys)
		if n.place != nowhere {
			t.leave(int(n.place))
		}
		at = n.parent
	}
}

// Unlock takes back one Lock of the same node.
func (t *Radix) Unlock(at Node) {
	for at != RadixRoot {
		n := &t.nodes[at]
		n.refs--
		if n.refs > 0 {
			return
		}
		if n.refs < 0 {
			panic("kv: unlock of a node that is not locked")
		}
		t.evictable += len(n.keys)
		t.protected -= len(n.keys)
		if n.children == 0 {
			t.enter(at)
		}
		at = n.parent
	}
}

// Alone says whether a node is a leaf that one holder has locked, so that Insert at it extends it in place.
func (t *Radix) Alone(at Node) bool { return t.extensible(at, at) }
