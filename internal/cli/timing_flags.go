package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// timingFlags choose a timing model and describe the deployment it prices.
type timingFlags struct {
	source, profile     string
	prefillMS, decodeMS float64

	gpu, model, quantization, kvDtype       string
	tp, pp, attentionDP, moeTP, moeEP, next int

	systemsDir, system, backend, version, aicModel, mode string
	aicTP, aicMoETP, aicMoEEP, aicAttentionDP, aicNext   int
	gemmQuant, moeQuant, fmhaQuant                       string
}

// register declares the flags; those of the AIC model carry the reference's names, --ais-… being the same as --aic-….
func (f *timingFlags) register(cmd *cobra.Command, env Env) {
	fs := cmd.Flags()
	fs.StringVar(&f.source, "source", "",
		"timing model: polynomial, fixed, profile, analytic or aic; by default what the other flags imply")
	fs.Float64Var(&f.prefillMS, "prefill-ms", 10, "fixed: length of every prefill in ms")
	fs.Float64Var(&f.decodeMS, "decode-ms", 2, "fixed: length of every decode step in ms")
	fs.StringVar(&f.profile, "planner-profile-data", "", "profile: an .npz file or a profiler's results directory")
	fs.StringVar(&f.gpu, "gpu", "", "analytic: GPU such as h100_sxm")
	fs.StringVar(&f.model, "model", "", "analytic, aic: model such as llama-3.1-8b, or the path of a config.json")
	fs.StringVar(&f.quantization, "quantization", "", "analytic: price as if quantised: fp8, fp8_block, nvfp4, …")
	fs.StringVar(&f.kvDtype, "kv-cache-dtype", "", "analytic, aic: how the KV cache is stored: bfloat16 or fp8")
	fs.IntVar(&f.tp, "tp", 0, "tensor parallel size (0: 1)")
	fs.IntVar(&f.pp, "pp", 0, "pipeline parallel size (0: 1)")
	fs.IntVar(&f.attentionDP, "attention-dp", 0, "attention data parallel size (0: 1)")
	fs.IntVar(&f.moeTP, "moe-tp", 0, "tensor parallel size of the experts (0: derived)")
	fs.IntVar(&f.moeEP, "moe-ep", 0, "expert parallel size (0: derived)")
	fs.IntVar(&f.next, "nextn", 0, "depth of speculative decoding")
	f.registerAIC(fs, env)
}

// registerAIC declares the flags of the table-driven model.
func (f *timingFlags) registerAIC(fs *pflag.FlagSet, env Env) {
	fs.StringVar(&f.systemsDir, "aic-systems-dir", env.get("FAKELLM_AIC_SYSTEMS_DIR"),
		"aic: directory with the tables, or a wheel that holds them (FAKELLM_AIC_SYSTEMS_DIR)")
	fs.StringVar(&f.system, "aic-system", "", "aic: system of the tables (empty: --gpu)")
	fs.StringVar(&f.backend, "aic-backend", "vllm", "aic: backend of the tables: vllm, sglang or trtllm")
	fs.StringVar(&f.version, "aic-backend-version", "", "aic: current, next or a listed version (empty: current)")
	fs.StringVar(&f.aicModel, "aic-model", "", "aic: model as organisation/name (empty: --model)")
	fs.StringVar(&f.mode, "aic-database-mode", "", "aic: SILICON, HYBRID, EMPIRICAL or SOL (empty: SILICON)")
	fs.IntVar(&f.aicTP, "aic-tp-size", 0, "aic: tensor parallel size (0: --tp)")
	fs.IntVar(&f.aicMoETP, "aic-moe-tp-size", 0, "aic: tensor parallel size of the experts (0: --moe-tp)")
	fs.IntVar(&f.aicMoEEP, "aic-moe-ep-size", 0, "aic: expert parallel size (0: --moe-ep)")
	fs.IntVar(&f.aicAttentionDP, "aic-attention-dp-size", 0, "aic: attention data parallel size (0: --attention-dp)")
	fs.IntVar(&f.aicNext, "aic-nextn", 0, "aic: depth of speculative decoding (0: --nextn)")
	fs.StringVar(&f.gemmQuant, "gemm-quant", "", "analytic, aic: mode of the matrices (empty: the checkpoint's)")
	fs.StringVar(&f.moeQuant, "moe-quant", "", "analytic, aic: mode of the experts (empty: the checkpoint's)")
	fs.StringVar(&f.fmhaQuant, "fmha-quant", "", "aic: mode of prefill attention (empty: the checkpoint's)")
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if rest, ok := strings.CutPrefix(name, "ais-"); ok {
			name = "aic-" + rest
		}
		return pflag.NormalizedName(name)
	})
}

// kind is the timing model that the flags ask for.
func (f *timingFlags) kind() string {
	switch {
	case f.source != "":
		return f.source
	case f.system != "":
		return "aic"
	case f.profile != "":
		return "profile"
	case f.gpu != "":
		return "analytic"
	}
	return "polynomial"
}

// silent names a flag that the polynomial would ignore; "" when there is none.
func (f *timingFlags) silent() string {
	for _, x := range []struct {
		name string
		set  bool
	}{{"model", f.model != ""}, {"tp", f.tp > 0}, {"quantization", f.quantization != ""}, {"kv-cache-dtype", f.kvDtype != ""}} {
		if x.set {
			return x.name
		}
	}
	return ""
}

// get returns the value of an environment variable, the last one if it is there twice.
func (e Env) get(name string) string {
	value := ""
	for _, kv := range e.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
