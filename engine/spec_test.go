package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fakellm/engine"
	"fakellm/internal/enginetest"
)

// TestManyWait is scenario 24 of spec engine-core §12: 64 requests of 1096/7000 on 7319 blocks of 32 under
// TensorRT-LLM's reservation: after 40 passes exactly 28 run and 36 wait.
func TestManyWait(t *testing.T) {
	c := engine.DefaultConfig(engine.TRTLLM)
	c.NumGPUBlocks, c.BlockSize = 7319, 32
	e, err := engine.New(c, enginetest.Fixed{PrefillTime: 10, DecodeTime: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		r := &engine.Request{ID: engine.RequestID(i), PromptTokens: 1096, MaxOutput: 7000, Rank: engine.AnyRank}
		if err := e.Submit(0, r); err != nil {
			t.Fatal(err)
		}
	}
	var log enginetest.PassLog
	for log.Ends < 40 {
		at, _ := e.Next()
		e.Complete(at, plain{&log})
		if err := e.Drive(at, plain{&log}); err != nil {
			t.Fatal(err)
		}
	}
	if s := e.State(0); s.Running != 28 || s.Waiting != 36 {
		t.Errorf("running %d, waiting %d, want 28 and 36", s.Running, s.Waiting)
	}
}

// TestNothingWaitsForEver plays loads at which the reference hangs or gives up (shared/goldens/reference-gives-up, and
// FAKELLM_GOLDENS): every request completes or is refused with the setting that would have to change.
func TestNothingWaitsForEver(t *testing.T) {
	files, _ := filepath.Glob("testdata/gives-up/*.json")
	if extra := os.Getenv("FAKELLM_GIVES_UP"); extra != "" {
		more, _ := filepath.Glob(extra)
		files = append(files, more...)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, runs := range []bool{false, true} {
				g, err := enginetest.ParseGolden(text)
				if err != nil {
					t.Skip(err)
				}
				_, rec, err := g.Answers(runs)
				if err != nil {
					t.Fatal(err)
				}
				checkEnds(t, rec)
			}
		})
	}
}

func checkEnds(t *testing.T, rec *enginetest.Recorder) {
	t.Helper()
	for _, p := range rec.Problems {
		t.Error(p)
	}
	refused := 0
	for _, r := range rec.Order {
		switch {
		case r.End == engine.Running:
			t.Errorf("request %d waits for ever", r.Req.ID)
		case r.End != engine.Completed:
			refused++
			if r.Why == nil || r.Why.Setting == "" || r.Why.Need <= r.Why.Have {
				t.Errorf("request %d: %v for reason %+v", r.Req.ID, r.End, r.Why)
			}
		}
	}
	t.Logf("%d of %d refused", refused, len(rec.Order))
}

// TestValidate: every problem at once, each with its field.
func TestValidate(t *testing.T) {
	c := engine.DefaultConfig(engine.VLLM)
	c.NumGPUBlocks, c.BlockSize, c.MaxNumSeqs, c.PreemptionMode, c.DPSize = 0, 1, 0, "none", 0
	c.AcceptRates, c.EmitKVTokenIDs, c.PrefillDecodeInterval = []float64{1.1}, true, 2
	_, err := engine.New(c, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{
		"num_gpu_blocks 0", "block_size 1", "max_num_seqs 0", "preemption_mode none", "dp_size 0", "accept_rates 1.1",
		"need num_speculative_tokens", "emit_kv_token_ids", "prefill_decode_interval 2: only sglang", "timing model",
	} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("no complaint about %q in:\n%v", field, err)
		}
	}
	for _, b := range []engine.Backend{engine.VLLM, engine.SGLang, engine.TRTLLM} {
		if problems := engine.DefaultConfig(b).Validate(); problems != nil {
			t.Errorf("%s: %v", b, problems)
		}
	}
}

// TestModelError: a pass that cannot be timed is an error that names the shape, and the engine stays ended.
func TestModelError(t *testing.T) {
	e, err := engine.New(engine.DefaultConfig(engine.VLLM), enginetest.Broken{})
	if err != nil {
		t.Fatal(err)
	}
	var log enginetest.PassLog
	if err := e.Submit(0, &engine.Request{ID: 1, PromptTokens: 9, MaxOutput: 1, Rank: engine.AnyRank}); err != nil {
		t.Fatal(err)
	}
	err = e.Advance(100, &log)
	if err == nil || !strings.Contains(err.Error(), "MeanISL:9") {
		t.Fatalf("got %v", err)
	}
	if again := e.Advance(200, &log); again == nil {
		t.Error("an engine whose pass failed must stay ended")
	}
}
