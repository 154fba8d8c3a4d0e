package analytic

import (
	"math"
	"strings"
	"testing"

	"fakellm/engine"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// deployments covers every family, class, mode and kind of parallelism.
func deployments(t testing.TB) []*Model {
	t.Helper()
	var list []*Model
	for _, c := range []Config{
		{GPU: "h100", Model: "llama-3.1-8b"},
		{GPU: "h100", Model: "llama-3.1-8b", TP: 2, PP: 2, HostStepMS: 0.5, HostPerSeqUS: 3},
		{GPU: "h200", Model: "llama-3.1-8b", Quantization: "fp8"},
		{GPU: "b200", Model: "llama-3.1-70b", Quantization: "nvfp4", TP: 4},
		{GPU: "b200", Model: "llama-3.1-70b", TP: 16},
		{GPU: "gb200", Model: "llama-3.1-405b", TP: 16},
		{GPU: "b200", Model: "qwen3-32b-fp8", TP: 2},
		{GPU: "h200", Model: "nvidia/llama-3.1-70b-instruct-fp8", TP: 8},
		{GPU: "a100", Model: "qwen3-8b"},
		{GPU: "a100", Model: "qwen3-32b-fp8", TP: 2},
		{GPU: "a100_pcie", Model: "qwen2.5-7b-instruct", Quantization: "int4", TP: 4},
		{GPU: "l40s", Model: "qwen3-32b-fp8", TP: 4},
		{GPU: "l4", Model: "qwen3-0.6b", NextN: 2},
		{GPU: "rtx_pro_6000", Model: "qwen3-32b", TP: 4, Quantization: "nvfp4"},
		{GPU: "mi300x", Model: "llama-3.3-70b", TP: 8},
		{GPU: "h100", Model: "qwen3-30b-a3b"},
		{GPU: "h200", Model: "qwen3-30b-a3b", AttentionDP: 4, MoEEP: 4},
		{GPU: "h200", Model: "qwen3-235b-a22b-fp8", TP: 4, AttentionDP: 2, MoEEP: 8},
		{GPU: "b200", Model: "qwen3-235b-a22b-nvfp4", TP: 4, MoEEP: 4},
		{GPU: "a100", Model: "mixtral-8x7b", TP: 4},
		{GPU: "b200", Model: "mixtral-8x22b", TP: 8, MoETP: 2, MoEEP: 4},
		{GPU: "h100", Model: "gpt-oss-120b", TP: 2, MoETP: 2},
		{GPU: "b200", Model: "gpt-oss-20b", NextN: 1},
		{GPU: "l40s", Model: "gpt-oss-20b"},
		{GPU: "h200", Model: "deepseek-v3", TP: 8, MoEEP: 8},
		{GPU: "b200", Model: "deepseek-v3", AttentionDP: 8, MoEEP: 8},
		{GPU: "h200", Model: "kimi-k2-instruct", TP: 16, MoEEP: 16, NextN: 1},
	} {
		list = append(list, model(t, c))
	}
	return list
}

// drawPass draws a mixed pass, from tiny to huge.
func drawPass(t *rapid.T) Pass {
	var p Pass
	size := func(name string, most int) int {
		return rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 300), rapid.IntRange(1, most)).Draw(t, name)
	}
	for range rapid.IntRange(0, 3).Draw(t, "prefills") {
		prefix := rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 30000)).Draw(t, "prefix")
		p.Prefill = append(p.Prefill, PrefillGroup{size("b", 40), size("new", 32768), prefix})
	}
	for range rapid.IntRange(0, 3).Draw(t, "decodes") {
		p.Decode = append(p.Decode, DecodeGroup{size("n", 600), size("context", 131072)})
	}
	return p
}

func mustMS(t interface{ Fatalf(string, ...any) }, m *Model, p Pass) float64 {
	ms, ops, err := m.PassMS(p)
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	sum := 0.0
	for _, op := range ops {
		sum += op.MS
	}
	if math.Abs(sum-ms) > 1e-9*ms {
		t.Fatalf("%+v: groups add up to %v, total %v", p, sum, ms)
	}
	return ms
}

// TestNeverBelowPhysics is law 9: a pass takes at least FLOPs/peak and bytes/bandwidth, and is finite and positive.
func TestNeverBelowPhysics(t *testing.T) {
	models := deployments(t)
	rapid.Check(t, func(t *rapid.T) {
		m, p := rapid.SampledFrom(models).Draw(t, "model"), drawPass(t)
		ms := mustMS(t, m, p)
		flops, bytes := m.Floor(p)
		if empty := len(p.Prefill)+len(p.Decode) == 0; empty != (ms == 0) || ms < flops || ms < bytes || math.IsInf(ms, 0) {
			t.Fatalf("%s on %s, %+v: %v ms, floors %v and %v", m.Facts().Name, m.GPU().Name, p, ms, flops, bytes)
		}
	})
}

// TestMoreWorkNeverCostsLess grows one dimension of a pass at a time.
func TestMoreWorkNeverCostsLess(t *testing.T) {
	models := deployments(t)
	rapid.Check(t, func(t *rapid.T) {
		m, p := rapid.SampledFrom(models).Draw(t, "model"), drawPass(t)
		before := mustMS(t, m, p)
		grown := both(p, p)
		grown.Prefill, grown.Decode = append([]PrefillGroup(nil), p.Prefill...), append([]DecodeGroup(nil), p.Decode...)
		by := rapid.OneOf(rapid.IntRange(1, 2), rapid.IntRange(1, 5000)).Draw(t, "by")
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		switch {
		case kind == 0 && len(p.Prefill) > 0:
			grown.Prefill[0].New += by
		case kind == 1 && len(p.Prefill) > 0:
			grown.Prefill[0].Prefix += by
		case kind == 2 && len(p.Prefill) > 0:
			grown.Prefill[0].Requests += by
		case kind == 3 && len(p.Decode) > 0:
			grown.Decode[0].Context += by
		case kind == 4 && len(p.Decode) > 0:
			grown.Decode[0].Requests += by
		case kind == 5:
			grown.Prefill = append(grown.Prefill, PrefillGroup{1, by, by})
		default:
			grown.Decode = append(grown.Decode, DecodeGroup{1, by})
		}
		if after := mustMS(t, m, grown); after < before*(1-1e-12) {
			t.Fatalf("%s on %s: %+v takes %v ms, %+v only %v", m.Facts().Name, m.GPU().Name, p, before, grown, after)
		}
	})
}

// TestDoublingTP never slows the work without communication, nor speeds a pass up by more than two.
func TestDoublingTP(t *testing.T) {
	type pair struct{ one, two *Model }
	var pairs []pair
	for _, c := range []Config{
		{GPU: "h100", Model: "llama-3.1-70b"},
		{GPU: "b200", Model: "qwen3-32b-fp8"},
		{GPU: "l40s", Model: "qwen3-8b"},
		{GPU: "h200", Model: "mixtral-8x7b"},
		{GPU: "h200", Model: "deepseek-v3", MoEEP: 1},
	} {
		for tp := 1; tp <= 4; tp *= 2 {
			c.TP = tp
			if strings.HasPrefix(c.Model, "deepseek") {
				c.MoEEP = tp
			}
			double := c
			double.TP, double.MoEEP = 2*tp, 2*c.MoEEP
			pairs = append(pairs, pair{model(t, c), model(t, double)})
		}
	}
	silent := func(t *rapid.T, m *Model, p Pass) float64 {
		_, ops, err := m.PassMS(p)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, op := range ops {
			if op.Name != "all_reduce" && op.Name != "expert_dispatch" {
				sum += op.MS
			}
		}
		return sum
	}
	rapid.Check(t, func(t *rapid.T) {
		m, p := rapid.SampledFrom(pairs).Draw(t, "pair"), drawPass(t)
		one, two := silent(t, m.one, p), silent(t, m.two, p)
		whole1, whole2 := mustMS(t, m.one, p), mustMS(t, m.two, p)
		if two > one*(1+1e-12) || whole2 < whole1/2*(1-1e-12) {
			t.Fatalf("%s tp %d: %v → %v without, %v → %v with communication, %+v",
				m.one.Facts().Name, m.one.d.tp, one, two, whole1, whole2, p)
		}
	})
}

// TestSourceEqualsPass holds the two calls of the engine against the general pass.
func TestSourceEqualsPass(t *testing.T) {
	models := deployments(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(models).Draw(t, "model")
		n, fresh := rapid.IntRange(1, 2000).Draw(t, "n"), rapid.IntRange(1, 9000).Draw(t, "new")
		prefix := rapid.IntRange(0, 9000).Draw(t, "prefix")
		got, err := m.PrefillMS(engine.PrefillBatch{Requests: n, MeanISL: fresh + prefix, MeanPrefix: prefix})
		if want := mustMS(t, m, prefill(n, fresh, prefix)); err != nil || math.Abs(got-want) > 1e-12*want {
			t.Fatalf("prefill %v, %v; pass %v", got, err, want)
		}
		got, err = m.DecodeMS(engine.DecodeBatch{Requests: n, MeanContext: fresh, ActiveKV: n * fresh})
		if want := mustMS(t, m, decode(n, fresh)); err != nil || math.Abs(got-want) > 1e-9*want {
			t.Fatalf("decode %v, %v; pass %v", got, err, want)
		}
	})
}

func TestConfigRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		config Config
	}{
		{`gpu "": known are a100_sxm`, Config{Model: "qwen3-8b"}},
		{"model: missing", Config{GPU: "h100"}},
		{"tp -1: must be 0 to 1024", Config{GPU: "h100", Model: "qwen3-8b", TP: -1}},
		{"tp 3: does not divide 32 attention heads", Config{GPU: "h100", Model: "qwen3-8b", TP: 3}},
		{"moe_tp 2 times moe_ep 2: must equal tp 2", Config{GPU: "h100", Model: "mixtral-8x7b", TP: 2, MoETP: 2, MoEEP: 2}},
		{"moe_ep 16: exceeds 8 experts", Config{GPU: "h100", Model: "mixtral-8x7b", TP: 16, MoEEP: 16}},
		{"moe_tp 8: does not divide", Config{GPU: "h200", Model: "qwen3-235b-a22b-fp8", TP: 8, MoETP: 8}},
		{`gemm_quant "fp7": known are bfloat16, fp8`, Config{GPU: "h100", Model: "qwen3-8b", GEMMQuant: "fp7"}},
		{`kv_cache_dtype "fp4": known are bfloat16, fp8`, Config{GPU: "h100", Model: "qwen3-8b", KVCacheQuant: "fp4"}},
		{"gemm_quant: mode nvfp4: h100_sxm has no 4-bit peak", Config{GPU: "h100", Model: "qwen3-8b", Quantization: "nvfp4"}},
		{"moe_quant: mode nvfp4: a100_sxm", Config{GPU: "a100", Model: "qwen3-30b-a3b", MoEQuant: "nvfp4"}},
		{"host_step_ms NaN", Config{GPU: "h100", Model: "qwen3-8b", HostStepMS: math.NaN()}},
		{"nextn 99", Config{GPU: "h100", Model: "qwen3-8b", NextN: 99}},
	} {
		if _, err := New(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.config, err, c.want)
		}
	}
	if errs := (Config{GPU: "x", Model: "qwen3-8b", TP: -1, KVCacheQuant: "x"}).Validate(); len(errs) != 3 {
		t.Errorf("Validate() = %v, want three problems", errs)
	}
	m := model(t, Config{GPU: "h100", Model: "qwen3-8b"})
	for _, p := range []Pass{prefill(0, 1, 0), prefill(1, 0, 5), prefill(1, 1, -1), decode(0, 5), decode(1, -5)} {
		if _, _, err := m.PassMS(p); err == nil {
			t.Errorf("%+v must be refused", p)
		}
	}
}

func TestNotes(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   []string
	}{
		{Config{GPU: "h100", Model: "llama-3.1-8b"}, nil},
		{Config{GPU: "mi300x", Model: "llama-3.1-8b"}, []string{cautionAMD}},
		{Config{GPU: "h100", Model: "llama-2-7b"}, []string{"meta-llama/Llama-2-7b-hf: " + fromCard}},
		{Config{GPU: "a100", Model: "qwen3-32b-fp8"}, []string{"gemm mode fp8_block on a100_sxm: bf16 constants by analogy"}},
	} {
		if diff := cmp.Diff(c.want, model(t, c.config).Notes()); diff != "" {
			t.Errorf("%+v: %s", c.config, diff)
		}
	}
}

func BenchmarkSource(b *testing.B) {
	m, i := model(b, Config{GPU: "h200", Model: "deepseek-v3", TP: 8, MoEEP: 8}), 0
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			i++
			_, _ = m.DecodeMS(engine.DecodeBatch{Requests: 64, MeanContext: i & 0xffff})
		}
	})
	b.Run("prefill", func(b *testing.B) {
		for b.Loop() {
			i++
			_, _ = m.PrefillMS(engine.PrefillBatch{Requests: 2, MeanISL: 5 + i&0xffff})
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			_, _ = New(Config{GPU: "h200", Model: "deepseek-v3", TP: 8, MoEEP: 8})
		}
	})
}

func TestNoAllocation(t *testing.T) {
	m, i := model(t, Config{GPU: "h100", Model: "gpt-oss-120b"}), 0
	if got := testing.AllocsPerRun(1000, func() {
		i++
		_, _ = m.PrefillMS(engine.PrefillBatch{Requests: 3, MeanISL: i})
		_, _ = m.DecodeMS(engine.DecodeBatch{Requests: 3, MeanContext: i})
	}); got != 0 {
		t.Errorf("%v allocations per pass", got)
	}
}
