package cluster

import "fakellm/engine"

// agenda knows when each worker is due next: an indexed binary heap ordered by (time, worker).
type agenda struct {
	at   []engine.Time // by worker
	heap []int32       // workers that are due at some time
	pos  []int32       // by worker: place in heap, or absent
}

const absent = -1

func newAgenda(n int) agenda {
	a := agenda{at: make([]engine.Time, n), heap: make([]int32, 0, n), pos: make([]int32, n)}
	for i := range a.pos {
		a.pos[i] = absent
	}
	return a
}

// next returns the earliest time. O(1).
func (a *agenda) next() (engine.Time, bool) {
	if len(a.heap) == 0 {
		return 0, false
	}
	return a.at[a.heap[0]], true
}

// due returns the first worker that is due by at, without removing it: whoever serves it calls set. O(1).
func (a *agenda) due(at engine.Time) (int32, bool) {
	if len(a.heap) == 0 || a.at[a.heap[0]] > at {
		return 0, false
	}
	return a.heap[0], true
}

// set notes when w is due, or with ok false that it is not. O(log workers), O(1) if nothing changed.
func (a *agenda) set(w int32, at engine.Time, ok bool) {
	i := a.pos[w]
	switch {
	case !ok && i == absent:
	case !ok:
		last := int32(len(a.heap) - 1)
		moved := a.heap[last]
		a.heap = a.heap[:last]
		a.pos[w] = absent
		if moved != w {
			a.heap[i], a.pos[moved] = moved, i
			a.fix(i)
		}
	case i == absent:
		a.at[w] = at
		a.pos[w] = int32(len(a.heap))
		a.heap = append(a.heap, w)
		a.up(a.pos[w])
	case a.at[w] != at:
		a.at[w] = at
		a.fix(i)
	}
}

func (a *agenda) fix(i int32) {
	if !a.up(i) {
		a.down(i)
	}
}

func (a *agenda) before(i, j int32) bool {
	x, y := a.heap[i], a.heap[j]
	return a.at[x] < a.at[y] || a.at[x] == a.at[y] && x < y
}

func (a *agenda) swap(i, j int32) {
	a.heap[i], a.heap[j] = a.heap[j], a.heap[i]
	a.pos[a.heap[i]], a.pos[a.heap[j]] = i, j
}

func (a *agenda) up(i int32) bool {
	moved := false
	for i > 0 {
		parent := (i - 1) / 2
		if !a.before(i, parent) {
			break
		}
		a.swap(i, parent)
		i, moved = parent, true
	}
	return moved
}

func (a *agenda) down(i int32) {
	for {
		least, n := i, int32(len(a.heap))
		for child := 2*i + 1; child <= 2*i+2 && child < n; child++ {
			if a.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		a.swap(i, least)
		i = least
	}
}
