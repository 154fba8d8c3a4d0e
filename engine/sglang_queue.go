package engine

// sglQueue is the waiting queue: a deque on a ring, whose length is a power of two.
type sglQueue struct {
	ring        []*sglSeq
	first, size int
}

func (q *sglQueue) len() int { return q.size }

// at returns the i-th entry from the front.
func (q *sglQueue) at(i int) *sglSeq { return q.ring[(q.first+i)&(len(q.ring)-1)] }

func (q *sglQueue) set(i int, s *sglSeq) { q.ring[(q.first+i)&(len(q.ring)-1)] = s }

func (q *sglQueue) pushBack(s *sglSeq) {
	q.grow()
	q.size++
	q.set(q.size-1, s)
}

func (q *sglQueue) pushFront(s *sglSeq) {
	q.grow()
	q.first = (q.first - 1) & (len(q.ring) - 1)
	q.size++
	q.set(0, s)
}

func (q *sglQueue) popFront() {
	q.set(0, nil)
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.size--
}

// remove takes an entry out, keeping the order of the others; false if it is not there. O(size).
func (q *sglQueue) remove(s *sglSeq) bool {
	for i := range q.size {
		if q.at(i) != s {
			continue
		}
		for ; i < q.size-1; i++ {
			q.set(i, q.at(i+1))
		}
		q.set(q.size-1, nil)
		q.size--
		return true
	}
	return false
}

// keep drops the entries that do not satisfy a condition, in order.
func (q *sglQueue) keep(ok func(*sglSeq) bool) {
	kept := 0
	for i := range q.size {
		if s := q.at(i); ok(s) {
			q.set(kept, s)
			kept++
		}
	}
	for i := kept; i < q.size; i++ {
		q.set(i, nil)
	}
	q.size = kept
}

// grow makes room for one more.
func (q *sglQueue) grow() {
	if q.size < len(q.ring) {
		return
	}
	ring := make([]*sglSeq, max(16, 2*len(q.ring)))
	for i := range q.size {
		ring[i] = q.at(i)
	}
	q.ring, q.first = ring, 0
}
