package aic_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"fakellm/engine"
	"fakellm/timing/aic"
	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/internal/fixture"
)

func toyFS(t testing.TB) fstest.MapFS {
	t.Helper()
	fsys, err := fixture.New()
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

func toyData(t testing.TB) *aic.Data {
	t.Helper()
	data, err := aic.Open(toyFS(t))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func toyModel(t testing.TB, change func(*aic.Config)) *aic.Model {
	t.Helper()
	c := aic.Config{Model: "toy/dense", System: "toy", Backend: "vllm"}
	if change != nil {
		change(&c)
	}
	m, err := toyData(t).Model(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// TestToyPass adds a prompt pass up by hand from the laws of the made-up tables.
func TestToyPass(t *testing.T) {
	m := toyModel(t, nil)
	ops, err := m.PrefillOps(1, 16, 0)
	if err != nil {
		t.Fatal(err)
	}
	mem := func(bytes float64) float64 { return (bytes/0.8e12 + 3e-6) * 1000 }
	want := map[string]float64{
		"context_embedding":  mem(16 * 64 * 2),
		"context_add_norm_1": 2 * mem(16*2*(128+128)),
		"context_qkv_gemm":   2 * fixture.GemmMS(16, 128, 64), // exact site and m; the donor's 99 ms must lose
		"context_proj_gemm":  2 * fixture.GemmMS(16, 64, 64),
		"context_attention":  2 * (4*16*16*1e-7 + 1.1*(2*mem(2*64+2*32)+2*mem(32*2))),
	}
	got := map[string]float64{}
	sum := 0.0
	for _, o := range ops {
		got[o.Name] = o.MS
		sum += o.MS
	}
	for name, ms := range want {
		if !near(got[name], ms) {
			t.Errorf("%s: got %v, want %v", name, got[name], ms)
		}
	}
	total, err := m.PrefillMS(1, 16, 0)
	if err != nil || !near(total, sum) {
		t.Errorf("PrefillMS = %v, %v; the breakdown sums to %v", total, err, sum)
	}
}

// TestToyErrors checks category and content of refusals.
func TestToyErrors(t *testing.T) {
	data := toyData(t)
	base := aic.Config{Model: "toy/dense", System: "toy", Backend: "vllm"}
	rows := []struct {
		why      string
		change   func(*aic.Config)
		category fault.Category
		words    []string
	}{
		{"no such yaml", func(c *aic.Config) { c.System = "toys" }, fault.UnknownSystem, []string{"toys.yaml"}},
		{"a path is no name", func(c *aic.Config) { c.System = "../toy" }, fault.UnknownSystem, nil},
		{"no such model", func(c *aic.Config) { c.Model = "a/b" }, fault.UnknownModel, []string{"a--b_config.json"}},
		{"outside the slots", func(c *aic.Config) { c.Version = "1.0.0" }, fault.UnlistedVersion, []string{"2.0.0 (current)"}},
		{"an empty slot", func(c *aic.Config) { c.Version = "previous" }, fault.UnlistedVersion, nil},
		{"heads do not divide", func(c *aic.Config) { c.TP = 3 }, fault.BadParallelism, []string{"4 attention heads", "tp 3"}},
		{"negative size", func(c *aic.Config) { c.PP = -1 }, fault.BadParallelism, []string{"pp is -1"}},
		{"unknown mode name", func(c *aic.Config) { c.Gemm = "fp7" }, fault.UnknownQuant, []string{"fp7"}},
		{"no fp4 arithmetic", func(c *aic.Config) { c.Gemm = "nvfp4" }, fault.UnsupportedQuant, []string{"fp4_tc_flops"}},
		{
			"no rows of a type", func(c *aic.Config) { c.Gemm = "fp8" }, fault.MissingSlice,
			[]string{"gemm_perf", "gemm_dtype=fp8", "2.0.0/gemm_perf.parquet", "1.0.0/gemm_perf.parquet", "nearest: gemm_dtype=bfloat16"},
		},
		{
			"no rows of a cache type", func(c *aic.Config) { c.KVCache = "fp8" }, fault.MissingSlice,
			[]string{"context_attention_perf", "kv_cache_dtype=fp8", "nearest: attn_dtype=bfloat16 kv_cache_dtype=bfloat16"},
		},
		{"mixture sizes differ", func(c *aic.Config) { c.Model, c.TP = "toy/mixed", 2 }, fault.BadParallelism, nil},
		{
			"no experts with this split", func(c *aic.Config) { c.Model, c.AttentionDP, c.MoEEP = "toy/mixed", 4, 4 }, fault.MissingSlice,
			[]string{"moe_perf", "moe_ep_size=4", "nearest: moe_dtype=bfloat16 distribution=power_law_1.2"},
		},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			c := base
			r.change(&c)
			m, err := data.Model(c)
			if err == nil {
				_, err = m.PrefillMS(2, 32, 0)
			}
			var e *aic.Error
			if !errors.As(err, &e) || e.Category != r.category {
				t.Fatalf("got %v, want category %s", err, r.category)
			}
			for _, w := range r.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// TestShapes refuses batches and lengths that make no pass.
func TestShapes(t *testing.T) {
	m := toyModel(t, nil)
	for _, s := range [][3]int{{1, 8, 8}, {1, 8, 9}, {0, 8, 0}, {1, 0, 0}, {1, 8, -1}, {-1, 8, 0}, {1 << 30, 8, 0}} {
		if _, err := m.PrefillMS(s[0], s[1], s[2]); fault.Of(err) != fault.BadShape {
			t.Errorf("PrefillMS%v: %v, want bad_shape", s, err)
		}
	}
	if ms, err := m.DecodeMS(1, 8, 1); ms != 0 || err != nil {
		t.Errorf("osl 1 takes %v, %v; want nothing", ms, err)
	}
	if _, err := m.DecodeMS(0, 8, 2); fault.Of(err) != fault.BadShape {
		t.Errorf("batch 0: %v", err)
	}
}

// TestModes checks what the modes have to do with each other.
func TestModes(t *testing.T) {
	silicon, err := toyModel(t, nil).PrefillMS(2, 64, 0)
	if err != nil {
		t.Fatal(err)
	}
	mode := func(name string) float64 {
		ms, err := toyModel(t, func(c *aic.Config) { c.Mode = name }).PrefillMS(2, 64, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return ms
	}
	if got := mode("HYBRID"); got != silicon {
		t.Errorf("HYBRID %v differs from SILICON %v although rows exist", got, silicon)
	}
	if got := mode("SOL"); got <= 0 || got >= silicon {
		t.Errorf("SOL %v is not below SILICON %v", got, silicon)
	}
	if got := mode("EMPIRICAL"); got <= 0 || got == silicon {
		t.Errorf("EMPIRICAL %v, SILICON %v", got, silicon)
	}
	hybrid := toyModel(t, func(c *aic.Config) { c.Mode, c.Gemm = "HYBRID", "fp8" })
	if ms, err := hybrid.PrefillMS(2, 64, 0); err != nil || ms <= 0 {
		t.Errorf("HYBRID without fp8 rows: %v, %v", ms, err)
	}
}

// TestSource asks as the engine does.
func TestSource(t *testing.T) {
	m := toyModel(t, nil)
	s := m.Source()
	want, err := m.PrefillMS(3, 40, 8)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.PrefillMS(engine.PrefillBatch{Requests: 3, MeanISL: 40, MeanPrefix: 8}); got != want || err != nil {
		t.Errorf("prefill %v, %v; want %v", got, err, want)
	}
	if got, err := s.PrefillMS(engine.PrefillBatch{Requests: 3, MeanISL: 8, MeanPrefix: 8}); got != 0 || err != nil {
		t.Errorf("nothing new takes %v, %v", got, err)
	}
	if want, err = m.DecodeMS(5, 99, 2); err != nil {
		t.Fatal(err)
	}
	if got, err := s.DecodeMS(engine.DecodeBatch{Requests: 5, MeanContext: 100}); got != want || err != nil {
		t.Errorf("decode %v, %v; want %v", got, err, want)
	}
	if _, err := s.DecodeMS(engine.DecodeBatch{Requests: 5}); fault.Of(err) != fault.BadShape {
		t.Errorf("no context: %v", err)
	}
}

// TestConcurrent asks one model from several goroutines; run with -race.
func TestConcurrent(t *testing.T) {
	m := toyModel(t, nil)
	fresh := toyModel(t, nil)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				b, s := 1+i%7, 1+(i*g)%300
				got, err := m.DecodeMS(b, s, 2)
				if err != nil || got <= 0 {
					t.Errorf("DecodeMS(%d, %d): %v, %v", b, s, got, err)
				}
			}
		})
	}
	wg.Wait()
	a, err1 := m.DecodeMS(3, 77, 2)
	b, err2 := fresh.DecodeMS(3, 77, 2)
	if a != b || err1 != nil || err2 != nil {
		t.Errorf("a remembered answer %v differs from a fresh one %v (%v, %v)", a, b, err1, err2)
	}
}

// TestRunCasesForm checks order, ids and errors of the case runner.
func TestRunCasesForm(t *testing.T) {
	const in = `{"cases": [
{"id": "a", "model": "toy/dense", "system": "toy", "backend": "vllm", "phase": "telemetry", "ranks": [{"num_decode_requests": 2, "sum_decode_kv_tokens": 64}]},
{"id": 7, "model": "toy/dense", "system": "toy", "backend": "vllm", "phase": "sideways"},
{"id": "c", "model": "toy/dense", "system": "toy", "backend": "vllm"},
{"id": "d", "system": "toy", "backend": "vllm", "kind": "p2p", "hidden": 64, "pp": 2, "tokens": 10},
{"id": "e", "model": 5}]}`
	var out bytes.Buffer
	if err := aic.RunCases(strings.NewReader(in), &out, toyData(t)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		`{"id":"a","resolved":{"backend_version":"2.0.0","gemm":"bfloat16","kvcache":"bfloat16","fmha":"bfloat16"},"latency_ms":`,
		`{"id":7,"error":{"category":"bad_config","reason":"phase \"sideways\"`,
		`{"id":"c","gpu_bytes":80000000000,"fraction":0.9,`,
		`{"id":"d","latency_ms":0.0100256`,
		`{"id":"e","error":{"category":"bad_config"`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("line %d: %s\nwant prefix %s", i, lines[i], w)
		}
	}
	if err := aic.RunCases(strings.NewReader("nonsense"), &out, toyData(t)); fault.Of(err) != fault.BadData {
		t.Errorf("nonsense: %v", err)
	}
}

// TestOpenRefuses names what a systems directory must hold.
func TestOpenRefuses(t *testing.T) {
	_, err := aic.Open(fstest.MapFS{"readme": &fstest.MapFile{Data: []byte("x")}})
	if fault.Of(err) != fault.BadData {
		t.Fatalf("got %v", err)
	}
}
