package drive

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// NewSleeper returns the most precise Sleeper of this system: on Linux a timerfd that the runtime's poller waits for.
// The runtime's own timers are rounded up to the milliseconds of epoll_wait; a timerfd is not, and unlike a thread
// that sleeps in a system call it keeps no part of the scheduler busy. If the system refuses, it is an ordinary timer.
func NewSleeper() Sleeper {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return NewTimerSleeper()
	}
	return &fdSleeper{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
}

// fdSleeper reads from a timerfd; Wake makes it expire at once. state lets Wake skip the system call when nobody
// sleeps.
type fdSleeper struct {
	fd    int
	file  *os.File
	state atomic.Int32
}

// The states of an fdSleeper.
const (
	awake int32 = iota
	asleep
	woken
)

// Start implements Sleeper.
func (s *fdSleeper) Start() {}

// Close implements Sleeper. Nobody sleeps any more, so a late Wake leaves the descriptor alone.
func (s *fdSleeper) Close() {
	s.state.Store(woken)
	_ = s.file.Close()
}

// Wake implements Sleeper.
func (s *fdSleeper) Wake() {
	if s.state.Swap(woken) == asleep {
		s.arm(1)
	}
}

// Sleep implements Sleeper. The timer is armed before anybody can see the sleep, so a Wake is never overwritten; one
// that comes late shortens the next sleep, which then begins again.
func (s *fdSleeper) Sleep(until time.Time) bool {
	var expirations [8]byte
	for {
		wait := time.Duration(0) // disarmed
		if !until.IsZero() {
			wait = max(1, time.Until(until))
		}
		s.arm(wait)
		if !s.state.CompareAndSwap(awake, asleep) {
			s.state.Store(awake)
			return false
		}
		_, err := s.file.Read(expirations[:])
		if s.state.Swap(awake) == woken {
			return false
		}
		if !until.IsZero() && time.Until(until) <= 0 {
			return true
		}
		if err != nil { // cannot happen: the descriptor is open and the buffer large enough
			time.Sleep(time.Millisecond)
		}
	}
}

// arm lets the timer expire after d, or never for 0.
func (s *fdSleeper) arm(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}
	_ = unix.TimerfdSettime(s.fd, 0, &spec, nil) // fails only for bad arguments
}
