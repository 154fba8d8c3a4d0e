package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fakellm/engine"
	"fakellm/timing"
)

// fixed is 10 ms of prefill and 2 ms of decode, the reference's own test timing.
func fixed(t testing.TB) engine.StepModel {
	t.Helper()
	m, err := timing.New(timing.Fixed{Prefill: 10, Decode: 2}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func build(t testing.TB, workers int, change func(*engine.Config), model engine.StepModel) *Cluster {
	t.Helper()
	cfg := engine.DefaultConfig(engine.VLLM)
	cfg.BlockSize = 4
	if change != nil {
		change(&cfg)
	}
	c, err := New(Config{Workers: workers, Engine: cfg}, model)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const ms = engine.Time(1e6)

// notes writes down the events of requests. then is called at each terminal output.
type notes struct {
	lines []string
	then  func(at engine.Time, o engine.Output)
}

func (n *notes) Began(p *engine.Pass) {
	for _, a := range p.Admitted {
		n.lines = append(n.lines, fmt.Sprintf("%v admits %d on %d", p.Start.Milliseconds(), a.Req.ID, p.Worker))
	}
}

func (n *notes) Ended(p *engine.Pass) {
	for _, o := range p.Outputs {
		n.lines = append(n.lines, fmt.Sprintf("%v %d gets %d %v", p.End.Milliseconds(), o.Req.ID, o.Tokens, o.End))
		if o.End != engine.Running && n.then != nil {
			n.then(p.End, o)
		}
	}
}

func (n *notes) Left(d engine.Departure) {
	n.lines = append(n.lines, fmt.Sprintf("%v %d leaves %v", d.At.Milliseconds(), d.Req.ID, d.End))
}

func ask(id engine.RequestID, prompt, output int) engine.Submit {
	return engine.Submit{Request: &engine.Request{ID: id, PromptTokens: prompt, MaxOutput: output, Rank: engine.AnyRank}}
}

func advance(t *testing.T, c *Cluster, to engine.Time, sink engine.Sink) {
	t.Helper()
	if err := c.Advance(to, sink); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, c *Cluster, at engine.Time, inputs ...engine.Input) {
	t.Helper()
	for _, in := range inputs {
		if err := c.Apply(at, in); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInstants(t *testing.T) {
	for _, c := range []struct {
		why     string
		workers int
		feed    func(t *testing.T, c *Cluster, n *notes)
		want    string
	}{
		{"an arrival at the end of a pass joins the pass that starts then", 1, func(t *testing.T, c *Cluster, _ *notes) {
			apply(t, c, 0, ask(1, 8, 1))
			apply(t, c, 10*ms, ask(2, 8, 1))
		}, "0 admits 1 on 0; 10 1 gets 1 completed; 10 admits 2 on 0; 20 2 gets 1 completed"},
		{"a nanosecond later it waits for the next pass", 1, func(t *testing.T, c *Cluster, _ *notes) {
			apply(t, c, 0, ask(1, 8, 2))
			apply(t, c, 10*ms+1, ask(2, 8, 1))
		}, "0 admits 1 on 0; 10 1 gets 1 running; 12 1 gets 1 completed; 12 admits 2 on 0; 22 2 gets 1 completed"},
		{"arrivals of one instant share a pass, in the order of ids", 1, func(t *testing.T, c *Cluster, _ *notes) {
			apply(t, c, 5*ms, ask(2, 8, 1), ask(1, 8, 1))
		}, "5 admits 1 on 0; 5 admits 2 on 0; 15 1 gets 1 completed; 15 2 gets 1 completed"},
		{"round robin, busy or not; completions of one instant by worker", 2, func(t *testing.T, c *Cluster, _ *notes) {
			apply(t, c, 0, ask(1, 8, 1), ask(2, 8, 1), ask(3, 8, 1))
		}, "0 admits 1 on 0; 0 admits 3 on 0; 0 admits 2 on 1; " +
			"10 1 gets 1 completed; 10 3 gets 1 completed; 10 2 gets 1 completed"},
		{"what the end of a request sets off happens in the same instant", 1, func(t *testing.T, c *Cluster, n *notes) {
			apply(t, c, 0, ask(1, 8, 1))
			n.then = func(at engine.Time, o engine.Output) {
				if o.Req.ID < 3 {
					apply(t, c, at, ask(o.Req.ID+1, 8, 1))
				}
			}
		}, "0 admits 1 on 0; 10 1 gets 1 completed; 10 admits 2 on 0; " +
			"20 2 gets 1 completed; 20 admits 3 on 0; 30 3 gets 1 completed"},
		{"an id may be used again once its request has ended", 1, func(t *testing.T, c *Cluster, n *notes) {
			apply(t, c, 0, ask(1, 8, 1))
			again := true
			n.then = func(at engine.Time, _ engine.Output) {
				if again {
					again = false
					apply(t, c, at, ask(1, 4, 1))
				}
			}
		}, "0 admits 1 on 0; 10 1 gets 1 completed; 10 admits 1 on 0; 20 1 gets 1 completed"},
		{"a cancellation in the middle of a pass takes its outputs away", 1, func(t *testing.T, c *Cluster, _ *notes) {
			apply(t, c, 0, ask(1, 8, 5), ask(2, 8, 1))
			apply(t, c, 3*ms, engine.Cancel{ID: 1})
		}, "0 admits 1 on 0; 0 admits 2 on 0; 3 1 leaves canceled; 10 2 gets 1 completed"},
		{"submitted and cancelled in one instant", 1, func(t *testing.T, c *Cluster, _ *notes) {
			apply(t, c, 1*ms, ask(1, 8, 5), engine.Cancel{ID: 1}, engine.Cancel{ID: 9})
		}, "1 1 leaves canceled"},
	} {
		cluster, n := build(t, c.workers, nil, fixed(t)), &notes{}
		c.feed(t, cluster, n)
		advance(t, cluster, 1000*ms, n)
		if got := strings.Join(n.lines, "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.why, got, c.want)
		}
		if cluster.Held() != 0 {
			t.Errorf("%s: %d requests held at the end", c.why, cluster.Held())
		}
	}
}

func TestZeroLengthPassesOutrunTheirArrivals(t *testing.T) {
	// Source: spec simulation-harness §4.2: fixed 0/2, three at a time two by two; the third arrives 0, is admitted 2.
	model, err := timing.New(timing.Fixed{Decode: 2}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	c, n := build(t, 1, nil, model), &notes{}
	n.then = func(at engine.Time, o engine.Output) {
		if o.Req.ID == 1 {
			apply(t, c, at, ask(3, 66, 1))
		}
	}
	apply(t, c, 0, ask(1, 64, 0), ask(2, 65, 3))
	advance(t, c, 1000*ms, n)
	if !slices.Contains(n.lines, "2 admits 3 on 0") {
		t.Errorf("got %s", strings.Join(n.lines, "; "))
	}
}

func TestRanksInTurn(t *testing.T) {
	// Source: spec simulation-harness §5.1: two workers of two ranks serve (0,0) (1,0) (0,1) (1,1) (0,0).
	c := build(t, 2, func(e *engine.Config) { e.DPSize = 2 }, fixed(t))
	var got []string
	sink := &placed{got: &got}
	for id := range engine.RequestID(5) {
		apply(t, c, 0, ask(id, 8, 1))
	}
	advance(t, c, 1000*ms, sink)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"0 on 0,0", "1 on 1,0", "2 on 0,1", "3 on 1,1", "4 on 0,0"}, got); diff != "" {
		t.Error(diff)
	}
}

type placed struct {
	notes
	got *[]string
}

func (p *placed) Began(pass *engine.Pass) {
	for _, a := range pass.Admitted {
		*p.got = append(*p.got, fmt.Sprintf("%d on %d,%d", a.Req.ID, pass.Worker, pass.Rank))
	}
}

func TestBadInputChangesNothing(t *testing.T) {
	c := build(t, 2, nil, fixed(t))
	apply(t, c, 5*ms, ask(1, 8, 1))
	advance(t, c, 7*ms, &notes{})
	for why, in := range map[string]engine.Input{
		"nil request": engine.Submit{}, "known id": ask(1, 8, 1),
		"negative prompt": ask(2, -1, 1), "negative output": ask(2, 1, -1),
		"no such rank": engine.Submit{Request: &engine.Request{ID: 2, Rank: 3}}, "no input": nil,
	} {
		if err := c.Apply(8*ms, in); err == nil {
			t.Errorf("%s: accepted", why)
		}
	}
	if err := c.Apply(6*ms, ask(2, 8, 1)); err == nil {
		t.Error("an input for the past: accepted")
	}
	if s := c.Snapshot(); s.Held != 1 || s.Waiting != 0 || len(s.Workers) != 2 || s.Now != 7*ms {
		t.Errorf("snapshot %+v", s)
	}
	if _, err := New(Config{Workers: 0, Engine: engine.DefaultConfig(engine.VLLM)}, fixed(t)); err == nil {
		t.Error("a cluster without workers")
	}
	if _, err := New(Config{Workers: 1}, fixed(t)); err == nil {
		t.Error("an engine without config")
	}
}

type failing struct{}

var errNoRow = errors.New("no such row")

func (failing) Prefill(engine.PrefillBatch) (time.Duration, error) { return 0, errNoRow }
func (failing) Decode(engine.DecodeBatch) (time.Duration, error)   { return 0, errNoRow }

func TestAnErrorIsFinal(t *testing.T) {
	c := build(t, 1, nil, failing{})
	apply(t, c, 0, ask(1, 8, 1))
	for range 2 {
		if err := c.Advance(ms, &notes{}); !errors.Is(err, errNoRow) {
			t.Errorf("advance: %v", err)
		}
	}
	if err := c.Apply(ms, ask(2, 8, 1)); !errors.Is(err, errNoRow) {
		t.Errorf("apply: %v", err)
	}
}

// TestAdvancingMoreOftenChangesNothing plays random loads once in one go and once in random steps.
func TestAdvancingMoreOftenChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		workers := rapid.IntRange(1, 4).Draw(rt, "workers")
		play := func(step func() engine.Time) []string {
			rng := rand.New(rand.NewPCG(seed, 0))
			c := build(t, workers, func(e *engine.Config) {
				e.NumGPUBlocks, e.MaxNumSeqs, e.MaxNumBatchedTokens = 40, 5, 64
			}, fixed(t))
			n := &notes{}
			at := engine.Time(0)
			for id := range engine.RequestID(20) {
				at += engine.Time(rng.IntN(8)) * ms
				apply(t, c, at, ask(id, 1+rng.IntN(90), rng.IntN(30)))
				if rng.IntN(5) == 0 {
					apply(t, c, at+engine.Time(rng.IntN(40))*ms, engine.Cancel{ID: id})
				}
			}
			for to := engine.Time(0); to < 60000*ms; to += step() {
				advance(t, c, to, n)
			}
			advance(t, c, 60000*ms, n)
			return n.lines
		}
		whole := play(func() engine.Time { return 60000 * ms })
		steps := rand.New(rand.NewPCG(seed, 1))
		parts := play(func() engine.Time { return engine.Time(steps.IntN(7_000_000)) })
		if diff := cmp.Diff(whole, parts); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestAgendaAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(rt, "workers")
		a := newAgenda(n)
		naive := map[int32]engine.Time{}
		for range 200 {
			w := int32(rapid.IntRange(0, n-1).Draw(rt, "worker"))
			at := engine.Time(rapid.IntRange(0, 5).Draw(rt, "at"))
			ok := rapid.Bool().Draw(rt, "due")
			a.set(w, at, ok)
			delete(naive, w)
			if ok {
				naive[w] = at
			}
			first, some := int32(-1), false
			for v, vAt := range naive {
				if !some || vAt < naive[first] || vAt == naive[first] && v < first {
					first, some = v, true
				}
			}
			got, gotOK := a.due(5)
			if gotOK != some || some && got != first {
				rt.Fatalf("due is %d %v, want %d %v of %v", got, gotOK, first, some, naive)
			}
		}
	})
}
