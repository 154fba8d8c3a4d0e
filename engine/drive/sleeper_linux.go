package drive

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// NewSleeper returns the most precise Sleeper of this system: on Linux a locked thread in ppoll with the least timer slack,
// woken through an eventfd. If the system refuses either, it is an ordinary timer.
func NewSleeper() Sleeper {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return NewTimerSleeper()
	}
	return &pollSleeper{fd: fd}
}

// pollSleeper sleeps in the kernel. state lets Wake skip the system call when nobody sleeps.
type pollSleeper struct {
	fd    int
	state atomic.Int32
}

// The states of a pollSleeper.
const (
	awake int32 = iota
	asleep
	woken
)

// Start implements Sleeper: it pins the loop to its thread, so that the timer slack is this thread's alone.
func (s *pollSleeper) Start() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // best effort: 50 µs later without
}

// Close implements Sleeper. The thread stays locked, so that it ends with its goroutine. A late Wake finds state woken.
func (s *pollSleeper) Close() {
	s.state.Store(woken)
	_ = unix.Close(s.fd)
}

// Wake implements Sleeper.
func (s *pollSleeper) Wake() {
	if s.state.Swap(woken) == asleep {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(s.fd, one[:])
	}
}

// Sleep implements Sleeper.
func (s *pollSleeper) Sleep(until time.Time) bool {
	if !s.state.CompareAndSwap(awake, asleep) {
		s.state.Store(awake)
		return false
	}
	for {
		if s.wait(until) {
			s.take()
			s.state.Store(awake)
			return false
		}
		if !until.IsZero() && time.Until(until) <= 0 {
			if s.state.Swap(awake) == asleep {
				return true
			}
			s.take() // the message may still be on its way: then the next Sleep returns early once
			return false
		}
	}
}

// wait polls once and reports whether Wake came.
func (s *pollSleeper) wait(until time.Time) bool {
	var limit *unix.Timespec
	if !until.IsZero() {
		ts := unix.NsecToTimespec(max(0, time.Until(until).Nanoseconds()))
		limit = &ts
	}
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	n, _ := unix.Ppoll(fds, limit, nil) // an interrupted call counts as an early return
	return n > 0
}

// take empties the eventfd.
func (s *pollSleeper) take() {
	var buf [8]byte
	_, _ = unix.Read(s.fd, buf[:])
}
