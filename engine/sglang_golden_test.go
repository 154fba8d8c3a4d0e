package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scenario is a load with the reference simulator's answers (shared/goldens/replay, made by ai-dynamo-runtime 1.6.1).
type scenario struct {
	Name string
	Args struct {
		Engine struct {
			DPSize int `json:"dp_size"`
			Engine struct {
				Backend       string
				BlockSize     int      `json:"block_size"`
				NumGPUBlocks  int      `json:"num_gpu_blocks"`
				MaxModelLen   int      `json:"max_model_len"`
				MaxNumSeqs    int      `json:"max_num_seqs"`
				Interval      int      `json:"prefill_decode_interval"`
				Caching       *bool    `json:"enable_prefix_caching"`
				Speedup       *float64 `json:"speedup_ratio"`
				DecodeSpeedup *float64 `json:"decode_speedup_ratio"`
				NextN         int      `json:"aic_nextn"`
				Rates         string   `json:"aic_nextn_accept_rates"`
				Seed          *uint64  `json:"aic_mtp_seed"`
				SGLang        struct {
					Policy  string   `json:"schedule_policy"`
					Prefill int      `json:"max_prefill_tokens"`
					Chunk   int      `json:"chunked_prefill_size"`
					Clip    *int     `json:"clip_max_new_tokens"`
					Factor  *float64 `json:"schedule_conservativeness"`
				} `json:"sglang"`
				Timing *struct {
					Type    string
					Prefill float64 `json:"prefill_ms"`
					Decode  float64 `json:"decode_ms"`
				} `json:"timing_model"`
			}
		} `json:"extra_engine_args"`
		Workers     int `json:"num_workers"`
		BlockSize   int `json:"trace_block_size"`
		Concurrency int `json:"replay_concurrency"`
	}
	Trace []struct {
		Session   string `json:"session_id"`
		Timestamp float64
		Input     int   `json:"input_length"`
		Output    int   `json:"output_length"`
		IDs       []int `json:"hash_ids"`
	}
	Expect struct {
		Requests []goldenRow
	}
}

type goldenRow struct {
	Arrival  float64  `json:"arrival_time_ms"`
	Admit    *float64 `json:"first_admit_ms"`
	First    *float64 `json:"first_token_ms"`
	Last     *float64 `json:"last_token_ms"`
	Terminal float64  `json:"terminal_time_ms"`
	Input    int      `json:"input_length"`
	Output   int      `json:"output_length"`
	Reused   int      `json:"reused_input_tokens"`
	Admits   int      `json:"admission_count"`
	Status   string   `json:"terminal_status"`
}

func orElse[T any](v *T, other T) T {
	if v == nil {
		return other
	}
	return *v
}

// config translates the engine's own names; ok is false for what this test does not drive.
func (s *scenario) config() (cfg Config, model StepModel, ok bool) {
	e := s.Args.Engine.Engine
	cfg = DefaultConfig(SGLang)
	if e.Backend != "sglang" || s.Args.Workers > 1 {
		return cfg, nil, false
	}
	set := func(dst *int, v int) {
		if v > 0 {
			*dst = v
		}
	}
	set(&cfg.BlockSize, e.BlockSize)
	set(&cfg.NumGPUBlocks, e.NumGPUBlocks)
	set(&cfg.MaxModelLen, e.MaxModelLen)
	set(&cfg.MaxNumSeqs, e.MaxNumSeqs)
	set(&cfg.PrefillDecodeInterval, e.Interval)
	set(&cfg.SGLang.MaxPrefillTokens, e.SGLang.Prefill)
	set(&cfg.SGLang.ChunkedPrefillSize, e.SGLang.Chunk)
	set(&cfg.DPSize, s.Args.Engine.DPSize)
	cfg.EnablePrefixCaching = orElse(e.Caching, true)
	cfg.SGLang.ClipMaxNewTokens = orElse(e.SGLang.Clip, 4096)
	cfg.SGLang.ScheduleConservativeness = orElse(e.SGLang.Factor, 1)
	if e.SGLang.Policy != "" {
		cfg.SGLang.SchedulePolicy = e.SGLang.Policy
	}
	cfg.NumSpeculativeTokens = e.NextN
	cfg.AcceptSeed = orElse(e.Seed, 42)
	for r := range strings.SplitSeq(e.Rates, ",") {
		if v, err := strconv.ParseFloat(strings.TrimSpace(r), 64); err == nil {
			cfg.AcceptRates = append(cfg.AcceptRates, v)
		}
	}
	model = polyModel{orElse(e.Speedup, 1), orElse(e.DecodeSpeedup, 1)}
	if e.Timing != nil {
		if e.Timing.Type != "fixed" {
			return cfg, nil, false
		}
		model = fixedModel{
			time.Duration(math.Round(e.Timing.Prefill * 1e6)), time.Duration(math.Round(e.Timing.Decode * 1e6)),
		}
	}
	return cfg, model, true
}

// play runs the scenario and returns the rows in the order of the reference's file.
func (s *scenario) play(cfg Config, model StepModel) []goldenRow {
	w := newWorld(cfg, model, newSGLang)
	var arrivals []arrival
	for i, r := range s.Trace {
		arrivals = append(arrivals, arrival{at: Time(math.Round(r.Timestamp * 1e6)), req: &Request{
			ID: RequestID(i), PromptTokens: r.Input, MaxOutput: r.Output, Rank: i % max(1, cfg.DPSize),
			Content: traceContent{r.IDs, s.Args.BlockSize, r.Input},
		}})
	}
	sort.SliceStable(arrivals, func(i, j int) bool { return arrivals[i].at < arrivals[j].at })
	came := map[*Request]Time{}
	if n := s.Args.Concurrency; n > 0 {
		later := arrivals[min(n, len(arrivals)):]
		arrivals = arrivals[:min(n, len(arrivals))]
		for i := range arrivals {
			arrivals[i].at = 0
		}
		w.closed = func(*Request) *Request {
			if len(later) == 0 {
				return nil
			}
			next := later[0].req
			later = later[1:]
			came[next] = w.now
			return next
		}
	}
	for _, a := range arrivals {
		came[a.req] = a.at
	}
	w.play(arrivals)
	var rows []goldenRow
	for req, r := range w.records {
		row := goldenRow{
			Arrival: came[req].Milliseconds(), Terminal: r.end.Milliseconds(), Input: req.PromptTokens, Output: r.tokens,
			Reused: r.reused, Admits: r.admits, Status: r.how.String(),
		}
		for _, f := range []struct {
			dst **float64
			v   Time
		}{{&row.Admit, r.admit}, {&row.First, r.first}, {&row.Last, r.last}} {
			if f.v >= 0 {
				ms := f.v.Milliseconds()
				*f.dst = &ms
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (r goldenRow) key() string {
	f := func(v *float64) float64 { return orElse(v, -1) }
	return fmt.Sprintf("%014.4f %06d %06d %014.4f %014.4f %014.4f %06d", r.Arrival, r.Input, r.Output, f(r.Admit),
		f(r.First), r.Terminal, r.Reused)
}

func sameRow(a, b goldenRow) bool {
	near := func(x, y *float64) bool {
		return (x == nil) == (y == nil) && (x == nil || math.Abs(*x-*y) <= 1e-6)
	}
	return near(&a.Arrival, &b.Arrival) && near(a.Admit, b.Admit) && near(a.First, b.First) && near(a.Last, b.Last) &&
		near(&a.Terminal, &b.Terminal) && a.Input == b.Input && a.Output == b.Output && a.Reused == b.Reused &&
		a.Admits == b.Admits && a.Status == b.Status
}

// TestSGLangGoldens compares whole loads with the reference. FAKELLM_SGLANG_GOLDENS names more files (a glob).
func TestSGLangGoldens(t *testing.T) {
	files, _ := filepath.Glob("testdata/sglang/*.json")
	if extra := os.Getenv("FAKELLM_SGLANG_GOLDENS"); extra != "" {
		more, err := filepath.Glob(extra)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			var s scenario
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			cfg, model, ok := s.config()
			if !ok || len(s.Expect.Requests) == 0 || s.Trace[0].Session != "" {
				t.Skip("not a plain load of this core")
			}
			for _, runs := range []bool{false, true} {
				cfg.Runs = runs
				compareRows(t, s.Expect.Requests, s.play(cfg, model), runs)
			}
		})
	}
}

func compareRows(t *testing.T, want, got []goldenRow, runs bool) {
	t.Helper()
	for _, rows := range [][]goldenRow{want, got} {
		sort.Slice(rows, func(i, j int) bool { return rows[i].key() < rows[j].key() })
	}
	if len(want) != len(got) {
		t.Fatalf("runs %v: %d rows, want %d", runs, len(got), len(want))
	}
	bad := 0
	for i := range want {
		if !sameRow(want[i], got[i]) {
			if bad++; bad < 4 {
				a, _ := json.Marshal(want[i])
				b, _ := json.Marshal(got[i])
				t.Errorf("runs %v: row %d\nwant %s\n got %s", runs, i, a, b)
			}
		}
	}
}
