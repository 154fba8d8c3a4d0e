package engine_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fakellm/engine"
	"fakellm/engine/kv"
	"fakellm/internal/enginetest"
)

// mixed is a timing model in which every part of a signature matters.
type mixed struct{ free bool }

func (m mixed) Prefill(b engine.PrefillBatch) (time.Duration, error) {
	if m.free {
		return 0, nil
	}
	return time.Duration(5 + b.Requests*b.New()), nil
}

func (m mixed) Decode(b engine.DecodeBatch) (time.Duration, error) {
	if m.free {
		return 0, nil
	}
	return time.Duration(2 + b.Requests/2 + b.ActiveKV/16), nil
}

// drawConfig draws a small worker on which everything happens often.
func drawConfig(t *rapid.T, backends ...engine.Backend) engine.Config {
	c := engine.DefaultConfig(rapid.SampledFrom(backends).Draw(t, "backend"))
	c.BlockSize = rapid.IntRange(2, 4).Draw(t, "block size")
	c.NumGPUBlocks = rapid.IntRange(2, 20).Draw(t, "blocks")
	c.MaxNumSeqs = rapid.SampledFrom([]int{1, 2, 3, 8, engine.Unlimited}).Draw(t, "seqs")
	c.MaxNumBatchedTokens = rapid.SampledFrom([]int{1, 3, 4, 8, 16, 64, engine.Unlimited}).Draw(t, "budget")
	c.MaxModelLen = rapid.SampledFrom([]int{0, 0, 8, 16, 24}).Draw(t, "model len")
	c.EnablePrefixCaching = rapid.IntRange(0, 4).Draw(t, "caching") > 0
	c.EnableChunkedPrefill = rapid.IntRange(0, 3).Draw(t, "chunking") > 0
	c.PreemptionMode = rapid.SampledFrom([]string{"lifo", "fifo"}).Draw(t, "preemption")
	c.WorkerType = rapid.SampledFrom([]engine.WorkerType{
		engine.Aggregated, engine.Aggregated, engine.Prefill, engine.Decode,
	}).Draw(t, "type")
	return c
}

func drawSpeculation(t *rapid.T, c *engine.Config) {
	if c.NumSpeculativeTokens = rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "drafts"); c.NumSpeculativeTokens > 0 {
		c.AcceptRates = rapid.SampledFrom([][]float64{nil, {1, 1, 1}, {0, 1}, {0.5, 0.5}}).Draw(t, "rates")
		c.AcceptSeed = rapid.Uint64Range(0, 9).Draw(t, "seed")
	}
}

// drawInputs draws requests that share prefixes, and now and then a cancellation or a reset.
func drawInputs(t *rapid.T, planned bool) []enginetest.Timed {
	var inputs []enginetest.Timed
	at := engine.Time(0)
	n := rapid.IntRange(1, 14).Draw(t, "requests")
	for i := range n {
		at += engine.Time(rapid.SampledFrom([]int{0, 0, 1, 7, 30, 200}).Draw(t, "gap"))
		family := rapid.IntRange(0, 2).Draw(t, "family")
		prompt := rapid.IntRange(0, 30).Draw(t, "prompt")
		output := rapid.SampledFrom([]int{0, 1, 2, 5, 9, 20, 40}).Draw(t, "output")
		fork := rapid.SampledFrom([]int{0, 4, 8, 12, 99}).Draw(t, "fork")
		known := prompt
		if planned || rapid.Bool().Draw(t, "planned output") {
			known += output
		}
		ids := make(kv.Tokens, known)
		for j := range ids {
			ids[j] = uint32(family*1000 + j)
			if j >= fork {
				ids[j] += uint32(100 * (i + 1))
			}
		}
		inputs = append(inputs, enginetest.Timed{At: at, In: engine.Submit{Request: &engine.Request{
			ID: engine.RequestID(i), PromptTokens: prompt, MaxOutput: output, Content: ids, Rank: engine.AnyRank,
		}}})
		switch rapid.IntRange(0, 9).Draw(t, "also") {
		case 0:
			late := at + engine.Time(rapid.IntRange(0, 60).Draw(t, "later"))
			inputs = append(inputs, enginetest.Timed{At: late, In: engine.Cancel{ID: engine.RequestID(i)}})
		case 1:
			late := at + engine.Time(rapid.IntRange(0, 60).Draw(t, "later"))
			inputs = append(inputs, enginetest.Timed{At: late, In: engine.ResetPrefixCache{}})
		}
	}
	slices.SortStableFunc(inputs, func(a, b enginetest.Timed) int { return int(a.At - b.At) })
	return inputs
}

// play hands the inputs to an engine and runs it to the end.
func play(t *rapid.T, c engine.Config, model engine.StepModel, inputs []enginetest.Timed, sink engine.Sink) {
	e, err := engine.New(c, model)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range inputs {
		if err := e.Apply(in.At, in.In); err != nil {
			t.Fatal(err)
		}
	}
	for at, ok := e.Next(); ok; at, ok = e.Next() {
		if err := e.Advance(at, sink); err != nil {
			t.Fatal(err)
		}
	}
	if e.Held() > 0 {
		t.Fatalf("%d requests wait for ever", e.Held())
	}
}

// TestTwin compares the core, pass by pass, with a slow and obvious one. FAKELLM_CHECKS sets the number of workloads
// (issue: at least 10,000 once).
func TestTwin(t *testing.T) {
	if n, err := strconv.Atoi(os.Getenv("FAKELLM_CHECKS")); err == nil {
		for i := range (n + 99) / 100 {
			t.Run(fmt.Sprint(i), func(t *testing.T) { rapid.Check(t, checkTwin) })
		}
		return
	}
	rapid.Check(t, checkTwin)
}

func checkTwin(t *rapid.T) {
	c := drawConfig(t, engine.VLLM, engine.TRTLLM)
	drawSpeculation(t, &c)
	c.EmitKVEvents = rapid.Bool().Draw(t, "events")
	c.EmitKVTokenIDs = c.EmitKVEvents && rapid.Bool().Draw(t, "token ids")
	model := mixed{rapid.IntRange(0, 9).Draw(t, "free") == 0}
	inputs := drawInputs(t, false)
	var log enginetest.PassLog
	play(t, c, model, inputs, plain{&log})
	twin := enginetest.NewTwin(c, model)
	twin.Run(inputs)
	if diff := cmp.Diff(twin.Lines, log.Lines); diff != "" {
		t.Fatalf("%+v\ninputs %s\n-twin +engine\n%s", c, describe(inputs), diff)
	}
	if log.Starts != log.Ends {
		t.Fatalf("%d passes began, %d ended", log.Starts, log.Ends)
	}
}

// plain hides that a sink accepts runs.
type plain struct{ engine.Sink }

func describe(inputs []enginetest.Timed) string {
	s := ""
	for _, in := range inputs {
		switch x := in.In.(type) {
		case engine.Submit:
			s += fmt.Sprintf("\n  %d submit %d: %d/%d %v", in.At, x.Request.ID, x.Request.PromptTokens, x.Request.MaxOutput,
				x.Request.Content)
		default:
			s += fmt.Sprintf("\n  %d %T %v", in.At, x, x)
		}
	}
	return s
}
