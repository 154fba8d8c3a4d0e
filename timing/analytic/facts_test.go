package analytic

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestTableEqualsConfigs holds the built-in table against config.json files (copied from the shared AIC data; their
// origin is the repository in the file name).
func TestTableEqualsConfigs(t *testing.T) {
	for _, name := range []string{
		"openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-32B-FP8", "nvidia/Llama-3.1-70B-Instruct-FP8",
		"mistralai/Mixtral-8x7B-v0.1", "MiniMaxAI/MiniMax-M2.5", "Qwen/Qwen3-30B-A3B",
	} {
		want, err := ResolveModel(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ResolveModel("testdata/" + strings.ReplaceAll(name, "/", "--") + "_config.json")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Facts{}, "Name", "Source", "BlockSize")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestWholeConfigTree compares with a full tree of configs where FAKELLM_MODEL_CONFIGS names one.
func TestWholeConfigTree(t *testing.T) {
	dir := os.Getenv("FAKELLM_MODEL_CONFIGS")
	if dir == "" {
		t.Skip("FAKELLM_MODEL_CONFIGS is not set: no full tree of configs here")
	}
	for _, want := range Models() {
		path := dir + "/" + strings.ReplaceAll(want.Name, "/", "--") + "_config.json"
		if _, err := os.Stat(path); err != nil {
			continue
		}
		got, err := LoadFacts(path)
		if err != nil {
			t.Errorf("%s: %v", want.Name, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Facts{}, "Name", "Source", "BlockSize", "Caution")); diff != "" {
			t.Errorf("%s: %s", want.Name, diff)
		}
		t.Logf("%s: equal", want.Name)
	}
}

func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Models() {
		if errs := f.Validate(); len(errs) > 0 || f.Source == "" || seen[f.Name] {
			t.Errorf("%s: %v, source %q, seen before %v", f.Name, errs, f.Source, seen[f.Name])
		}
		seen[f.Name] = true
		if got, err := ResolveModel(shortName(f.Name)); err != nil || got.Layers != f.Layers || got.Hidden != f.Hidden {
			t.Errorf("%s is found as %s, %v", shortName(f.Name), got.Name, err)
		}
	}
	if len(seen) < 25 {
		t.Errorf("%d models, want at least 25", len(seen))
	}
	for _, g := range GPUs() {
		got, err := LookupGPU(strings.ToUpper(strings.ReplaceAll(g.Name, "_", "-")))
		if err != nil || got != g || g.Source == "" {
			t.Errorf("%s is found as %+v, %v", g.Name, got, err)
		}
	}
	if _, err := LookupGPU("h1000"); err == nil || !strings.Contains(err.Error(), `gpu "h1000": known are a100_sxm,`) {
		t.Errorf("an unknown gpu: %v", err)
	}
	_, err := ResolveModel("gpt-9")
	if err == nil || !strings.Contains(err.Error(), `model "gpt-9": neither a config.json nor`) {
		t.Errorf("an unknown model: %v", err)
	}
}

const plain = `"architectures":["LlamaForCausalLM"],"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,
	"intermediate_size":128,"vocab_size":1000,"max_position_embeddings":2048`

func TestParseFacts(t *testing.T) {
	for _, c := range []struct {
		why, config, quant string
		want               func(*Facts)
	}{
		{"missing kv heads mean as many as heads, missing head_dim means hidden/heads", "", "", func(*Facts) {}},
		{"head_dim wins", `"head_dim":32`, "", func(f *Facts) { f.HeadDim = 32 }},
		{
			"every layer has the window", `"sliding_window":512`, "",
			func(f *Facts) { f.Window, f.WindowLayers = 512, 2 },
		},
		{"a window that is switched off", `"sliding_window":512,"use_sliding_window":false`, "", func(*Facts) {}},
		{"a window as long as the context is none", `"sliding_window":2048`, "", func(*Facts) {}},
		{
			"layer_types names the windowed layers",
			`"sliding_window":512,"layer_types":["full_attention","sliding_attention"]`, "",
			func(f *Facts) { f.Window, f.WindowLayers = 512, 1 },
		},
		{
			"dynamic fp8 brings an fp8 cache", `"quantization_config":{"quant_method":"fp8","activation_scheme":"dynamic"}`, "",
			func(f *Facts) { f.GEMM, f.KV = FP8, FP8 },
		},
		{
			"blocks", `"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}`, "",
			func(f *Facts) { f.GEMM, f.KV, f.BlockSize = FP8Block, FP8, 128 },
		},
		{
			"hf_quant_config goes before", `"quantization_config":{"quant_method":"awq"}`,
			`{"quantization":{"quant_algo":"FP8","kv_cache_quant_algo":"none"}}`,
			func(f *Facts) { f.GEMM = FP8Static },
		},
		{
			"compressed-tensors with scales on the fly",
			`"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"group_0":{
				"weights":{"num_bits":8,"type":"float"},"input_activations":{"dynamic":true}}}}`, "",
			func(f *Facts) { f.GEMM, f.KV = FP8, FP8 },
		},
		{
			"awq stores four bits and computes in sixteen", `"quantization_config":{"quant_method":"awq","bits":4}`, "",
			func(f *Facts) { f.GEMM = INT4 },
		},
		{"text_config of a multimodal wrapper", `"text_config":{"num_hidden_layers":3}`, "", func(f *Facts) { f.Layers = 3 }},
	} {
		want := Facts{
			Architecture: "LlamaForCausalLM", Layers: 2, Hidden: 64, Heads: 4, KVHeads: 4, HeadDim: 16, Intermediate: 128,
			Vocab: 1000, MaxContext: 2048, GEMM: BF16, KV: BF16,
		}
		c.want(&want)
		config := plain
		if c.config != "" {
			config += "," + c.config
		}
		got, err := ParseFacts([]byte("{"+config+"}"), []byte(c.quant))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.why, err, diff)
		}
	}
}

func TestParseFactsRefuses(t *testing.T) {
	for _, c := range []struct{ want, config string }{
		{"unexpected end of JSON", `{`},
		{"cannot unmarshal string", `{"num_hidden_layers":"2"}`},
		{"num_hidden_layers 0: must be 1 to 10000", `{}`},
		{"hidden_size 1000000000000000000", `{` + strings.Replace(plain, `size":64`, `size":1000000000000000000`, 1) + `}`},
		{"num_attention_heads -4", `{` + strings.Replace(plain, `heads":4`, `heads":-4`, 1) + `}`},
		{"num_key_value_heads 8: must be 1 to 4", `{` + plain + `,"num_key_value_heads":8}`},
		{"num_experts_per_tok 9: must be 1 to 8", `{` + plain + `,"num_experts":8,"num_experts_per_tok":9}`},
		{"v_head_dim 0", `{` + plain + `,"kv_lora_rank":8,"qk_rope_head_dim":4,"qk_nope_head_dim":4}`},
		{"linear_num_key_heads: models with linear attention", `{` + plain + `,"linear_num_key_heads":8}`},
		{"index_topk: models with sparse attention", `{` + plain + `,"index_topk":8}`},
		{`quantization "exl2"`, `{` + plain + `,"quantization_config":{"quant_method":"exl2"}}`},
	} {
		if _, err := ParseFacts([]byte(c.config), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.config, err, c.want)
		}
	}
}

func FuzzParseFacts(f *testing.F) {
	f.Add([]byte("{"+plain+"}"), []byte(nil))
	f.Add([]byte("{"+plain+`,"sliding_window":5,"layer_types":["sliding_attention"]}`), []byte(`{"quantization":{}}`))
	raw, err := os.ReadFile("testdata/deepseek-ai--DeepSeek-V3_config.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, []byte(`{"quantization":{"quant_algo":"NVFP4"}}`))
	f.Fuzz(func(t *testing.T, config, quant []byte) {
		facts, err := ParseFacts(config, quant)
		if err != nil {
			return
		}
		m, err := New(Config{GPU: "b200", Facts: &facts})
		if err != nil {
			return
		}
		for _, p := range []Pass{prefill(1, 1, 0), decode(1, 1), both(prefill(2, 100, 50), decode(3, 1000))} {
			if ms, _, err := m.PassMS(p); err != nil || !(ms > 0) {
				t.Fatalf("%+v: %v, %v", p, ms, err)
			}
		}
	})
}
