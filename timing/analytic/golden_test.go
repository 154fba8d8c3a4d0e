package analytic

import (
	"math"
	"testing"
)

func model(t testing.TB, c Config) *Model {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func close6(got, want float64) bool { return math.Abs(got-want) <= 1e-6*want }

func prefill(n, fresh, prefix int) Pass { return Pass{Prefill: []PrefillGroup{{n, fresh, prefix}}} }
func decode(n, context int) Pass        { return Pass{Decode: []DecodeGroup{{n, context}}} }
func both(p, d Pass) Pass               { return Pass{Prefill: p.Prefill, Decode: d.Decode} }

// TestGoldenPasses has the golden values of spec analytic-timing §6.
func TestGoldenPasses(t *testing.T) {
	llama8 := Config{GPU: "h100_sxm", Model: "llama-3.1-8b"}
	deepseek := Config{GPU: "h200_sxm", Model: "deepseek-v3", TP: 8, MoETP: 1, MoEEP: 8}
	oss := Config{GPU: "h100_sxm", Model: "gpt-oss-120b"}
	for _, c := range []struct {
		name   string
		config Config
		pass   Pass
		want   float64
	}{
		{"prefill", llama8, prefill(1, 1024, 0), 23.170757},
		{"prefill batch", llama8, prefill(4, 2048, 0), 171.674042},
		{"prefix", llama8, prefill(1, 512, 3584), 14.543141},
		{"decode", llama8, decode(16, 1024), 7.273353},
		{"decode batch", llama8, decode(256, 2048), 31.228637},
		{"mixed", llama8, both(prefill(1, 2048, 0), decode(16, 1500)), 46.524099},
		{"fp8", Config{GPU: "h200_sxm", Model: "llama-3.1-8b", Quantization: "fp8"}, decode(64, 4096), 10.758956},
		{"nvfp4", Config{GPU: "b200_sxm", Model: "llama-3.1-8b", Quantization: "nvfp4"}, prefill(1, 8192, 0), 53.431126},
		{"a100", Config{GPU: "a100_sxm", Model: "llama-3.1-8b"}, decode(32, 2048), 17.701398},
		{"l40s tp4", Config{GPU: "l40s", Model: "llama-3.1-8b", TP: 4}, prefill(2, 1000, 500), 451.490606},
		{"70b tp4", Config{GPU: "h100_sxm", Model: "llama-3.1-70b", TP: 4}, prefill(1, 4096, 0), 266.134208},
		{
			"fp8_static",
			Config{GPU: "h200_sxm", Model: "nvidia/Llama-3.1-70B-Instruct-FP8", TP: 2},
			decode(32, 8192), 22.483908,
		},
		{"gb300", Config{GPU: "gb300", Model: "llama-3.1-70b", Quantization: "nvfp4", TP: 4}, decode(128, 4096), 13.458038},
		{"qk norm", Config{GPU: "h100_sxm", Model: "qwen3-8b"}, decode(1, 257), 7.650507},
		{"fp8_block", Config{GPU: "b200_sxm", Model: "qwen3-32b-fp8", TP: 2}, prefill(3, 777, 0), 51.121566},
		{"rtx pro", Config{GPU: "rtx_pro_6000", Model: "qwen3-32b", TP: 4}, decode(8, 3000), 17.626533},
		{"moe", Config{GPU: "h100_sxm", Model: "qwen3-30b-a3b"}, prefill(1, 1024, 0), 36.415029},
		{"moe ep4", Config{GPU: "h100_sxm", Model: "qwen3-30b-a3b", TP: 4, MoEEP: 4}, decode(64, 2048), 11.337330},
		{"moe dp4", Config{GPU: "h200_sxm", Model: "qwen3-30b-a3b", AttentionDP: 4, MoEEP: 4}, decode(32, 1024), 10.446344},
		{"235b fp8", Config{GPU: "h200_sxm", Model: "qwen3-235b-a22b-fp8", TP: 8, MoEEP: 8}, prefill(1, 2048, 0), 77.808362},
		{"235b fp4", Config{GPU: "b200_sxm", Model: "qwen3-235b-a22b-nvfp4", TP: 4, MoEEP: 4}, decode(16, 4096), 12.398757},
		{"mixtral", Config{GPU: "h100_sxm", Model: "mixtral-8x7b", TP: 2, MoETP: 2}, decode(1, 1024), 6.545001},
		{"mla prefill", deepseek, prefill(1, 4096, 0), 242.255181},
		{"mla decode", deepseek, decode(64, 4096), 36.095056},
		{"mla mixed", deepseek, both(prefill(1, 16, 8192), decode(8, 2000)), 26.933127},
		{"mla dp8", Config{GPU: "b200_sxm", Model: "deepseek-v3", AttentionDP: 8, MoEEP: 8}, decode(32, 2048), 27.556102},
		{"windows", oss, prefill(2, 3000, 0), 142.976629},
		{"windows decode", oss, decode(16, 5000), 12.453536},
		{"l4", Config{GPU: "l4", Model: "gpt-oss-20b"}, decode(1, 4096), 16.231995},
	} {
		got, ops, err := model(t, c.config).PassMS(c.pass)
		if err != nil || !close6(got, c.want) {
			t.Errorf("%s: %.6f, %v; want %.6f (%.4f)\n%v", c.name, got, err, c.want, got/c.want, ops)
		}
	}
}

// TestGoldenGroups has the groups and pieces of spec analytic-timing §6.
func TestGoldenGroups(t *testing.T) {
	group := func(ops []Op, names ...string) float64 {
		sum := 0.0
		for _, op := range ops {
			for _, name := range names {
				if op.Name == name {
					sum += op.MS
				}
			}
		}
		return sum
	}
	for _, c := range []struct {
		config Config
		pass   Pass
		groups []string
		want   float64
	}{
		{Config{GPU: "h100", Model: "llama-3.1-8b"}, prefill(1, 1024, 0), []string{"embedding"}, .006130},
		{Config{GPU: "h100", Model: "llama-3.1-8b"}, prefill(1, 1024, 0), []string{"norms"}, .993300},
		{Config{GPU: "h100", Model: "llama-3.1-8b"}, prefill(1, 1024, 0), []string{"lm_head"}, .353336},
		{
			Config{GPU: "h100", Model: "llama-3.1-8b"},
			prefill(1, 1024, 0),
			[]string{"qkv_gemm", "output_gemm", "gate_up_gemm", "activation", "down_gemm"},
			20.050029,
		},
		{Config{GPU: "h100", Model: "llama-3.1-8b"}, prefill(1, 1024, 0), []string{"prefill_attention"}, 1.767962},
		{
			Config{GPU: "h100", Model: "qwen3-30b-a3b", TP: 4, MoEEP: 4},
			decode(64, 2048),
			[]string{"experts", "router_gemm"},
			6.655762,
		},
		{
			Config{GPU: "h100", Model: "qwen3-30b-a3b", TP: 4, MoEEP: 4},
			decode(64, 2048),
			[]string{"expert_dispatch", "all_reduce"},
			.674275,
		},
		{Config{GPU: "h200", Model: "deepseek-v3", TP: 8, MoEEP: 8}, decode(64, 4096), []string{"mla_block"}, 10.713972},
		{
			Config{GPU: "h200", Model: "deepseek-v3", TP: 8, MoEEP: 8},
			decode(64, 4096),
			[]string{"experts", "router_gemm", "shared_experts"},
			21.811147,
		},
		{
			Config{GPU: "h200", Model: "deepseek-v3", TP: 8, MoEEP: 8},
			decode(64, 4096),
			[]string{"expert_dispatch", "all_reduce"},
			3.023073,
		},
	} {
		_, ops, err := model(t, c.config).PassMS(c.pass)
		if got := group(ops, c.groups...); err != nil || math.Abs(got-c.want) > 6e-7 {
			t.Errorf("%s %v: %.6f, %v; want %.6f", c.config.Model, c.groups, got, err, c.want)
		}
	}
}

func TestGoldenPieces(t *testing.T) {
	h100, err := LookupGPU("h100_sxm")
	if err != nil {
		t.Fatal(err)
	}
	product := func(m Mode, tokens, n, k, passes float64) float64 {
		g, err := newGEMM(&h100, m, k, n, passes)
		if err != nil {
			t.Fatal(err)
		}
		return g.ms(tokens)
	}
	a := newAttention(&h100, 32, 8, 128, BF16, false)
	var sum prefillSum
	a.add(&sum, 1, 1024, 0, 0)
	qwen, err := ResolveModel("qwen3-30b-a3b")
	if err != nil {
		t.Fatal(err)
	}
	x, err := newExperts(&h100, &qwen, BF16, 1, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	links := newComm(&h100)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"gemm bf16", product(BF16, 1024, 6144, 4096, 0), .070472},
		{"gemm fp8_block", product(FP8Block, 16, 5120, 12800, 1), .033979},
		{"gemm fp8_static behind a producer", product(FP8Static, 1000, 8192, 7168, 0), .111647},
		{"prefill attention without extras", a.prefillMS(sum) - 4*fusedKernel, .042049},
		{"decode attention", a.decodeT0 + a.decodeMS(16, 1024, 0), .035731},
		{"experts", x.ms(1000), .208360},
		{"all-reduce", links.allReduce(4e6, 4), .027823},
		{"gather", links.gather(4e6, 8), .023096},
		{"small kernel", h100.small(1e6), .003373},
	} {
		if math.Abs(c.got-c.want) > 6e-7 {
			t.Errorf("%s: %.6f, want %.6f", c.name, c.got, c.want)
		}
	}
}
