package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The benchmarks run their client in a process of its own: the test binary, told by this variable what to do.
const benchEnv = "FAKELLM_BENCH_CLIENT"

// benchJob is what the client process shall do; benchStats is what it found.
type benchJob struct {
	Addr            string
	Streams, Tokens int
	Gap             time.Duration
}

type benchStats struct {
	// Over are gaps between events minus the nominal gap, in ms; End is the lateness of the last event of a stream
	// against its first plus all gaps, in ms.
	OverP50, OverP99, OverMax, EndP50, EndMax float64
	Events                                    int
	ClientCPU                                 float64
}

// TestBenchClient is not a test: it is the client process of the benchmarks.
func TestBenchClient(t *testing.T) {
	raw := os.Getenv(benchEnv)
	if raw == "" {
		return
	}
	var job benchJob
	if err := json.Unmarshal([]byte(raw), &job); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("STATS %s\n", marshal(job.run(t)))
}

// run opens all streams and times their events.
func (j benchJob) run(t *testing.T) benchStats {
	body := streaming(hello, fmt.Sprintf(`,"max_tokens":%d,"ignore_eos":true`, j.Tokens))
	times := make([][]time.Duration, j.Streams)
	start := time.Now()
	var wg sync.WaitGroup
	for i := range times {
		c := dialStream(t, j.Addr, body)
		times[i] = make([]time.Duration, 0, j.Tokens+8)
		wg.Go(func() { times[i] = readTimes(c, start, times[i]) })
	}
	wg.Wait()
	var over, end []float64
	st := benchStats{ClientCPU: cpu().Seconds()}
	for _, ts := range times {
		st.Events += len(ts)
		if len(ts) < j.Tokens {
			t.Errorf("a stream gave %d events of %d", len(ts), j.Tokens)
			continue
		}
		ts = ts[:j.Tokens]
		for k := 1; k < len(ts); k++ {
			over = append(over, float64(ts[k]-ts[k-1]-j.Gap)/1e6)
		}
		end = append(end, float64(ts[len(ts)-1]-ts[0]-time.Duration(len(ts)-1)*j.Gap)/1e6)
	}
	slices.Sort(over)
	slices.Sort(end)
	q := func(v []float64, p float64) float64 {
		if len(v) == 0 {
			return 0
		}
		return v[min(int(p*float64(len(v))), len(v)-1)]
	}
	st.OverP50, st.OverP99, st.OverMax, st.EndP50, st.EndMax = q(over, .5), q(over, .99), q(over, 1), q(end, .5), q(end, 1)
	return st
}

// readTimes notes when each content event arrived, until the stream is done.
func readTimes(c net.Conn, start time.Time, out []time.Duration) []time.Duration {
	buf := make([]byte, 16<<10)
	mark, done := []byte(`{"content":"`), []byte("[DONE]")
	kept := 0
	for {
		n, err := c.Read(buf[kept:])
		at := time.Since(start)
		seen := buf[:kept+n]
		for range bytes.Count(seen, mark) {
			out = append(out, at)
		}
		if err != nil || bytes.Contains(seen, done) {
			return out
		}
		// A mark may be cut in two by the read: keep one byte less than a mark, but no whole one.
		kept = copy(buf, seen[max(len(seen)-len(mark)+1, 0):])
	}
}

// cpu is the process time used so far.
func cpu() time.Duration {
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// rss is the resident memory of this process in MB, 0 where there is no /proc.
func rss() float64 {
	b, _ := os.ReadFile("/proc/self/statm")
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseFloat(f[1], 64)
	return pages * float64(os.Getpagesize()) / 1e6
}

// lateness collects what the server itself measured.
type lateness struct {
	mu  sync.Mutex
	all []float64
}

func (l *lateness) Emitted(d time.Duration) {
	l.mu.Lock()
	l.all = append(l.all, float64(d)/1e6)
	l.mu.Unlock()
}

func (l *lateness) Answered(string, int, time.Duration) {}

// benchStreams runs one load per iteration and reports figures per event.
func benchStreams(b *testing.B, streams, tokens int, gap time.Duration) {
	late := &lateness{}
	opts := Options{}
	if gap > 0 {
		opts.Observer = late
		late.all = make([]float64, 0, 1<<20)
	}
	p := &pacer{gap: gap}
	s, addr := serveTCP(b, opts, p, words{tokens: tokens})
	var used, wall time.Duration
	var before, after Counters
	var st benchStats
	peak := 0.0
	for b.Loop() {
		job := benchJob{Addr: addr, Streams: streams, Tokens: tokens, Gap: gap}
		cmd := exec.Command(os.Args[0], "-test.run=^TestBenchClient$")
		cmd.Env = append(os.Environ(), benchEnv+"="+string(marshal(job)))
		before = s.Counters()
		c0, t0 := cpu(), time.Now()
		half := time.AfterFunc(time.Duration(tokens/2)*gap, func() { peak = rss() })
		out, err := cmd.Output()
		half.Stop()
		used, wall = used+cpu()-c0, wall+time.Since(t0)
		after = s.Counters()
		_, rest, ok := strings.Cut(string(out), "STATS ")
		if err != nil || !ok {
			b.Fatalf("client: %v\n%s", err, out)
		}
		if err := json.NewDecoder(strings.NewReader(rest)).Decode(&st); err != nil {
			b.Fatal(err)
		}
	}
	n := float64(b.N) * float64(streams*tokens)
	b.ReportMetric(float64(used.Nanoseconds())/1e3/n, "cpu-µs/event")
	b.ReportMetric(float64(after.Events-before.Events)/float64(after.Writes-before.Writes), "events/write")
	b.ReportMetric(float64(used.Nanoseconds())/1e3/float64(b.N)/float64(after.Writes-before.Writes), "cpu-µs/write")
	b.ReportMetric(float64(after.Handovers-before.Handovers), "handovers")
	if gap > 0 {
		slices.Sort(late.all)
		b.ReportMetric(used.Seconds()/wall.Seconds(), "cores")
		b.ReportMetric(st.OverP50, "over-p50-ms")
		b.ReportMetric(st.OverP99, "over-p99-ms")
		b.ReportMetric(st.EndMax, "end-max-ms")
		b.ReportMetric(late.all[len(late.all)*99/100], "emit-p99-ms")
		b.ReportMetric(peak, "rss-MB")
	}
}

// BenchmarkUnpaced is the server's CPU per event when tokens are due as fast as they can be written. The pacing loop of
// the test's Backend is part of it.
func BenchmarkUnpaced(b *testing.B) { benchStreams(b, 64, 1024, 0) }

// BenchmarkPaced256 is the error of the gaps at 256 streams of 20 ms.
func BenchmarkPaced256(b *testing.B) { benchStreams(b, 256, 150, 20*time.Millisecond) }

// BenchmarkPaced2000 is the error of the gaps at 2,000 streams of 50 ms.
func BenchmarkPaced2000(b *testing.B) { benchStreams(b, 2000, 100, 50*time.Millisecond) }
