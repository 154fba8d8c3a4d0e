// Package eventq is the event queue of the timeline: a 4-ary heap ordered by (time, priority, sequence). Priorities
// break ties of one instant on purpose, the sequence keeps the rest in the order of insertion, so the order never
// depends on chance. It is pure and belongs to one goroutine.
package eventq

// Handle names a queued event for [Queue.Cancel]. The zero Handle names none.
type Handle uint64

// Queue holds values of one type. T is the type of instants. The zero Queue is empty and ready for use.
type Queue[T ~int64, V any] struct {
	heap []item[T, V]
	seq  uint64
	dead map[Handle]struct{}
	// live counts the items of heap that are not cancelled.
	live int
}

type item[T ~int64, V any] struct {
	at       T
	priority int
	seq      uint64
	value    V
}

// Push queues value for an instant, in O(log n). Lower priorities come first at one instant.
func (q *Queue[T, V]) Push(at T, priority int, value V) Handle {
	q.seq++
	q.heap = append(q.heap, item[T, V]{at: at, priority: priority, seq: q.seq, value: value})
	q.up(len(q.heap) - 1)
	q.live++
	return Handle(q.seq)
}

// Cancel removes a queued event in O(1); the heap drops it when it comes to the top. The handle must name an event that
// is still queued.
func (q *Queue[T, V]) Cancel(h Handle) {
	if h == 0 {
		return
	}
	if q.dead == nil {
		q.dead = make(map[Handle]struct{})
	}
	if _, twice := q.dead[h]; twice {
		return
	}
	q.dead[h] = struct{}{}
	q.live--
}

// Len returns the number of queued events.
func (q *Queue[T, V]) Len() int { return q.live }

// Peek returns the instant and priority of the next event.
func (q *Queue[T, V]) Peek() (at T, priority int, ok bool) {
	q.skip()
	if len(q.heap) == 0 {
		return 0, 0, false
	}
	return q.heap[0].at, q.heap[0].priority, true
}

// Pop removes and returns the next event, in O(log n).
func (q *Queue[T, V]) Pop() (at T, value V, ok bool) {
	q.skip()
	if len(q.heap) == 0 {
		return 0, value, false
	}
	top := q.heap[0]
	q.drop()
	q.live--
	return top.at, top.value, true
}

// skip drops cancelled events from the top.
func (q *Queue[T, V]) skip() {
	for len(q.dead) > 0 && len(q.heap) > 0 {
		h := Handle(q.heap[0].seq)
		if _, dead := q.dead[h]; !dead {
			return
		}
		delete(q.dead, h)
		q.drop()
	}
}

// drop removes the top.
func (q *Queue[T, V]) drop() {
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = item[T, V]{}
	q.heap = q.heap[:last]
	q.down(0)
}

func (a *item[T, V]) before(b *item[T, V]) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if a.priority != b.priority {
		return a.priority < b.priority
	}
	return a.seq < b.seq
}

func (q *Queue[T, V]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 4
		if !q.heap[i].before(&q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *Queue[T, V]) down(i int) {
	for {
		least := i
		for child := 4*i + 1; child <= 4*i+4 && child < len(q.heap); child++ {
			if q.heap[child].before(&q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
