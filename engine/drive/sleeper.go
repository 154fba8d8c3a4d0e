package drive

import "time"

// Sleeper makes the loop of a Live wait. Start, Sleep and Close are called from the loop's goroutine, Wake from any.
type Sleeper interface {
	// Start is called once, before the first Sleep.
	Start()
	// Sleep returns true at the deadline, or false as soon as Wake has been called since the last Sleep returned. A zero
	// deadline waits for Wake alone. It never returns true before the deadline.
	Sleep(until time.Time) bool
	// Wake ends the present Sleep, or the next one at once.
	Wake()
	// Close releases what Start took.
	Close()
}

// timerSleeper waits with an ordinary timer.
type timerSleeper struct {
	wake  chan struct{}
	timer *time.Timer
}

// NewTimerSleeper returns a Sleeper that works everywhere, testing/synctest included. Ordinary timers wake up to a
// millisecond late.
func NewTimerSleeper() Sleeper {
	return &timerSleeper{wake: make(chan struct{}, 1)}
}

// Start implements Sleeper.
func (s *timerSleeper) Start() {}

// Close implements Sleeper.
func (s *timerSleeper) Close() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// Wake implements Sleeper.
func (s *timerSleeper) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Sleep implements Sleeper.
func (s *timerSleeper) Sleep(until time.Time) bool {
	if until.IsZero() {
		<-s.wake
		return false
	}
	if s.timer == nil {
		s.timer = time.NewTimer(time.Until(until))
	} else {
		s.timer.Reset(time.Until(until))
	}
	select {
	case <-s.wake:
		s.timer.Stop()
		return false
	case <-s.timer.C:
		return true
	}
}
