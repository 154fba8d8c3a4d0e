package kvevents

import "sync"

// Bounds of a replay ring: batches as in vLLM, and bytes so that large batches cannot hold memory without bound.
const (
	ringBatches = 10_000
	ringBytes   = 256 << 20
)

// batch is one published payload with its sequence number. It is immutable.
type batch struct {
	seq     uint64
	payload []byte
}

// ring keeps the newest batches. The pacing loop adds, the replay socket reads; add is O(1) amortised.
type ring struct {
	mu    sync.Mutex
	items []batch // a circular buffer once full
	head  int
	bytes int
}

// add keeps one batch and forgets the oldest beyond the bounds.
func (r *ring) add(b batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = append(r.items, b)
	r.bytes += len(b.payload)
	for len(r.items)-r.head > ringBatches || r.bytes > ringBytes && len(r.items)-r.head > 1 {
		r.bytes -= len(r.items[r.head].payload)
		r.items[r.head] = batch{}
		r.head++
	}
	if r.head > ringBatches { // move the live half down, once per ringBatches additions
		n := copy(r.items, r.items[r.head:])
		clear(r.items[n:])
		r.items, r.head = r.items[:n], 0
	}
}

// since returns the kept batches from sequence number start on, oldest first.
func (r *ring) since(start uint64) []batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	live := r.items[r.head:]
	if len(live) == 0 || start > live[len(live)-1].seq {
		return nil
	}
	skip := 0
	if start > live[0].seq {
		skip = int(start - live[0].seq)
	}
	return append([]batch(nil), live[skip:]...)
}
