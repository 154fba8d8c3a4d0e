package cluster

import "fakellm/engine"

// input is an outside event that waits for its time. Inputs are ordered by (at, key), equal ones by entry.
type input struct {
	at  engine.Time
	key uint64
	in  engine.Input
}

func (a input) after(b input) bool { return a.at > b.at || a.at == b.at && a.key > b.key }

// inputs is a queue that expects its elements nearly in order: adding costs O(1) then, O(elements behind it) otherwise.
type inputs struct {
	list []input
	head int
}

func (q *inputs) add(in input) {
	if q.head > 32 && q.head*2 >= len(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, in)
	i := len(q.list) - 1
	for ; i > q.head && q.list[i-1].after(in); i-- {
		q.list[i] = q.list[i-1]
	}
	q.list[i] = in
}

func (q *inputs) next() (engine.Time, bool) {
	if q.head == len(q.list) {
		return 0, false
	}
	return q.list[q.head].at, true
}

// take removes and returns the first input due by at.
func (q *inputs) take(at engine.Time) (engine.Input, bool) {
	if q.head == len(q.list) || q.list[q.head].at > at {
		return nil, false
	}
	in := q.list[q.head].in
	q.list[q.head] = input{}
	q.head++
	if q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	}
	return in, true
}
