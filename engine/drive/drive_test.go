package drive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fakellm/engine"
	"fakellm/engine/cluster"
	"fakellm/timing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a world in which little is enough to queue, preempt and reject.
func small(t testing.TB, workers int) *cluster.Cluster {
	t.Helper()
	cfg := engine.DefaultConfig(engine.VLLM)
	cfg.NumGPUBlocks, cfg.BlockSize, cfg.MaxNumSeqs, cfg.MaxNumBatchedTokens = 24, 16, 6, 128
	return world(t, workers, cfg)
}

func world(t testing.TB, workers int, cfg engine.Config) *cluster.Cluster {
	t.Helper()
	model, err := timing.New(timing.Polynomial{}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.New(cluster.Config{Workers: workers, Engine: cfg}, model)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// diary writes down what a machine tells, a line per event.
type diary struct{ lines []string }

func (d *diary) Began(p *engine.Pass) {
	line := fmt.Sprintf("%d began worker %d pass %d to %d, prefill %v decode %v",
		p.Start, p.Worker, p.Seq, p.End, p.Prefill, p.Decode)
	for _, a := range p.Admitted {
		line += fmt.Sprintf(" +%d/%d", a.Req.ID, a.Cached)
	}
	for _, q := range p.Preempted {
		line += fmt.Sprintf(" -%d", q.Req.ID)
	}
	d.lines = append(d.lines, line)
}

func (d *diary) Ended(p *engine.Pass) {
	line := fmt.Sprintf("%d ended worker %d pass %d", p.End, p.Worker, p.Seq)
	for _, o := range p.Outputs {
		line += fmt.Sprintf(" %d:%d%v", o.Req.ID, o.Tokens, o.End)
	}
	d.lines = append(d.lines, line)
}

func (d *diary) Left(l engine.Departure) {
	d.lines = append(d.lines, fmt.Sprintf("%d left %d %v", l.At, l.Req.ID, l.End))
}

// stamped is a recorded input.
type stamped struct {
	at engine.Time
	in engine.Input
}

// tape is a Source of recorded inputs; requests are copied, so a run can be played again.
type tape []stamped

func (s *tape) Next() (engine.Time, bool) {
	if len(*s) == 0 {
		return 0, false
	}
	return (*s)[0].at, true
}

func (s *tape) Take() engine.Input {
	in := (*s)[0].in
	*s = (*s)[1:]
	if submit, ok := in.(engine.Submit); ok {
		r := *submit.Request
		return engine.Submit{Request: &r}
	}
	return in
}

func play(t *testing.T, m Machine, inputs tape) []string {
	t.Helper()
	d := &diary{}
	if _, _, err := Virtual(m, &inputs, d, Forever); err != nil {
		t.Fatal(err)
	}
	return d.lines
}

// stormy submits and cancels for a while from several goroutines, at seeded fake times.
func stormy(t *testing.T, l *Live) {
	var done []chan struct{}
	for g := range 4 {
		end := make(chan struct{})
		done = append(done, end)
		go func() {
			defer close(end)
			rng := rand.New(rand.NewPCG(7, uint64(g)))
			for range 25 {
				time.Sleep(time.Duration(rng.IntN(40_000_000)))
				r := engine.Request{PromptTokens: 1 + rng.IntN(300), MaxOutput: rng.IntN(40), Rank: engine.AnyRank}
				box, err := l.Submit(r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if rng.IntN(4) == 0 {
					time.Sleep(time.Duration(rng.IntN(60_000_000)))
					box.Cancel()
				}
			}
		}()
	}
	for _, end := range done {
		<-end
	}
	if err := l.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestRecordedLiveRunReplaysOffline(t *testing.T) {
	for _, workers := range []int{1, 3} {
		var recorded tape
		live := &diary{}
		synctest.Test(t, func(t *testing.T) {
			l := NewLive(small(t, workers), Config{
				Sinks: []engine.Sink{live}, Sleeper: NewTimerSleeper(),
				Record: func(at engine.Time, in engine.Input) { recorded = append(recorded, stamped{at, in}) },
			})
			stormy(t, l)
			l.Close()
		})
		offline := play(t, small(t, workers), recorded)
		if diff := cmp.Diff(offline, live.lines); diff != "" {
			t.Errorf("%d workers: offline (-) and live (+) differ:\n%s", workers, diff)
		}
		if len(live.lines) < 200 {
			t.Errorf("only %d events: the load is too thin to mean anything", len(live.lines))
		}
	}
}

// The wall clock's own jitter must not reach the timeline either.
func TestRecordedWallClockRunReplaysOffline(t *testing.T) {
	var recorded tape
	live := &diary{}
	cfg := engine.DefaultConfig(engine.VLLM)
	cfg.NumGPUBlocks, cfg.BlockSize, cfg.MaxNumSeqs = 24, 16, 6
	model, err := timing.New(timing.Polynomial{}, 50, 1) // fifty times as fast: the test is over in no time
	if err != nil {
		t.Fatal(err)
	}
	build := func() *cluster.Cluster {
		c, err := cluster.New(cluster.Config{Workers: 2, Engine: cfg}, model)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	l := NewLive(build(), Config{
		Sinks:  []engine.Sink{live},
		Record: func(at engine.Time, in engine.Input) { recorded = append(recorded, stamped{at, in}) },
	})
	var boxes []*Mailbox
	for i := range 60 {
		box, err := l.Submit(engine.Request{PromptTokens: 1 + i*5, MaxOutput: i % 7, Rank: engine.AnyRank}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if boxes = append(boxes, box); i%5 == 0 {
			boxes[i/2].Cancel()
		}
	}
	if err := l.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if diff := cmp.Diff(play(t, build(), recorded), live.lines); diff != "" {
		t.Errorf("offline (-) and live (+) differ:\n%s", diff)
	}
}

func TestOneRequestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLive(world(t, 1, engine.DefaultConfig(engine.VLLM)), Config{Sleeper: NewTimerSleeper()})
		defer l.Close()
		time.Sleep(3 * time.Millisecond)
		start := time.Now()
		news := make(chan struct{}, 8)
		box, err := l.Submit(engine.Request{PromptTokens: 128, MaxOutput: 3, Rank: engine.AnyRank, Owner: "mine"},
			func() { news <- struct{}{} })
		if err != nil {
			t.Fatal(err)
		}
		var due, woken []time.Duration
		for range 3 {
			<-news
			due = append(due, box.Progress().Due.Sub(start))
			woken = append(woken, time.Since(start).Truncate(time.Microsecond))
		}
		// Source: the reference's answer to 128 tokens in, 3 out, defaults (spec engine-core §2.10).
		want := []time.Duration{18451798, 24198442, 29945138}
		if !slices.Equal(due, want) {
			t.Errorf("tokens due at %v, want %v", due, want)
		}
		for i := range woken {
			if woken[i] != due[i].Truncate(time.Microsecond) {
				t.Errorf("token %d: due at %v, woken at %v", i, due[i], woken[i])
			}
		}
		p := box.Progress()
		if p.End != engine.Completed || p.Tokens != 3 || p.Forwards != 3 || !p.Admitted || box.Owner() != "mine" ||
			p.Submitted != start || p.FirstAdmitted != start {
			t.Errorf("progress %+v", p)
		}
		box.Cancel() // after the end: nothing
	})
}

func TestCancelFreesTheSlotWithinOnePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := engine.DefaultConfig(engine.VLLM)
		cfg.MaxNumSeqs = 1
		c := world(t, 1, cfg)
		l := NewLive(c, Config{Sleeper: NewTimerSleeper()})
		defer l.Close()
		first, _ := l.Submit(engine.Request{PromptTokens: 64, MaxOutput: 1 << 20, Rank: engine.AnyRank}, nil)
		second, _ := l.Submit(engine.Request{PromptTokens: 64, MaxOutput: 1, Rank: engine.AnyRank}, nil)
		time.Sleep(time.Second)
		if p := second.Progress(); p.Admitted {
			t.Fatalf("both run in one slot: %+v", p)
		}
		gone := time.Now()
		first.Cancel()
		first.Cancel()
		time.Sleep(time.Second)
		if p := first.Progress(); p.End != engine.Cancelled {
			t.Errorf("the cancelled request ended as %v", p.End)
		}
		p := second.Progress()
		if wait := p.FirstAdmitted.Sub(gone); p.End != engine.Completed || wait > 40*time.Millisecond {
			t.Errorf("the next one was admitted %v after the cancellation, more than a pass: %+v", wait, p)
		}
		if l.Open() != 0 {
			t.Errorf("%d requests open", l.Open())
		}
	})
}

func TestSlowReaderLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLive(small(t, 1), Config{Sleeper: NewTimerSleeper()})
		defer l.Close()
		box, _ := l.Submit(engine.Request{PromptTokens: 10, MaxOutput: 200, Rank: engine.AnyRank}, nil)
		time.Sleep(time.Hour) // nobody looks meanwhile
		if p := box.Progress(); p.Tokens != 200 || p.End != engine.Completed || !p.LatestToken.After(p.FirstToken) {
			t.Errorf("after an hour: %+v", p)
		}
	})
}

func TestWakesFollowThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLive(small(t, 1), Config{Sleeper: NewTimerSleeper()})
		defer l.Close()
		var order []int
		for i := range 5 {
			r := engine.Request{PromptTokens: 8, MaxOutput: 2, Rank: engine.AnyRank}
			if _, err := l.Submit(r, func() { order = append(order, i) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		if want := []int{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("woken in order %v, want %v", order, want)
		}
	})
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLive(small(t, 1), Config{Inbox: 2, Sleeper: NewTimerSleeper()})
		time.Sleep(time.Millisecond) // the loop is at rest
		never, _ := l.Submit(engine.Request{PromptTokens: 1000, MaxOutput: 1, Rank: engine.AnyRank}, nil)
		bad, err := l.Submit(engine.Request{PromptTokens: 1, MaxOutput: 1, Rank: 7}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Submit(engine.Request{}, nil); !errors.Is(err, ErrBusy) {
			t.Errorf("the third of an inbox of two: %v", err)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if p := never.Progress(); p.End != engine.Rejected || p.Why == nil || p.Why.Setting != "num_gpu_blocks" {
			t.Errorf("a prompt larger than the pool: %+v", p)
		}
		if p := bad.Progress(); p.End != engine.Rejected || p.Err == nil {
			t.Errorf("a rank that does not exist: %+v", p)
		}
		long, _ := l.Submit(engine.Request{PromptTokens: 16, MaxOutput: 300, Rank: engine.AnyRank}, nil)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer stop()
		if err := l.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("drain of a long request: %v", err)
		}
		if _, err := l.Submit(engine.Request{}, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("submit while draining: %v", err)
		}
		l.Close()
		l.Close()
		if p := long.Progress(); p.End != engine.Failed || !errors.Is(p.Err, ErrClosed) {
			t.Errorf("open at close: %+v", p)
		}
		long.Cancel()
		if l.Inspect(func() {}) {
			t.Error("inspected a closed driver")
		}
	})
}

// broken is a timing model that fails at its n-th decode.
type broken struct{ left int }

var errBroken = errors.New("no such row")

func (b *broken) Prefill(engine.PrefillBatch) (time.Duration, error) { return time.Millisecond, nil }

func (b *broken) Decode(engine.DecodeBatch) (time.Duration, error) {
	if b.left--; b.left < 0 {
		return 0, errBroken
	}
	return time.Millisecond, nil
}

func TestBrokenTimingModelFailsWhatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := cluster.New(cluster.Config{Workers: 1, Engine: engine.DefaultConfig(engine.VLLM)}, &broken{left: 3})
		if err != nil {
			t.Fatal(err)
		}
		l := NewLive(c, Config{Sleeper: NewTimerSleeper()})
		box, _ := l.Submit(engine.Request{PromptTokens: 4, MaxOutput: 9, Rank: engine.AnyRank}, nil)
		time.Sleep(time.Second)
		if p := box.Progress(); p.End != engine.Failed || !errors.Is(p.Err, errBroken) || p.Tokens != 4 {
			t.Errorf("progress %+v", p)
		}
		if _, err := l.Submit(engine.Request{}, nil); !errors.Is(err, errBroken) {
			t.Errorf("submit to a broken engine: %v", err)
		}
		if !l.Inspect(func() {}) {
			t.Error("a broken engine can still be looked at")
		}
		l.Close()
	})
}

func TestInspectAndResetSeeTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := small(t, 2)
		l := NewLive(c, Config{Sleeper: NewTimerSleeper()})
		defer l.Close()
		if _, err := l.Submit(engine.Request{PromptTokens: 40, MaxOutput: 4, Rank: engine.AnyRank}, nil); err != nil {
			t.Fatal(err)
		}
		l.ResetPrefixCache()
		time.Sleep(time.Millisecond)
		held := 0
		if !l.Inspect(func() { held = c.Held() }) || held != 1 {
			t.Errorf("%d requests held, want 1", held)
		}
	})
}
