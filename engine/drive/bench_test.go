//go:build unix

package drive

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"fakellm/engine"
)

// BenchmarkLateness drives one endless request on an otherwise idle machine, one pass every 5.7 ms, and reports how
// late the loop wakes and what a pass costs in CPU, for both sleepers.
func BenchmarkLateness(b *testing.B) {
	for _, c := range []struct {
		name string
		make func() Sleeper
	}{{"precise", NewSleeper}, {"timer", NewTimerSleeper}} {
		b.Run(c.name, func(b *testing.B) {
			var late []time.Duration
			l := NewLive(world(b, 1, engine.DefaultConfig(engine.VLLM)), Config{
				Sleeper: c.make(), Late: func(d time.Duration) { late = append(late, d) },
			})
			news := make(chan struct{}, 1)
			box, err := l.Submit(engine.Request{PromptTokens: 1, MaxOutput: b.N, Rank: engine.AnyRank}, func() {
				select {
				case news <- struct{}{}:
				default:
				}
			})
			if err != nil {
				b.Fatal(err)
			}
			before := cpu(b)
			for box.Progress().End == engine.Running {
				<-news
			}
			spent := cpu(b) - before
			l.Close()
			slices.Sort(late)
			at := func(p int) float64 { return float64(late[(len(late)-1)*p/100]) / 1e3 }
			b.ReportMetric(at(50), "p50-late-µs")
			b.ReportMetric(at(99), "p99-late-µs")
			b.ReportMetric(float64(spent)/1e3/float64(b.N), "cpu-µs/pass")
		})
	}
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
