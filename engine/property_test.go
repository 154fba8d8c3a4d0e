package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fakellm/engine"
	"fakellm/engine/kv"
	"fakellm/internal/enginetest"
)

// world is an engine under a recorder.
type world struct {
	*engine.Engine
	rec *enginetest.Recorder
}

func newWorld(t *rapid.T, c engine.Config, model engine.StepModel, inputs []enginetest.Timed) world {
	e, err := engine.New(c, model)
	if err != nil {
		t.Fatal(err)
	}
	w := world{e, enginetest.NewRecorder()}
	w.rec.Keep = true
	for _, in := range inputs {
		if s, ok := in.In.(engine.Submit); ok {
			w.rec.Arrived(in.At, s.Request)
		}
		if err := e.Apply(in.At, in.In); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// finish runs to the end and checks that nobody is left.
func (w world) finish(t *rapid.T) []*enginetest.Record {
	for at, ok := w.Next(); ok; at, ok = w.Next() {
		if err := w.Advance(at, w.rec); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range w.rec.Problems {
		t.Error(p)
	}
	for _, r := range w.rec.Order {
		if r.End == engine.Running {
			t.Errorf("request %d waits for ever", r.Req.ID)
		}
	}
	return w.rec.Order
}

func sameRecords(t *rapid.T, want, got []*enginetest.Record, c engine.Config, inputs []enginetest.Timed) {
	// Requests are shared by pointer; comparing them would walk the prompts.
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(enginetest.Record{}, "Req")); diff != "" {
		t.Fatalf("%+v\ninputs %s\n%s", c, describe(inputs), diff)
	}
}

// TestRuns: the same load with and without runs gives the same records, token by token.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t, engine.VLLM, engine.TRTLLM)
		c.NumGPUBlocks = rapid.IntRange(2, 60).Draw(t, "more blocks")
		inputs := drawInputs(t, rapid.Bool().Draw(t, "all planned"))
		plain := newWorld(t, c, mixed{}, inputs).finish(t)
		c.Runs = true
		sameRecords(t, plain, newWorld(t, c, mixed{}, inputs).finish(t), c, inputs)
	})
}

// TestAdvanceMoreOften: asking the engine at more instants than it asked for changes nothing.
func TestAdvanceMoreOften(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t, engine.VLLM, engine.TRTLLM)
		c.DPSize = rapid.IntRange(1, 3).Draw(t, "ranks")
		drawSpeculation(t, &c)
		if c.Backend == engine.VLLM {
			c.PrefillScheduleInterval = rapid.IntRange(1, 3).Draw(t, "interval")
		}
		c.Runs = rapid.Bool().Draw(t, "runs")
		inputs := drawInputs(t, true)
		want := newWorld(t, c, mixed{}, inputs).finish(t)
		w := newWorld(t, c, mixed{}, inputs)
		for range rapid.IntRange(0, 30).Draw(t, "calls") {
			at := w.Now() + engine.Time(rapid.IntRange(0, 40).Draw(t, "step"))
			if err := w.Advance(at, w.rec); err != nil {
				t.Fatal(err)
			}
		}
		sameRecords(t, want, w.finish(t), c, inputs)
	})
}

// TestLaws drives an engine at random by its half steps and audits it after each (architecture §7).
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t, engine.VLLM, engine.TRTLLM)
		c.DPSize = rapid.IntRange(1, 2).Draw(t, "ranks")
		drawSpeculation(t, &c)
		c.Runs = rapid.Bool().Draw(t, "runs")
		w := newWorld(t, c, mixed{}, nil)
		m := &machine{world: w, model: map[engine.RequestID]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"submit": m.submit, "cancel": m.cancel, "wait": m.wait, "next": m.next, "drive": m.drive,
			"reset": func(t *rapid.T) { m.must(t, w.ResetPrefixCache(w.Now())) },
			"":      m.check,
		})
	})
}

// machine is the state of TestLaws: the requests that were submitted and may still be held.
type machine struct {
	world
	model map[engine.RequestID]bool
	last  engine.RequestID
}

func (m *machine) must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func (m *machine) submit(t *rapid.T) {
	prompt, output := rapid.IntRange(0, 24).Draw(t, "prompt"), rapid.IntRange(0, 30).Draw(t, "output")
	ids := make(kv.Tokens, prompt+output)
	for i := range ids {
		ids[i] = uint32(i / 5 * rapid.IntRange(0, 1).Draw(t, "fork"))
	}
	m.last++
	r := &engine.Request{ID: m.last, PromptTokens: prompt, MaxOutput: output, Content: ids, Rank: engine.AnyRank}
	m.rec.Arrived(m.Now(), r)
	m.must(t, m.Submit(m.Now(), r))
	if m.Submit(m.Now(), r) == nil {
		t.Fatal("the same id twice is no error")
	}
}

func (m *machine) cancel(t *rapid.T) {
	id := engine.RequestID(rapid.Uint64Range(0, uint64(m.last)+1).Draw(t, "id"))
	rec := m.rec.Records[id]
	held := rec != nil && rec.End == engine.Running
	if got := m.Cancel(m.Now(), id, m.rec); got != held && m.rec.Records[id].End != engine.Completed {
		t.Fatalf("Cancel(%d) = %v, held %v", id, got, held)
	}
}

func (m *machine) next(t *rapid.T) {
	if at, ok := m.Next(); ok {
		m.Complete(at, m.rec)
		m.must(t, m.Drive(at, m.rec))
	}
}

func (m *machine) drive(t *rapid.T) { m.must(t, m.Drive(m.Now(), m.rec)) }

func (m *machine) wait(t *rapid.T) {
	m.must(t, m.Advance(m.Now()+engine.Time(rapid.IntRange(0, 99).Draw(t, "span")), m.rec))
}

func (m *machine) check(t *rapid.T) {
	if err := m.Audit(); err != nil {
		t.Fatal(err)
	}
	if len(m.rec.Problems) > 0 {
		t.Fatal(m.rec.Problems)
	}
	held := 0
	for _, r := range m.rec.Order {
		if r.End == engine.Running {
			held++
		}
	}
	if held != m.Held() {
		t.Fatal(fmt.Sprintf("%d held, %d not ended", m.Held(), held))
	}
}

// TestEventsAddUp: what the events stored and did not remove is what the cache has (law 3), at every boundary; nothing is
// stored twice or removed without being there.
func TestEventsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t, engine.VLLM, engine.TRTLLM)
		c.EnablePrefixCaching, c.EmitKVEvents = true, true
		drawSpeculation(t, &c)
		inputs := slices.DeleteFunc(drawInputs(t, false), func(in enginetest.Timed) bool {
			_, reset := in.In.(engine.ResetPrefixCache)
			return reset // its events come with the next pass
		})
		w := newWorld(t, c, mixed{}, inputs)
		have := map[kv.SequenceHash]bool{}
		next := uint64(0)
		w.rec.OnPass = func(p *engine.Pass) {
			for _, e := range p.Events {
				if e.ID != next {
					t.Fatalf("event %d, want %d", e.ID, next)
				}
				next++
				for _, b := range e.Blocks {
					if have[b.Sequence] != e.Removed {
						t.Fatalf("event %d: block %x removed %v, had it %v", e.ID, b.Sequence, e.Removed, have[b.Sequence])
					}
					have[b.Sequence] = !e.Removed
				}
			}
			maps.DeleteFunc(have, func(_ kv.SequenceHash, there bool) bool { return !there })
			if got := w.Resident(0); !slices.Equal(got, slices.Sorted(maps.Keys(have))) {
				t.Fatalf("resident %x, events say %x", got, slices.Sorted(maps.Keys(have)))
			}
		}
		w.finish(t)
	})
}
