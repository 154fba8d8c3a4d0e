package replay

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fakellm/engine"
	"fakellm/engine/cluster"
	"fakellm/internal/experiment/report"
	"fakellm/internal/experiment/workload"
	"fakellm/timing"
)

// prompts is a random load over a small tree of prefixes.
func prompts(rng *rand.Rand, n int) *workload.Load {
	const block = 16
	table := workload.NewTable(block)
	l := &workload.Load{Source: "random"}
	at, fresh := 0.0, uint32(100)
	for range n {
		if rng.IntN(4) > 0 {
			at += float64(rng.IntN(90)) / 3
		}
		tokens := 1 + rng.IntN(400)
		var ids []uint32
		for len(ids)*block < tokens {
			id := uint32(rng.IntN(2))
			if rng.IntN(3) == 0 {
				id, fresh = fresh, fresh+1
			}
			ids = append(ids, id)
		}
		prompt := table.Prompt(ids, tokens)
		turns := 1 + rng.IntN(3)
		l.Sessions = append(l.Sessions, workload.Session{Start: at, First: int32(len(l.Turns)), Count: int32(turns)})
		for range turns {
			l.Turns = append(l.Turns, workload.Turn{
				Prompt: tokens, Output: rng.IntN(120), Content: &prompt, Delay: float64(rng.IntN(50)),
			})
		}
	}
	return l
}

// times notes when every request got its tokens, one by one: the naive twin of the recorder's statistics.
type times struct {
	tokens map[engine.RequestID][]engine.Time
	ends   map[engine.RequestID]engine.End
}

func (s *times) gaps() *report.Gaps {
	g := report.NewGaps()
	for id, at := range s.tokens {
		for i := 1; i < len(at) && s.ends[id] == engine.Completed; i++ {
			g.Add(int64(at[i]-at[i-1]), 1)
		}
	}
	return g
}

// noted is a model that is also told; see run.
type noted struct {
	engine.Sink
	times *times
}

func (n noted) Ended(p *engine.Pass) {
	for _, o := range p.Outputs {
		for range o.Tokens {
			n.times.tokens[o.Req.ID] = append(n.times.tokens[o.Req.ID], p.End)
		}
		n.times.ends[o.Req.ID] = o.End
	}
	n.Sink.Ended(p)
}

// TestRunsChangeNothing replays random loads pass by pass and in runs, and holds the statistics of both against gaps
// taken one by one.
func TestRunsChangeNothing(t *testing.T) {
	model, err := timing.New(timing.Polynomial{}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	near := cmpopts.EquateApprox(1e-11, 1e-12)
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		backend := rapid.SampledFrom([]engine.Backend{engine.VLLM, engine.SGLang, engine.TRTLLM}).Draw(t, "backend")
		e := engine.DefaultConfig(backend)
		e.BlockSize, e.NumGPUBlocks, e.MaxNumSeqs, e.MaxNumBatchedTokens = 16, rapid.IntRange(40, 200).Draw(t, "pool"), 8, 256
		e.SGLang.ChunkedPrefillSize = 256
		cfg := Config{
			Cluster:  cluster.Config{Workers: rapid.IntRange(1, 3).Draw(t, "workers"), Engine: e},
			Arrivals: workload.Arrivals{Concurrency: rapid.SampledFrom([]int{0, 3}).Draw(t, "concurrency")}, GPUs: 1,
		}
		load := prompts(rand.New(rand.NewPCG(seed, 0)), 25)
		fast, err := Run(load, cfg, model)
		if err != nil {
			t.Fatal(err)
		}
		seen := &times{tokens: map[engine.RequestID][]engine.Time{}, ends: map[engine.RequestID]engine.End{}}
		cfg.plain = func(s engine.Sink) engine.Sink { return noted{s, seen} }
		slow, err := Run(load, cfg, model)
		if err != nil {
			t.Fatal(err)
		}
		a, b := report.Summarize(fast.Records, fast.Totals), report.Summarize(slow.Records, slow.Totals)
		report.SortByArrival(fast.Records)
		report.SortByArrival(slow.Records)
		if diff := cmp.Diff(slow.Records, fast.Records, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("pass by pass (-) and in runs (+):\n%s", diff)
		}
		ignore := cmpopts.IgnoreFields(report.Totals{}, "Gaps")
		if diff := cmp.Diff(b, a, near, ignore); diff != "" {
			t.Fatalf("summaries, pass by pass (-) and in runs (+):\n%s", diff)
		}
		if diff := cmp.Diff(seen.gaps().Gap(), a.ITL, near); diff != "" {
			t.Fatalf("gaps one by one (-) and by the recorder (+):\n%s", diff)
		}
	})
}
