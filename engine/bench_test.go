//go:build unix

package engine_test

import (
	"fmt"
	"testing"

	"fakellm/engine"
	"fakellm/internal/enginetest"
)

// steadyEngine returns an engine with n requests in decode and room for output tokens each.
func steadyEngine(tb testing.TB, backend engine.Backend, n, output int, runs bool, sink engine.Sink) *engine.Engine {
	c := engine.DefaultConfig(backend)
	c.BlockSize, c.NumGPUBlocks = 64, n*(output+256)/64+n
	c.MaxNumSeqs, c.MaxNumBatchedTokens, c.Runs = engine.Unlimited, 1<<20, runs
	e, err := engine.New(c, enginetest.Poly{})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		r := &engine.Request{ID: engine.RequestID(i), PromptTokens: 100 + i%64, MaxOutput: output, Rank: engine.AnyRank}
		if err := e.Submit(0, r); err != nil {
			tb.Fatal(err)
		}
	}
	for range 4 {
		step(tb, e, sink)
	}
	return e
}

// step runs to the next boundary.
func step(tb testing.TB, e *engine.Engine, sink engine.Sink) {
	at, ok := e.Next()
	if !ok {
		tb.Fatal("nothing left to do")
	}
	e.Complete(at, sink)
	if err := e.Drive(at, sink); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkPass is one ordinary decode pass; ns/token is what a scheduled token costs.
func BenchmarkPass(b *testing.B) {
	for _, backend := range []engine.Backend{engine.VLLM, engine.TRTLLM, engine.SGLang} {
		for _, n := range []int{8, 256, 2048} {
			b.Run(fmt.Sprintf("%s-%d", backend, n), func(b *testing.B) {
				var sink quiet
				hidden := engine.Sink(plain{&sink})
				e := steadyEngine(b, backend, n, 1<<20, false, hidden)
				b.ReportAllocs()
				start := cpuTime()
				for b.Loop() {
					step(b, e, hidden)
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(b.N*n), "cpu-ns/token")
			})
		}
	}
}

// BenchmarkRun is steady decode in runs; one operation is one pass.
func BenchmarkRun(b *testing.B) {
	for _, backend := range []engine.Backend{engine.VLLM, engine.SGLang} {
		for _, n := range []int{8, 256, 2048} {
			b.Run(fmt.Sprintf("%s-%d", backend, n), func(b *testing.B) {
				var sink quiet
				e := steadyEngine(b, backend, n, b.N+1<<16, true, &sink) // each pass is a token of everybody
				b.ReportAllocs()
				start, from := cpuTime(), sink.passes
				for i := 0; i < b.N; i = sink.passes - from {
					step(b, e, &sink)
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(sink.passes-from), "cpu-ns/pass")
			})
		}
	}
}

// BenchmarkOutputLength shows that 256 requests cost about the same however long they decode: the work per request is
// constant, that per pass is that of the timing model. One operation is the whole load.
func BenchmarkOutputLength(b *testing.B) {
	for _, factor := range []int{1, 2, 4, 8, 16, 32} {
		b.Run(fmt.Sprintf("x%d", factor), func(b *testing.B) {
			start := cpuTime()
			passes := 0
			for b.Loop() {
				var sink quiet
				e := steadyEngine(b, engine.VLLM, 256, 128*factor, true, &sink)
				for e.Held() > 0 {
					step(b, e, &sink)
				}
				passes = sink.passes
			}
			spent := cpuTime() - start
			b.ReportMetric(float64(spent.Microseconds())/float64(b.N), "cpu-us/load")
			b.ReportMetric(float64(spent)/float64(b.N*passes), "cpu-ns/pass")
			b.ReportMetric(float64(spent)/float64(b.N*256*128*factor), "cpu-ns/token")
		})
	}
}

// TestNoAllocations: a pass in the steady state allocates nothing.
func TestNoAllocations(t *testing.T) {
	for _, backend := range []engine.Backend{engine.VLLM, engine.TRTLLM, engine.SGLang} {
		var sink quiet
		e := steadyEngine(t, backend, 64, 1<<16, false, plain{&sink})
		for range 2000 {
			step(t, e, plain{&sink})
		}
		hidden := engine.Sink(plain{&sink})
		if n := testing.AllocsPerRun(500, func() { step(t, e, hidden) }); n > 0 {
			t.Errorf("%s: %v allocations per pass", backend, n)
		}
	}
}

// TestPassOfRunIsConstant: twice the output in one long run visits the batch about as often, so the sink hears of about
// as many runs per request, not per token.
func TestPassOfRunIsConstant(t *testing.T) {
	heard := func(output int) int {
		count := counter{}
		e := steadyEngine(t, engine.VLLM, 64, output, true, &count)
		for e.Held() > 0 {
			step(t, e, &count)
		}
		return count.runs
	}
	if short, long := heard(4096), heard(4*4096); long > short+4*4096/512 {
		t.Errorf("%d runs for 4096 tokens each, %d for four times as many", short, long)
	}
}

// counter counts how often it is told of runs.
type counter struct {
	quiet
	runs int
}

func (c *counter) Ran(r *engine.Run) { c.runs++; c.quiet.Ran(r) }
