//go:build !linux

package drive

// NewSleeper returns the most precise Sleeper of this system: an ordinary timer.
func NewSleeper() Sleeper { return NewTimerSleeper() }
