package replay

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"fakellm/engine"
	"fakellm/engine/cluster"
	"fakellm/internal/experiment/report"
	"fakellm/internal/experiment/workload"
	"fakellm/internal/experiment/workload/trace"
	"fakellm/timing"
	"fakellm/timing/profile"
)

// timeTolerance is how far a time may lie from the reference's, in ms: it adds floats, we add whole nanoseconds.
const timeTolerance = 1e-6

// scenario is one golden. They come from the reference simulator, ai-dynamo-runtime 1.6.1, through tools/reference of
// the shared material; testdata/goldens.zip holds goldens/{replay,replay-random,reference-gives-up} of it, without the
// scenarios that need routers, handoff or other trace formats.
type scenario struct {
	Name      string
	Args      args
	Trace     []json.RawMessage
	TracePath string `json:"trace_path"`
	Expect    struct {
		Requests []map[string]any
		Summary  map[string]any
	}
}

// goldens calls f for every scenario below folder.
func goldens(t *testing.T, folder string, f func(t *testing.T, s *scenario)) {
	t.Helper()
	archive, err := zip.OpenReader("testdata/goldens.zip")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = archive.Close() })
	seen := 0
	for _, file := range archive.File {
		if path.Dir(file.Name) != folder || path.Ext(file.Name) != ".json" {
			continue
		}
		seen++
		t.Run(strings.TrimSuffix(path.Base(file.Name), ".json"), func(t *testing.T) {
			var s scenario
			if err := json.Unmarshal(unzip(t, &archive.Reader, file.Name), &s); err != nil {
				t.Fatal(err)
			}
			f(t, &s)
		})
	}
	if seen == 0 {
		t.Fatalf("no goldens in %s", folder)
	}
}

func unzip(t *testing.T, archive *zip.Reader, name string) []byte {
	t.Helper()
	file, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// run replays a scenario.
func (s *scenario) run(t *testing.T) *Result {
	t.Helper()
	cfg, model := s.Args.config(t)
	r, err := Run(s.load(t, cfg.Cluster.Engine.BlockSize), cfg, model)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *scenario) load(t *testing.T, blockSize int) *workload.Load {
	t.Helper()
	var load *workload.Load
	var err error
	switch {
	case s.TracePath != "":
		file := shared(t, "data/traces/"+path.Base(s.TracePath))
		load, err = trace.Mooncake(bytes.NewReader(file), s.options(s.TracePath))
	case s.Trace != nil:
		rows := bytes.Join(raw(s.Trace), []byte("\n"))
		load, err = trace.Mooncake(bytes.NewReader(rows), s.options(s.Name))
	default:
		load, err = s.Args.synthetic(blockSize).Load()
	}
	if err != nil {
		t.Fatal(err)
	}
	return load
}

func (s *scenario) options(name string) trace.Options {
	return trace.Options{Name: name, Block: s.Args.TraceBlockSize, Delta: s.Args.TraceFormat == "mooncake-delta"}
}

func raw(rows []json.RawMessage) [][]byte {
	out := make([][]byte, len(rows))
	for i, r := range rows {
		out[i] = r
	}
	return out
}

// shared reads a file of the shared material beside the project, which holds what is too large for testdata.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../../shared", name))
	if err != nil {
		t.Skipf("this golden replays a published trace of several MB that is not part of the project: %v", err)
	}
	return data
}

func TestGoldens(t *testing.T) {
	for _, folder := range []string{"replay", "replay-random"} {
		goldens(t, folder, func(t *testing.T, s *scenario) {
			result := s.run(t)
			summary := report.Summarize(result.Records, result.Totals)
			if s.TracePath == "" { // a large load stores its summary only
				compareRows(t, s.Expect.Requests, rows(t, result.Records))
			}
			compareSummary(t, s.Expect.Summary, summary)
		})
	}
}

// TestNothingWaitsForEver replays the loads on which the reference hangs or aborts: here every request ends, and one
// that does not complete says which setting to change.
func TestNothingWaitsForEver(t *testing.T) {
	goldens(t, "reference-gives-up", func(t *testing.T, s *scenario) {
		result := s.run(t)
		if len(result.Records) != result.Totals.Released {
			t.Errorf("%d requests released, %d ended", result.Totals.Released, len(result.Records))
		}
		for _, r := range result.Records {
			switch {
			case r.Status == "completed" && r.Output <= r.Requested:
			case (r.Status == "rejected" || r.Status == "failed") && r.Why != "":
			default:
				t.Errorf("request %d: %s after %d of %d tokens, reason %q", r.ID, r.Status, r.Output, r.Requested, r.Why)
			}
		}
	})
}

// rows returns the JSON lines of records as maps.
func rows(t *testing.T, records []report.Record) []map[string]any {
	t.Helper()
	report.SortByArrival(records)
	var buf bytes.Buffer
	if err := report.WriteJSONL(&buf, records); err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for line := range bytes.Lines(buf.Bytes()) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		out = append(out, row)
	}
	return out
}

func compareSummary(t *testing.T, want map[string]any, summary *report.Summary) {
	t.Helper()
	got := map[string]any{}
	for _, f := range summary.Fields() {
		data, err := json.Marshal(f.Value)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		got[f.Key] = v
	}
	for key, w := range want {
		g, ok := got[key]
		a, number := w.(float64)
		b, _ := g.(float64)
		// Differences of the reference's float clock have an absolute error of their own: 1e-9 ms.
		if !ok || number && math.Abs(a-b) > 1e-9*max(1, math.Abs(a)) || !number && w != g {
			t.Errorf("summary %s: want %v, got %v", key, w, g)
		}
	}
}

// args are a scenario's arguments, the reference's own flags.
type args struct {
	Launch            launch   `json:"extra_engine_args"`
	NumWorkers        int      `json:"num_workers"`
	TraceBlockSize    int      `json:"trace_block_size"`
	TraceFormat       string   `json:"trace_format"`
	ReplayConcurrency int      `json:"replay_concurrency"`
	ArrivalSpeedup    float64  `json:"arrival_speedup_ratio"`
	MaxSimTimeMS      *float64 `json:"max_sim_time_ms"`
	InputTokens       int      `json:"input_tokens"`
	OutputTokens      int      `json:"output_tokens"`
	RequestCount      int      `json:"request_count"`
	RequestRate       float64  `json:"request_rate"`
	ArrivalInterval   float64  `json:"arrival_interval_ms"`
	TurnsPerSession   int      `json:"turns_per_session"`
	InterTurnDelay    float64  `json:"inter_turn_delay_ms"`
	SharedPrefixRatio float64  `json:"shared_prefix_ratio"`
	NumPrefixGroups   int      `json:"num_prefix_groups"`
}

type launch struct {
	Engine map[string]any
	DPSize int `json:"dp_size"`
}

func (a *args) synthetic(block int) workload.Synthetic {
	return workload.Synthetic{
		Prompt: a.InputTokens, Output: a.OutputTokens, Sessions: a.RequestCount,
		Turns: max(1, a.TurnsPerSession), Block: block,
		Rate: a.RequestRate, Interval: a.ArrivalInterval, Seed: 42,
		SharedRatio: a.SharedPrefixRatio, Groups: a.NumPrefixGroups,
		Delay: a.InterTurnDelay,
	}
}

func (a *args) config(t *testing.T) (Config, engine.StepModel) {
	t.Helper()
	e, src, speedup, decodeSpeedup := a.Launch.config(t)
	model, err := timing.New(src, speedup, decodeSpeedup)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Cluster:  cluster.Config{Workers: a.NumWorkers, Engine: e},
		Arrivals: workload.Arrivals{Concurrency: a.ReplayConcurrency, Speedup: a.ArrivalSpeedup},
		MaxSimMS: a.MaxSimTimeMS, GPUs: max(1, a.Launch.DPSize),
	}, model
}

// config translates the nested engine arguments.
func (l *launch) config(t *testing.T) (e engine.Config, src timing.Source, speedup, decodeSpeedup float64) {
	t.Helper()
	backend, _ := l.Engine["backend"].(string)
	e = engine.DefaultConfig(engine.Backend(backend))
	e.DPSize = max(1, l.DPSize)
	src, speedup, decodeSpeedup = timing.Polynomial{}, 1, 1
	numbers := map[string]*int{
		"num_gpu_blocks": &e.NumGPUBlocks, "block_size": &e.BlockSize, "max_model_len": &e.MaxModelLen,
		"max_num_seqs": &e.MaxNumSeqs, "max_num_batched_tokens": &e.MaxNumBatchedTokens, "aic_nextn": &e.NumSpeculativeTokens,
		"prefill_schedule_interval": &e.PrefillScheduleInterval, "prefill_decode_interval": &e.PrefillDecodeInterval,
	}
	for key, value := range l.Engine {
		if n, ok := numbers[key]; ok {
			*n = int(value.(float64))
			continue
		}
		switch key {
		case "backend":
		case "enable_prefix_caching":
			e.EnablePrefixCaching = value.(bool)
		case "enable_chunked_prefill":
			e.EnableChunkedPrefill = value.(bool)
		case "preemption_mode":
			e.PreemptionMode = value.(string)
		case "aic_nextn_accept_rates":
			e.AcceptRates = rates(t, value.(string))
		case "aic_mtp_seed":
			e.AcceptSeed = uint64(value.(float64))
		case "speedup_ratio":
			speedup = value.(float64)
		case "decode_speedup_ratio":
			decodeSpeedup = value.(float64)
		case "timing_model":
			src = source(t, value.(map[string]any))
		case "sglang":
			sglang(t, &e.SGLang, value.(map[string]any))
		default:
			t.Fatalf("engine argument %q is unknown to this test", key)
		}
	}
	return e, src, speedup, decodeSpeedup
}

func sglang(t *testing.T, c *engine.SGLangConfig, values map[string]any) {
	t.Helper()
	for key, value := range values {
		switch key {
		case "schedule_policy":
			c.SchedulePolicy = value.(string)
		case "max_prefill_tokens":
			c.MaxPrefillTokens = int(value.(float64))
		case "chunked_prefill_size":
			c.ChunkedPrefillSize = int(value.(float64))
		case "schedule_conservativeness":
			c.ScheduleConservativeness = value.(float64)
		default:
			t.Fatalf("sglang argument %q is unknown to this test", key)
		}
	}
}

func rates(t *testing.T, text string) []float64 {
	t.Helper()
	var out []float64
	for part := range strings.SplitSeq(text, ",") {
		var r float64
		if _, err := fmt.Sscan(part, &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func source(t *testing.T, model map[string]any) timing.Source {
	t.Helper()
	switch model["type"] {
	case "fixed":
		return timing.Fixed{Prefill: model["prefill_ms"].(float64), Decode: model["decode_ms"].(float64)}
	case "external":
		archive, err := zip.OpenReader("testdata/goldens.zip")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = archive.Close() }()
		name := filepath.Join(t.TempDir(), "profile.npz")
		if err := os.WriteFile(name, unzip(t, &archive.Reader, "replay/profile.npz"), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return timing.Polynomial{}
}
