package engine

import (
	"sort"

	"fakellm/engine/kv"
)

// The twin of the tree and the page pool: pages with numbers, nodes with pointers, everything found by scanning. Nothing
// is lazy and nothing is counted twice (spec engine-core §4.8).

type twinNode struct {
	keys     []kv.LocalHash
	pages    []int
	children map[kv.LocalHash]*twinNode
	parent   *twinNode
	locks    int
	access   int
	id       int
}

type twinTree struct {
	root      *twinNode
	clock, id int
}

func newTwinTree() *twinTree {
	return &twinTree{root: &twinNode{children: map[kv.LocalHash]*twinNode{}}}
}

func (t *twinTree) tick() int { t.clock++; return t.clock }

func (t *twinTree) node(parent *twinNode, keys []kv.LocalHash, pages []int, access, locks int) *twinNode {
	t.id++
	n := &twinNode{
		keys: append([]kv.LocalHash(nil), keys...), pages: append([]int(nil), pages...), parent: parent,
		children: map[kv.LocalHash]*twinNode{}, access: access, locks: locks, id: t.id,
	}
	parent.children[keys[0]] = n
	return n
}

// match returns the number of leading pages in the tree.
func (t *twinTree) match(keys []kv.LocalHash) int {
	n, done := t.root, 0
	for done < len(keys) {
		next := n.children[keys[done]]
		if next == nil {
			return done
		}
		for i, k := range next.keys {
			if done+i == len(keys) || keys[done+i] != k {
				return done + i
			}
		}
		n, done = next, done+len(next.keys)
	}
	return done
}

func (t *twinTree) split(n *twinNode, at int) *twinNode {
	front := t.node(n.parent, n.keys[:at], n.pages[:at], n.access, n.locks)
	n.keys, n.pages, n.parent = n.keys[at:], n.pages[at:], front
	front.children[n.keys[0]] = n
	return front
}

func sameKeys(a, b []kv.LocalHash) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// matchLock locks the longest prefix and returns its end and length.
func (t *twinTree) matchLock(keys []kv.LocalHash) (*twinNode, int) {
	now := t.tick()
	n, done := t.root, 0
	n.access = now
	for done < len(keys) {
		next := n.children[keys[done]]
		if next == nil {
			break
		}
		same := sameKeys(next.keys, keys[done:])
		done += same
		if same < len(next.keys) {
			n = t.split(next, same)
			break
		}
		next.access = now
		n = next
	}
	t.lock(n, 1)
	return n, done
}

func (t *twinTree) lock(n *twinNode, by int) {
	for ; n != t.root; n = n.parent {
		n.locks += by
	}
}

// insert returns the end and the pages that turned out to be duplicates.
func (t *twinTree) insert(from *twinNode, keys []kv.LocalHash, pages []int) (end *twinNode, duplicates []int) {
	now := t.tick()
	for n := from; n != nil; n = n.parent {
		n.access = now
	}
	n, done, cut := from, 0, false
	for done < len(keys) && !cut {
		next := n.children[keys[done]]
		if next == nil {
			break
		}
		same := sameKeys(next.keys, keys[done:])
		if cut = same < len(next.keys); cut {
			next = t.split(next, same)
		} else {
			next.access = now
		}
		n, done = next, done+same
	}
	duplicates = pages[:done]
	keys, pages = keys[done:], pages[done:]
	switch {
	case len(keys) == 0:
		return n, duplicates
	case n != t.root && len(n.children) == 0 && (n != from && n.locks == 0 || n == from && n.locks == 1):
		n.keys, n.pages = append(n.keys, keys...), append(n.pages, pages...)
		return n, duplicates
	}
	return t.node(n, keys, pages, t.tick(), 0), duplicates
}

// each visits all nodes but the root.
func (t *twinTree) each(visit func(*twinNode)) {
	var walk func(*twinNode)
	walk = func(n *twinNode) {
		var kids []*twinNode
		for _, k := range n.children {
			kids = append(kids, k)
		}
		sort.Slice(kids, func(i, j int) bool { return kids[i].id < kids[j].id })
		for _, k := range kids {
			visit(k)
			walk(k)
		}
	}
	walk(t.root)
}

func (t *twinTree) evictable() (pages int) {
	t.each(func(n *twinNode) {
		if n.locks == 0 {
			pages += len(n.pages)
		}
	})
	return pages
}

// evict drops up to n pages and returns them, each before its parent.
func (t *twinTree) evict(n int) (gone []int) {
	for len(gone) < n {
		var leaf *twinNode
		t.each(func(k *twinNode) {
			if k.locks == 0 && len(k.children) == 0 &&
				(leaf == nil || k.access < leaf.access || k.access == leaf.access && k.id < leaf.id) {
				leaf = k
			}
		})
		if leaf == nil {
			break
		}
		first := leaf.keys[0]
		for len(gone) < n && len(leaf.pages) > 0 {
			last := len(leaf.pages) - 1
			gone = append(gone, leaf.pages[last])
			leaf.pages, leaf.keys = leaf.pages[:last], leaf.keys[:last]
		}
		if len(leaf.pages) == 0 {
			delete(leaf.parent.children, first)
		}
	}
	return gone
}

// twinPool hands out page numbers: returned ones from the tail of a stack, then fresh ones.
type twinPool struct {
	total, fresh int
	stack        []int
}

func (p *twinPool) free() int { return p.total - p.fresh + len(p.stack) }

func (p *twinPool) take(n int) []int {
	if n > p.free() {
		return nil
	}
	k := min(n, len(p.stack))
	out := append([]int(nil), p.stack[len(p.stack)-k:]...)
	p.stack = p.stack[:len(p.stack)-k]
	for len(out) < n {
		out = append(out, p.fresh)
		p.fresh++
	}
	return out
}
