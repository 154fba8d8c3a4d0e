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
			"fp8_static", Config{GPU: "h200_sxm", Model: "nvidia/Llama-3.1-70B-Instruct-FP8", TP: 2}, decode(32, 8192), 22.483908,
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
