package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fakellm/engine/kv"
)

// stream is a content of token ids in which equal ids mean equal tokens; beyond known nobody can ask for it.
type stream struct {
	ids   []uint32
	known int
}

func (s stream) Local(i, size int) (kv.LocalHash, bool) {
	if (i+1)*size > s.known {
		return 0, false
	}
	return kv.HashTokens(s.ids[i*size : (i+1)*size]), true
}

// drawConfig draws a worker small enough to run dry.
func drawConfig(t *rapid.T) (Config, StepModel) {
	cfg := DefaultConfig(SGLang)
	cfg.BlockSize = rapid.SampledFrom([]int{1, 1, 2, 4, 8, 40}).Draw(t, "page")
	cfg.NumGPUBlocks = rapid.IntRange(1, 60/min(cfg.BlockSize, 8)+12).Draw(t, "pages")
	cfg.MaxNumSeqs = rapid.SampledFrom([]int{1, 2, 3, 8, 256}).Draw(t, "seqs")
	cfg.SGLang.SchedulePolicy = rapid.SampledFrom([]string{"fifo", "lpm"}).Draw(t, "policy")
	cfg.SGLang.ChunkedPrefillSize = cfg.BlockSize * rapid.SampledFrom([]int{1, 3, 8, 1000}).Draw(t, "chunk")
	cfg.SGLang.MaxPrefillTokens = rapid.SampledFrom([]int{20, 50, 16384}).Draw(t, "input")
	cfg.SGLang.ClipMaxNewTokens = rapid.SampledFrom([]int{0, 3, 4096}).Draw(t, "clip")
	cfg.SGLang.ScheduleConservativeness = rapid.SampledFrom([]float64{0, 0.05, 0.3, 1}).Draw(t, "conservativeness")
	cfg.EnablePrefixCaching = rapid.IntRange(0, 9).Draw(t, "caching") > 0
	cfg.MaxModelLen = rapid.SampledFrom([]int{0, 0, 0, 40}).Draw(t, "limit")
	cfg.PrefillDecodeInterval = rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "interval")
	cfg.DPSize = rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "ranks")
	if cfg.NumSpeculativeTokens = rapid.SampledFrom([]int{0, 0, 0, 1, 4}).Draw(t, "drafts"); cfg.NumSpeculativeTokens > 0 {
		cfg.AcceptRates = []float64{0.8, 1, 0.5, 0.5}
	}
	var model StepModel = polyModel{1, 1}
	if rapid.Bool().Draw(t, "fixed") {
		model = fixedModel{
			time.Duration(rapid.IntRange(0, 2).Draw(t, "prefill")) * time.Millisecond,
			time.Duration(rapid.IntRange(0, 2).Draw(t, "decode")) * time.Millisecond,
		}
	}
	return cfg, model
}

// drawLoad draws requests that share prefixes with each other, also across generated tokens, and now and then a
// cancellation or a reset of the cache.
func drawLoad(t *rapid.T, ranks int) (arrivals []arrival) {
	at := Time(0)
	kinds := rapid.IntRange(1, 3).Draw(t, "kinds")
	gap := rapid.SampledFrom([]int{0, 1, 5, 40}).Draw(t, "gap")
	longest := rapid.SampledFrom([]int{6, 30}).Draw(t, "longest")
	talk := rapid.SampledFrom([]int{3, 40}).Draw(t, "talk")
	for i := range rapid.IntRange(1, 40).Draw(t, "requests") {
		prompt := rapid.IntRange(1, longest).Draw(t, "prompt")
		output := rapid.IntRange(0, talk).Draw(t, "output")
		s := stream{known: prompt, ids: make([]uint32, prompt+output)}
		if rapid.Bool().Draw(t, "planned") {
			s.known += output
		}
		kind, same := rapid.IntRange(0, kinds).Draw(t, "kind"), rapid.IntRange(0, longest+10).Draw(t, "shared")
		for j := range s.ids {
			if s.ids[j] = uint32(1000*kind + j); j >= same {
				s.ids[j] = uint32(100000*(i+1) + j)
			}
		}
		at += Time(rapid.IntRange(0, gap).Draw(t, "wait")) * Time(time.Millisecond)
		req := &Request{
			ID: RequestID(i), PromptTokens: prompt, MaxOutput: output, Content: s,
			Rank: rapid.IntRange(0, ranks-1).Draw(t, "rank"),
		}
		arrivals = append(arrivals, arrival{at: at, req: req})
		switch rapid.IntRange(0, 19).Draw(t, "event") {
		case 0:
			victim := arrivals[rapid.IntRange(0, len(arrivals)-1).Draw(t, "victim")].req
			later := at + Time(rapid.IntRange(0, 100).Draw(t, "later"))*Time(time.Millisecond)
			if victim != nil {
				arrivals = append(arrivals, arrival{at: later, cancel: victim})
			}
		case 1:
			arrivals = append(arrivals, arrival{at: at})
		}
	}
	return arrivals
}

// listen plays a load and returns what was heard, a line per pass. In brief it leaves out what a run does not tell.
func listen(cfg Config, model StepModel, load []arrival, build func(Config, int, StepModel) core, brief bool) []string {
	var lines []string
	w := newWorld(cfg, model, build)
	w.heard = func(rank int, start, end Time, p *Pass) {
		var b strings.Builder
		fmt.Fprintf(&b, "%d..%d rank %d: %d tokens", start, end, rank, p.ScheduledTokens)
		for _, a := range p.Admitted {
			fmt.Fprintf(&b, " admit %d cached %d again %v", a.Req.ID, a.Cached, a.Again)
		}
		for _, a := range p.Preempted {
			fmt.Fprintf(&b, " retract %d owning %d", a.Req.ID, a.Blocks)
		}
		for _, o := range p.Outputs {
			fmt.Fprintf(&b, " out %d+%d %v", o.Req.ID, o.Tokens, o.End)
		}
		if !brief {
			fmt.Fprintf(&b, " %+v %+v %v", p.Prefill, p.Decode, p.Events)
			fmt.Fprintf(&b, " accepted %d of %d, %+v", p.Accepted, p.Forwards, w.cores[rank].state())
		}
		lines = append(lines, b.String())
	}
	w.play(append([]arrival(nil), load...))
	for _, a := range load {
		if a.req != nil {
			r := w.records[a.req]
			lines = append(lines, fmt.Sprintf("%d %v at %d after %d tokens", a.req.ID, r.how, r.end, r.tokens))
			if r.how == Running {
				lines = append(lines, neverEnded)
			}
		}
	}
	for rank, c := range w.cores {
		lines = append(lines, fmt.Sprintf("rank %d: %+v", rank, c.state()))
	}
	return lines
}

// mustEnd fails if a request never ended.
func mustEnd(t *rapid.T, lines []string) {
	if i := slices.Index(lines, neverEnded); i >= 0 {
		t.Fatalf("waits for ever; the last passes before:\n%s", strings.Join(lines[max(0, i-70):i+1], "\n"))
	}
}

const neverEnded = "  NEVER ENDED"

// TestSGLangEqualsTwin plays random loads on the core and on its slow twin: every pass is the same, events included.
// Run with -rapid.checks=10000 for the long version.
func TestSGLangEqualsTwin(t *testing.T) {
	for _, events := range []bool{false, true} {
		t.Run(fmt.Sprintf("events %v", events), rapid.MakeCheck(func(t *rapid.T) {
			cfg, model := drawConfig(t)
			cfg.EmitKVEvents = events
			load := drawLoad(t, cfg.DPSize)
			want, got := listen(cfg, model, load, newTwin, false), listen(cfg, model, load, newSGLang, false)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("-twin +core:\n%s", diff)
			}
			mustEnd(t, got)
		}))
	}
}

// TestSGLangRunsEqualPasses plays random loads with steady decode in runs: nothing but the bookkeeping changes.
func TestSGLangRunsEqualPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, model := drawConfig(t)
		cfg.DPSize, cfg.NumSpeculativeTokens = 1, rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(t, "drafts again")
		load := drawLoad(t, 1)
		want := listen(cfg, model, load, newSGLang, true)
		cfg.Runs = true
		if diff := cmp.Diff(want, listen(cfg, model, load, newSGLang, true)); diff != "" {
			t.Fatalf("-passes +runs:\n%s", diff)
		}
	})
}

// TestSGLangEventBooks keeps the books of a listener: nothing is stored twice or removed unseen, and when the cache is
// reset at the end nothing is left.
func TestSGLangEventBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, model := drawConfig(t)
		cfg.EmitKVEvents, cfg.DPSize = true, 1
		load := drawLoad(t, 1)
		w := newWorld(cfg, model, newSGLang)
		resident := map[kv.SequenceHash]bool{}
		next := uint64(0)
		hear := func(events []kv.Event) {
			for _, e := range events {
				if e.ID != next {
					t.Fatalf("event %d after %d", e.ID, next)
				}
				next++
				if !e.Removed && e.HasParent && !resident[e.Parent] {
					t.Fatalf("event %d: stored behind a page that is not there", e.ID)
				}
				for _, b := range e.Blocks {
					if resident[b.Sequence] != e.Removed {
						t.Fatalf("event %d: removed %v, but resident is %v", e.ID, e.Removed, resident[b.Sequence])
					}
					resident[b.Sequence] = !e.Removed
				}
			}
		}
		w.heard = func(_ int, _, _ Time, p *Pass) { hear(p.Events) }
		// A prompt that no pool could ever hold is not hashed either.
		load = append(load, arrival{at: 0, req: &Request{ID: 999, PromptTokens: 1 << 40, Content: stream{}}})
		w.play(load)
		c := w.cores[0].(*sglangCore)
		c.resetPrefixCache()
		if c.cache != nil {
			c.cache.reuse() // what the last pass took has been heard
			hear(c.cache.take(nil))
		}
		for _, there := range resident {
			if there {
				t.Fatal("a page outlived the reset")
			}
		}
	})
}
