package model

import (
	"fmt"
	"strings"
	"testing"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/internal/fixture"
	"fakellm/timing/aic/perf"
)

// config is a small dense configuration with more fields.
func config(arch, more string) []byte {
	if more != "" {
		more = ", " + more
	}
	return fmt.Appendf(nil, `{"architectures": [%q], "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8,
"num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000, "num_experts": 8, "num_experts_per_tok": 2%s}`, arch, more)
}

func parse(t *testing.T, arch, more, quant string) *HF {
	t.Helper()
	var hf []byte
	if quant != "" {
		hf = []byte(quant)
	}
	h, err := Parse("test", config(arch, more), hf)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestResolve walks the rules of quantisation (spec aic-timing §3.2): gemm, moe, kv, fmha.
func TestResolve(t *testing.T) {
	const llama, latent = "LlamaForCausalLM", "DeepseekV3ForCausalLM"
	const v3 = `"kv_lora_rank": 512, "qk_rope_head_dim": 64, "torch_dtype": "bfloat16"`
	block := `"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}`
	rows := []struct {
		why, arch, config, hf string
		choice                Choice
		platform              Platform
		want                  string
	}{
		{"nothing said", llama, "", "", Choice{}, Platform{Backend: "vllm"}, "bfloat16 bfloat16 bfloat16 bfloat16"},
		{
			"static fp8 without a scheme", llama, "", `{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}`,
			Choice{},
			Platform{Backend: "trtllm"},
			"fp8_static fp8 fp8 fp8",
		},
		{
			"vllm runs no fp8 prompt attention", llama, "", `{"quantization": {"quant_algo": "FP8"}}`,
			Choice{},
			Platform{Backend: "vllm"},
			"fp8_static fp8 fp8 bfloat16",
		},
		{
			"dynamic activations", llama, `"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}`, "",
			Choice{},
			Platform{Backend: "sglang"},
			"fp8 fp8 fp8 fp8",
		},
		{"blocks", llama, block, "", Choice{}, Platform{Backend: "sglang"}, "fp8_block fp8_block fp8 fp8"},
		{
			"latent attention on Hopper, sglang 0.5.14", latent, block + "," + v3, "",
			Choice{},
			Platform{Backend: "sglang", Version: "0.5.14", SM: 90},
			"fp8_block fp8_block fp8 bfloat16",
		},
		{
			"the same on Blackwell", latent, block + "," + v3, "",
			Choice{},
			Platform{Backend: "sglang", Version: "0.5.14", SM: 100},
			"fp8_block fp8_block fp8 fp8",
		},
		{
			"a later sglang", latent, block + "," + v3, "",
			Choice{},
			Platform{Backend: "sglang", Version: "0.5.20", SM: 90},
			"fp8_block fp8_block fp8 fp8",
		},
		{"nvfp4", llama, "", `{"quantization": {"quant_algo": "NVFP4"}}`, Choice{}, Platform{Backend: "trtllm"}, "nvfp4 nvfp4 fp8 fp8"},
		{
			"mxfp4 quantises experts alone", "GptOssForCausalLM", `"quantization_config": {"quant_method": "mxfp4"}`, "",
			Choice{},
			Platform{Backend: "vllm"},
			"bfloat16 w4a16_mxfp4 bfloat16 bfloat16",
		},
		{
			"an explicit cache of none", llama, "", `{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "none"}}`,
			Choice{},
			Platform{Backend: "trtllm"},
			"fp8_static fp8 bfloat16 bfloat16",
		},
		{
			"the user's cache leaves prompt attention alone", llama, "", "",
			Choice{KV: "fp8"},
			Platform{Backend: "trtllm"},
			"bfloat16 bfloat16 fp8 bfloat16",
		},
		{
			"the user's prompt attention is not taken back", llama, block, "",
			Choice{FMHA: "fp8"},
			Platform{Backend: "vllm"},
			"fp8_block fp8_block fp8 fp8",
		},
		{
			"words for unset, a short name", llama, "", "",
			Choice{Gemm: "int4", MoE: "auto", KV: "none"},
			Platform{Backend: "vllm"},
			"int4_wo bfloat16 bfloat16 bfloat16",
		},
		{
			"compressed-tensors, 4-bit integers", llama, `"quantization_config": {"quant_method": "compressed-tensors",
"config_groups": {"g": {"weights": {"num_bits": 4, "type": "int"}}}, "ignore": ["re:.*self_attn.*"]}`, "",
			Choice{},
			Platform{Backend: "vllm"},
			"bfloat16 int4_wo bfloat16 bfloat16",
		},
	}
	for _, r := range rows {
		q, err := Resolve(parse(t, r.arch, r.config, r.hf), r.choice, r.platform)
		got := strings.Join([]string{q.Gemm.Name, q.MoE.Name, q.KV.Name, q.FMHA.Name}, " ")
		if err != nil || got != r.want {
			t.Errorf("%s: %s, %v; want %s", r.why, got, err, r.want)
		}
	}
	for _, c := range []Choice{{Gemm: "fp7"}, {MoE: "int8_wo"}, {KV: "fp4"}, {FMHA: "int8"}, {Comm: "nope"}} {
		if _, err := Resolve(parse(t, llama, "", ""), c, Platform{}); fault.Of(err) != fault.UnknownQuant {
			t.Errorf("%+v: %v, want unknown_quant", c, err)
		}
	}
}

// TestCheck walks the constraints on parallel sizes.
func TestCheck(t *testing.T) {
	dense, mixed := parse(t, "LlamaForCausalLM", "", ""), parse(t, "Qwen3MoeForCausalLM", `"moe_intermediate_size": 384,
"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}`, "")
	block, err := perf.MoEQuant("fp8_block")
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		why string
		h   *HF
		p   Parallel
		ok  bool
	}{
		{"defaults", dense, Parallel{}, true},
		{"dense models ignore expert sizes", dense, Parallel{TP: 4, MoETP: 2}, true},
		{"heads do not divide", dense, Parallel{TP: 3}, false},
		{"more ranks than heads", dense, Parallel{TP: 16}, false},
		{"negative", dense, Parallel{PP: -1}, false},
		{"both sides equal", mixed, Parallel{TP: 2, AttentionDP: 2, MoEEP: 4}, true},
		{"both sides differ", mixed, Parallel{TP: 2}, false},
		{"more ranks than experts", mixed, Parallel{TP: 4, AttentionDP: 4, MoEEP: 16}, false},
		{"blocks are cut", mixed, Parallel{TP: 2, MoETP: 2}, false},
	}
	for _, r := range rows {
		_, err := r.h.Check(r.p, block)
		if (err == nil) != r.ok || err != nil && fault.Of(err) != fault.BadParallelism {
			t.Errorf("%s: %v", r.why, err)
		}
	}
}

// TestBuild checks names and order of the lists.
func TestBuild(t *testing.T) {
	rows := []struct{ arch, context, generation string }{
		{"LlamaForCausalLM", "embedding add_norm_1 qkv_gemm attention proj_gemm add_norm_2 gate_ffn1_gemm act_gate ffn2_gemm logits_gemm embedding_ar ar_1 ar_2 p2p", ""},
		{
			"GptOssForCausalLM",
			"attention embedding add_norm_1 qkv_gemm attention proj_gemm add_norm_2 router_gemm moe_pre_dispatch moe moe_post_dispatch embedding_ar p2p",
			"attention embedding add_norm_1 qkv_gemm attention proj_gemm add_norm_2 router_gemm moe_pre_dispatch moe moe_post_dispatch logits_gemm embedding_ar p2p",
		},
		{
			"DeepseekV3ForCausalLM",
			"embedding add_norm_1 mla_block add_norm_2 shared_gate_up_gemm shared_act_gate shared_ffn2_gemm router_gemm moe_pre_dispatch moe moe_post_dispatch logits_gemm tp_allreduce p2p",
			"embedding add_norm_1 mla_block add_norm_2 moe_overlap logits_gemm tp_allreduce p2p",
		},
	}
	names := func(ops []perf.Op, prefix string) string {
		var out []string
		for _, o := range ops {
			out = append(out, strings.TrimPrefix(o.Name(), prefix))
		}
		return strings.Join(out, " ")
	}
	for _, r := range rows {
		h := parse(t, r.arch, "", "")
		p, err := h.Check(Parallel{}, perf.Quant{})
		if err != nil {
			t.Fatal(err)
		}
		q, err := Resolve(h, Choice{}, Platform{})
		if err != nil {
			t.Fatal(err)
		}
		lists, err := Build(h, Deployment{Parallel: p, Backend: "vllm", Quants: q})
		if err != nil {
			t.Fatal(err)
		}
		if got := names(lists.Context, "context_"); got != r.context {
			t.Errorf("%s context:\n%s", r.arch, got)
		}
		if got := names(lists.Generation, "generation_"); r.generation != "" && got != r.generation {
			t.Errorf("%s generation:\n%s", r.arch, got)
		}
	}
}

// TestParseRefuses names the field.
func TestParseRefuses(t *testing.T) {
	rows := []struct {
		text, word string
		category   fault.Category
	}{
		{`{`, "config.json", fault.BadData},
		{`{}`, "architecture", fault.UnsupportedModel},
		{`{"architectures": ["Mamba2ForCausalLM"]}`, "Mamba2ForCausalLM", fault.UnsupportedModel},
		{`{"architectures": ["LlamaForCausalLM"]}`, "num_hidden_layers", fault.BadData},
		{strings.Replace(fixture.Dense, `"hidden_size": 64`, `"hidden_size": -64`, 1), "hidden_size", fault.BadData},
		{strings.Replace(fixture.Mixed, `"num_experts": 8,`, ``, 1), "experts", fault.BadData},
	}
	for _, r := range rows {
		_, err := Parse("m", []byte(r.text), nil)
		if fault.Of(err) != r.category || !strings.Contains(err.Error(), r.word) {
			t.Errorf("%s: %v", r.text, err)
		}
	}
}

// FuzzParse must never panic; what it accepts must build.
func FuzzParse(f *testing.F) {
	f.Add([]byte(fixture.Dense), []byte(`{"quantization": {"quant_algo": "FP8"}}`))
	f.Add([]byte(fixture.Mixed), []byte(``))
	f.Add(config("DeepseekV3ForCausalLM", `"quantization_config": {"quant_method": "fp8", "weight_block_size": [128]}`), []byte(`{}`))
	f.Add([]byte(`{"architectures": ["LlamaForCausalLM"], "text_config": {"num_hidden_layers": 1}}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, config, quant []byte) {
		h, err := Parse("fuzz", config, quant)
		if err != nil {
			return
		}
		q, err := Resolve(h, Choice{}, Platform{Backend: "sglang"})
		if err != nil {
			return
		}
		p, err := h.Check(Parallel{}, q.MoE)
		if err != nil {
			return
		}
		if _, err := Build(h, Deployment{Parallel: p, Backend: "sglang", Quants: q}); err != nil {
			t.Fatal(err)
		}
	})
}
