package kv

// Insert puts the pages keys behind a node from, which the caller has locked unless it is the root, and returns the node
// where they end and how many of them the tree held already: those of the caller are duplicates. seqs are the sequence
// hashes of keys, or nil in a tree without them. It marks the path as used (spec engine-core §4.8): from, its ancestors
// and every edge matched in full share one time, a new node is later, and both halves of an edge split on the way keep
// the old time. New pages extend an edge in place where no other holder could see the difference: at an unlocked leaf on
// the way, or at from itself if it is a leaf that only the caller has locked. keys must not be empty.
func (t *Radix) Insert(from Node, keys []LocalHash, seqs []SequenceHash) (end Node, held int) {
	t.clock++
	now := 2 * t.clock
	at, done := from, 0
	for done < len(keys) {
		next := t.child(at, keys[done])
		if next == nowhere {
			break
		}
		same := common(t.nodes[next].keys, keys[done:])
		done += same
		if same < len(t.nodes[next].keys) {
			t.touch(at, now)
			end = t.split(next, same)
			if done < len(keys) {
				end = t.add(end, keys[done:], tail(seqs, done), now+1)
			}
			return end, done
		}
		at = next
	}
	t.touch(at, now)
	switch {
	case done == len(keys):
		return at, done
	case t.extensible(at, from):
		t.extend(at, keys[done:], tail(seqs, done))
		return at, done
	}
	return t.add(at, keys[done:], tail(seqs, done), now+1), done
}

func tail(seqs []SequenceHash, from int) []SequenceHash {
	if seqs == nil {
		return nil
	}
	return seqs[from:]
}

// extensible says whether new pages may join the edge of a node.
func (t *Radix) extensible(at, from Node) bool {
	n := &t.nodes[at]
	if at == RadixRoot || n.children > 0 {
		return false
	}
	if at == from {
		return n.refs == 1
	}
	return n.refs == 0
}

// extend appends pages to an edge.
func (t *Radix) extend(at Node, keys []LocalHash, seqs []SequenceHash) {
	n := &t.nodes[at]
	n.keys = t.keys.append(n.keys, keys)
	if t.sequences {
		n.seqs = t.seqs.append(n.seqs, seqs)
	}
	t.count(n.refs, len(keys))
}

// count enters pages of an edge with so many refs.
func (t *Radix) count(refs int32, pages int) {
	if refs > 0 {
		t.protected += pages
	} else {
		t.evictable += pages
	}
}

// add makes an unlocked leaf behind a node.
func (t *Radix) add(parent Node, keys []LocalHash, seqs []SequenceHash, when uint64) Node {
	id := t.newNode()
	t.leaveIf(parent)
	n := &t.nodes[id]
	n.parent, n.access = parent, when
	n.keys = t.keys.append(n.keys, keys)
	if t.sequences {
		n.seqs = t.seqs.append(n.seqs, seqs)
	}
	t.nodes[parent].children++
	t.index.insert(t.nodes, id)
	t.evictable += len(keys)
	t.enter(id)
	return id
}

// split cuts an edge after its first pages. The old node stays as the suffix; the new one in front of it inherits its
// times and whether it is protected. It returns the new one.
func (t *Radix) split(old Node, pages int) Node {
	id := t.newNode()
	n, o := &t.nodes[id], &t.nodes[old]
	t.index.remove(t.nodes, old)
	n.parent, n.access, n.up, n.children = o.parent, o.access, o.up, 1
	if o.refs > 0 {
		n.refs = 1
	}
	n.keys = t.keys.append(n.keys, o.keys[:pages])
	o.keys = t.keys.cut(o.keys, pages)
	if t.sequences {
		n.seqs = t.seqs.append(n.seqs, o.seqs[:pages])
		o.seqs = t.seqs.cut(o.seqs, pages)
	}
	o.parent = id
	t.index.insert(t.nodes, id)
	t.index.insert(t.nodes, old)
	return id
}

// newNode takes a node from the arena: no keys, no links, time 0.
func (t *Radix) newNode() Node {
	id := t.freeNode
	if id == nowhere {
		t.nodes = append(t.nodes, node{})
		id = Node(len(t.nodes) - 1)
	} else {
		t.freeNode = t.nodes[id].parent
	}
	t.nodes[id] = node{place: nowhere}
	return id
}
