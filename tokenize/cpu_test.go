//go:build unix

package tokenize

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is the processor time that this process has used. Benchmarks report it beside the wall clock, which means
// little on a busy machine.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
