package tokenize

import "sync"

// smallPiece is the longest piece, in bytes, that is merged by scanning for the lowest rank; longer ones use a heap.
const smallPiece = 40

// appendPiece appends the ids of one piece of split text.
func (v *vocab) appendPiece(dst []uint32, piece string, pool *sync.Pool) []uint32 {
	if id := v.lookup(piece); id != none {
		return append(dst, id)
	}
	if len(piece) <= smallPiece {
		return v.appendSmall(dst, piece)
	}
	m, _ := pool.Get().(*merger)
	if m == nil {
		m = new(merger)
	}
	dst = m.appendMerged(dst, piece, v)
	pool.Put(m)
	return dst
}

// appendSmall merges the pair of lowest rank, leftmost first, until no pair is a token. O(n²) with a tiny constant.
func (v *vocab) appendSmall(dst []uint32, piece string) []uint32 {
	var ids, ranks [smallPiece]uint32 // ranks[i] is the id of parts i and i+1 together, or none
	var start [smallPiece + 1]uint8
	n := len(piece)
	for i := range n {
		ids[i], start[i] = v.byte1[piece[i]], uint8(i)
	}
	start[n] = uint8(n)
	for i := range n - 1 {
		ranks[i] = v.pair(piece[i], piece[i+1])
	}
	ranks[n-1] = none
	for {
		best, at := none, 0
		for i, r := range ranks[:n-1] {
			if r < best {
				best, at = r, i
			}
		}
		if best == none {
			return append(dst, ids[:n]...)
		}
		ids[at] = best
		copy(ids[at+1:n-1], ids[at+2:n])
		copy(start[at+1:n], start[at+2:n+1])
		copy(ranks[at+1:n-1], ranks[at+2:n])
		n--
		ranks[n-1] = none
		if at+1 < n {
			ranks[at] = v.lookup(piece[start[at]:start[at+2]])
		}
		if at > 0 {
			ranks[at-1] = v.lookup(piece[start[at-1]:start[at+1]])
		}
	}
}

// merger is the scratch of merging a long piece: the parts as a doubly linked list over byte positions, and a binary
// heap of the possible merges. Entries of the heap go stale when a part they name has changed and are then dropped.
type merger struct {
	parts []part
	heap  []uint64 // rank<<32 | position of the left part
}

type part struct {
	id, rank   uint32 // rank: the id of this part and the next together, or none
	prev, next uint32 // positions; next is len(piece) at the end, and the dead have next 0
}

// appendMerged is appendSmall in O(n log n).
func (m *merger) appendMerged(dst []uint32, piece string, v *vocab) []uint32 {
	n := uint32(len(piece))
	if cap(m.parts) < len(piece) {
		m.parts = make([]part, len(piece))
		m.heap = make([]uint64, 0, len(piece))
	}
	p := m.parts[:n]
	m.heap = m.heap[:0]
	for i := range n {
		p[i] = part{id: v.byte1[piece[i]], rank: none, prev: i - 1, next: i + 1}
		if i+1 < n {
			if p[i].rank = v.pair(piece[i], piece[i+1]); p[i].rank != none {
				m.heap = append(m.heap, uint64(p[i].rank)<<32|uint64(i))
			}
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	for len(m.heap) > 0 {
		top := m.heap[0]
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
		m.down(0)
		at, rank := uint32(top), uint32(top>>32)
		if p[at].next == 0 || p[at].rank != rank {
			continue
		}
		dead := p[at].next
		next := p[dead].next
		p[at].id, p[at].next = rank, next
		p[dead].next = 0
		if next < n {
			p[next].prev = at
		}
		m.rerank(p, piece, at, v)
		if at > 0 {
			m.rerank(p, piece, p[at].prev, v)
		}
	}
	for i := uint32(0); i < n; i = p[i].next {
		dst = append(dst, p[i].id)
	}
	return dst
}

// rerank looks up what the part at and its right neighbour make together, and offers that to the heap.
func (m *merger) rerank(p []part, piece string, at uint32, v *vocab) {
	p[at].rank = none
	mid := p[at].next
	if mid == uint32(len(piece)) {
		return
	}
	if p[at].rank = v.lookup(piece[at:p[mid].next]); p[at].rank == none {
		return
	}
	m.heap = append(m.heap, uint64(p[at].rank)<<32|uint64(at))
	for i := len(m.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if m.heap[up] <= m.heap[i] {
			break
		}
		m.heap[up], m.heap[i] = m.heap[i], m.heap[up]
		i = up
	}
}

// down restores the heap below i.
func (m *merger) down(i int) {
	h := m.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[i] <= h[child] {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
