package journal

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"
)

// Sink writes finished records as JSON lines from a goroutine of its own. Put never waits: when the queue is full, or a
// write has failed, the record is dropped and counted. It is safe for concurrent use.
type Sink struct {
	queue   chan *Record
	ended   chan struct{}
	dropped atomic.Uint64
	written atomic.Uint64

	mu     sync.RWMutex
	closed bool
	// err is set by the goroutine before ended is closed.
	err error
}

// DefaultQueue is the number of records that may wait for a slow disk.
const DefaultQueue = 4096

// NewSink starts a sink; queue is the number of records that may wait (0: DefaultQueue). Close ends it.
func NewSink(w io.Writer, queue int) *Sink {
	if queue <= 0 {
		queue = DefaultQueue
	}
	s := &Sink{queue: make(chan *Record, queue), ended: make(chan struct{})}
	go s.loop(w)
	return s
}

// Put hands a record over; it must not be changed afterwards.
func (s *Sink) Put(r *Record) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		s.dropped.Add(1)
		return
	}
	select {
	case s.queue <- r:
	default:
		s.dropped.Add(1)
	}
}

func (s *Sink) loop(w io.Writer) {
	defer close(s.ended)
	buf := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	for r := range s.queue {
		if s.err == nil {
			s.err = enc.Encode(r)
		}
		if s.err == nil && len(s.queue) == 0 {
			s.err = buf.Flush()
		}
		if s.err != nil {
			s.dropped.Add(1)
		} else {
			s.written.Add(1)
		}
	}
	if s.err == nil {
		s.err = buf.Flush()
	}
}

// Dropped is the number of records that were not written.
func (s *Sink) Dropped() uint64 { return s.dropped.Load() }

// Written is the number of records that were written.
func (s *Sink) Written() uint64 { return s.written.Load() }

// Close writes what waits and returns the first error of the writer, which it does not close. Later records are
// dropped.
func (s *Sink) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	<-s.ended
	return s.err
}
