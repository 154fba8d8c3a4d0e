package kvevents

import (
	"sync"
	"time"

	"fakellm/engine"
)

// heartbeat is the silence after which a zeroed record is sent, and again after as much (spec engine-core §10.3).
const heartbeat = time.Second

// speaker numbers the records of one scheduler and sends them, and a zeroed one whenever it was silent for long. Beats
// keep to the grid that the last record of a pass began: however late a timer is, they do not drift.
type speaker struct {
	send func(n uint64, wall time.Time, l *engine.Load) // nil: records are only numbered

	mu     sync.Mutex
	count  uint64
	due    time.Time
	timer  *time.Timer
	closed bool
}

// start begins the silence. The timer is not touched when records are sent: it looks again when it finds none due.
func (s *speaker) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = time.Now().Add(heartbeat)
	s.timer = time.AfterFunc(heartbeat, s.beat)
}

// speak sends a record and returns its number.
func (s *speaker) speak(wall time.Time, l *engine.Load) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.count
	s.count++
	if s.send != nil {
		s.due = time.Now().Add(heartbeat)
		s.send(n, wall, l)
	}
	return n
}

// beat sends what the silence is due. Beats that a stopped process has missed are not made up for.
func (s *speaker) beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if now := time.Now(); !now.Before(s.due) {
		s.send(s.count, s.due, new(engine.Load))
		s.count++
		s.due = s.due.Add(now.Sub(s.due).Truncate(heartbeat) + heartbeat)
	}
	s.timer.Reset(time.Until(s.due))
}

// stop ends the beats.
func (s *speaker) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
