package openai

import "sync"

// visitor is an answer that wants to be looked at. visit gets the writer's scratch buffer and returns it, grown or not.
type visitor interface {
	visit(scratch []byte) []byte
	// crashed ends the answer after a panic of visit: one answer's trouble is not that of the others.
	crashed(p any)
}

// writer is one goroutine that serves many answers in the order in which they were woken. Waking one goroutine per
// stream costs far more and in no particular order; here a pass of the engine swaps one list under one lock.
type writer struct {
	mu     sync.Mutex
	queue  []visitor
	closed bool
	// signal has room for one: a queue that was empty is not any more, or the writer shall end.
	signal chan struct{}
	ended  chan struct{}
}

func newWriter() *writer {
	w := &writer{signal: make(chan struct{}, 1), ended: make(chan struct{})}
	go w.loop()
	return w
}

// push queues v. It never blocks; O(1) amortised. After close it reports false and drops v.
func (w *writer) push(v visitor) bool {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return false
	}
	w.queue = append(w.queue, v)
	first := len(w.queue) == 1
	w.mu.Unlock()
	if first {
		w.poke()
	}
	return true
}

func (w *writer) poke() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// close ends the goroutine after what is queued has been served, and waits for it.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.poke()
	<-w.ended
}

func (w *writer) loop() {
	defer close(w.ended)
	var batch []visitor
	scratch := make([]byte, 0, 2*maxBatch)
	for {
		w.mu.Lock()
		batch, w.queue = w.queue, batch[:0]
		closed := w.closed
		w.mu.Unlock()
		if len(batch) == 0 {
			if closed {
				return
			}
			<-w.signal
			continue
		}
		for _, v := range batch {
			scratch = visit(v, scratch[:0])
		}
		clear(batch)
	}
}

// visit gives v its turn and survives it.
func visit(v visitor, scratch []byte) (grown []byte) {
	defer func() {
		if p := recover(); p != nil {
			grown = scratch
			v.crashed(p)
		}
	}()
	return v.visit(scratch)
}
