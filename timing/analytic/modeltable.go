package analytic

// Where the facts of a built-in model are from.
const (
	fromConfig = "config.json of the named repository, read from a copy"
	fromCard   = "config.json of the named repository, from memory: not checked against a copy"
)

const (
	llama     = "LlamaForCausalLM"
	qwen2     = "Qwen2ForCausalLM"
	qwen3     = "Qwen3ForCausalLM"
	qwen3MoE  = "Qwen3MoeForCausalLM"
	mistral   = "MistralForCausalLM"
	mixtral   = "MixtralForCausalLM"
	gptOss    = "GptOssForCausalLM"
	deepseek3 = "DeepseekV3ForCausalLM"
	minimax2  = "MiniMaxM2ForCausalLM"
)

// dense builds the facts of a dense model.
func dense(name, arch string, layers, hidden, heads, kvHeads, dim, inner, vocab, context int, source string) Facts {
	return Facts{
		Name: name, Architecture: arch, Layers: layers, Hidden: hidden, Heads: heads, KVHeads: kvHeads, HeadDim: dim,
		Intermediate: inner, Vocab: vocab, MaxContext: context, QKNorm: arch == qwen3, GEMM: BF16, KV: BF16, Source: source,
	}
}

// sparse adds experts to the facts of a dense model.
func sparse(f Facts, experts, topk, inner int) Facts {
	f.Experts, f.TopK, f.MoEIntermediate, f.MoE = experts, topk, inner, BF16
	f.QKNorm = f.Architecture == qwen3MoE || f.Architecture == minimax2
	return f
}

// latent turns the facts into those of DeepSeek's attention with one shared expert.
func latent(f Facts, dense int) Facts {
	f.QLoRARank, f.KVLoRARank, f.RopeDim, f.NopeDim, f.VDim = 1536, 512, 64, 128, 128
	f.SharedExperts, f.DenseLayers = 1, dense
	return f
}

// quantised renames the facts and sets the modes of a quantised checkpoint.
func quantised(f Facts, name string, m Mode) Facts {
	f.Name, f.GEMM, f.KV = name, m, FP8
	if f.isMoE() {
		f.MoE = m
	}
	return f
}

// oss builds the facts of gpt-oss: half the layers see 128 tokens, experts are 4 bits wide.
func oss(name string, layers, experts int) Facts {
	f := sparse(dense(name, gptOss, layers, 2880, 64, 8, 64, 2880, 201088, 131072, fromConfig), experts, 4, 2880)
	f.Window, f.WindowLayers, f.MoE = 128, layers/2, MXFP4
	return f
}

// denseModels returns the models without experts.
func denseModels() []Facts {
	llama70 := dense("meta-llama/Meta-Llama-3.1-70B", llama, 80, 8192, 64, 8, 128, 28672, 128256, 131072, fromConfig)
	qwen32 := dense("Qwen/Qwen3-32B", qwen3, 64, 5120, 64, 8, 128, 25600, 151936, 40960, fromConfig)
	return []Facts{
		dense("meta-llama/Meta-Llama-3.1-8B", llama, 32, 4096, 32, 8, 128, 14336, 128256, 131072, fromConfig),
		llama70,
		quantised(llama70, "nvidia/Llama-3.1-70B-Instruct-FP8", FP8Static),
		dense("meta-llama/Llama-3.3-70B-Instruct", llama, 80, 8192, 64, 8, 128, 28672, 128256, 131072, fromCard),
		dense("meta-llama/Meta-Llama-3.1-405B", llama, 126, 16384, 128, 8, 128, 53248, 128256, 131072, fromConfig),
		dense("meta-llama/Llama-3.2-1B", llama, 16, 2048, 32, 8, 64, 8192, 128256, 131072, fromCard),
		dense("meta-llama/Llama-3.2-3B", llama, 28, 3072, 24, 8, 128, 8192, 128256, 131072, fromCard),
		dense("meta-llama/Llama-2-7b-hf", llama, 32, 4096, 32, 32, 128, 11008, 32000, 4096, fromCard),
		dense("meta-llama/Llama-2-70b-hf", llama, 80, 8192, 64, 8, 128, 28672, 32000, 4096, fromCard),
		dense("Qwen/Qwen2.5-7B-Instruct", qwen2, 28, 3584, 28, 4, 128, 18944, 152064, 32768, fromCard),
		dense("Qwen/Qwen2.5-32B-Instruct", qwen2, 64, 5120, 40, 8, 128, 27648, 152064, 32768, fromCard),
		dense("Qwen/Qwen2.5-72B-Instruct", qwen2, 80, 8192, 64, 8, 128, 29568, 152064, 32768, fromCard),
		dense("Qwen/Qwen3-0.6B", qwen3, 28, 1024, 16, 8, 128, 3072, 151936, 40960, fromConfig),
		dense("Qwen/Qwen3-1.7B", qwen3, 28, 2048, 16, 8, 128, 6144, 151936, 40960, fromConfig),
		dense("Qwen/Qwen3-4B", qwen3, 36, 2560, 32, 8, 128, 9728, 151936, 40960, fromCard),
		dense("Qwen/Qwen3-8B", qwen3, 36, 4096, 32, 8, 128, 12288, 151936, 40960, fromConfig),
		dense("Qwen/Qwen3-14B", qwen3, 40, 5120, 40, 8, 128, 17408, 151936, 40960, fromCard),
		qwen32,
		quantised(qwen32, "Qwen/Qwen3-32B-FP8", FP8Block),
		dense("mistralai/Mistral-7B-Instruct-v0.3", mistral, 32, 4096, 32, 8, 128, 14336, 32768, 32768, fromCard),
		dense("mistralai/Mistral-Small-24B-Instruct-2501", mistral, 40, 5120, 32, 8, 128, 32768, 131072, 32768, fromCard),
		dense("XiaomiMiMo/MiMo-7B-Base", "MiMoForCausalLM", 36, 4096, 32, 8, 128, 11008, 151680, 32768, fromConfig),
		dense("codellama/CodeLlama-34b-hf", llama, 48, 8192, 64, 8, 128, 22016, 32000, 16384, fromCard),
	}
}

// sparseModels returns the models with experts.
func sparseModels() []Facts {
	qwen30 := sparse(dense("Qwen/Qwen3-30B-A3B", qwen3MoE, 48, 2048, 32, 4, 128, 6144, 151936, 40960, fromConfig),
		128, 8, 768)
	qwen235 := sparse(dense("Qwen/Qwen3-235B-A22B", qwen3MoE, 94, 4096, 64, 4, 128, 12288, 151936, 40960, fromConfig),
		128, 8, 1536)
	deepseek := latent(sparse(
		dense("deepseek-ai/DeepSeek-V3", deepseek3, 61, 7168, 128, 128, 56, 18432, 129280, 163840, fromConfig),
		256, 8, 2048), 3)
	kimi := latent(sparse(
		dense("moonshotai/Kimi-K2-Instruct", deepseek3, 61, 7168, 64, 64, 112, 18432, 163840, 131072, fromConfig),
		384, 8, 2048), 1)
	minimax := sparse(
		dense("MiniMaxAI/MiniMax-M2.5", minimax2, 62, 3072, 48, 8, 128, 1536, 200064, 196608, fromConfig),
		256, 8, 1536)
	coder := dense("Qwen/Qwen3-Coder-480B-A35B-Instruct", qwen3MoE, 62, 6144, 96, 8, 128, 8192, 151936, 262144, fromConfig)
	mixtral7 := dense("mistralai/Mixtral-8x7B-v0.1", mixtral, 32, 4096, 32, 8, 128, 14336, 32000, 32768, fromConfig)
	mixtral22 := dense("mistralai/Mixtral-8x22B-v0.1", mixtral, 56, 6144, 48, 8, 128, 16384, 32000, 65536, fromConfig)
	return []Facts{
		qwen30,
		quantised(qwen30, "Qwen/Qwen3-30B-A3B-FP8", FP8Block),
		qwen235,
		quantised(qwen235, "Qwen/Qwen3-235B-A22B-FP8", FP8Block),
		quantised(qwen235, "nvidia/Qwen3-235B-A22B-NVFP4", NVFP4),
		sparse(coder, 160, 8, 2560),
		sparse(mixtral7, 8, 2, 14336),
		sparse(mixtral22, 8, 2, 16384),
		oss("openai/gpt-oss-20b", 24, 32),
		oss("openai/gpt-oss-120b", 36, 128),
		quantised(deepseek, "deepseek-ai/DeepSeek-V3", FP8Block),
		quantised(deepseek, "deepseek-ai/DeepSeek-R1", FP8Block),
		quantised(kimi, "moonshotai/Kimi-K2-Instruct", FP8Block),
		quantised(minimax, "MiniMaxAI/MiniMax-M2.5", FP8Block),
	}
}
