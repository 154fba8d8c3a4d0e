package perf

import (
	"slices"
	"strings"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/table"
)

// arith is the type of arithmetic that an operator runs in.
type arith int

const (
	bf16 arith = iota
	int8Arith
	fp8
	fp4
)

// Quant is a quantisation mode: its name, the bytes per element, the speed-up over bf16 that its authors assume, and
// the arithmetic whose peak applies.
type Quant struct {
	Name    string
	Mem     float64
	Compute float64
	arith   arith
}

// The groups of modes, with values of spec aic-timing §3.2. They are read-only.
var (
	gemmQuants = []Quant{
		{"bfloat16", 2, 1, bf16},
		{"int8_wo", 1, 1, bf16},
		{"int4_wo", .5, 1, bf16},
		{"fp8", 1, 2, fp8},
		{"fp8_static", 1, 2, fp8},
		{"fp8_block", 1, 2, fp8},
		{"fp8_ootb", 1, 2, fp8},
		{"sq", 1, 2, int8Arith},
		{"nvfp4", 9. / 16, 4, fp4},
		{"nvfp4_wo", 9. / 16, 1, bf16},
		{"w4a16_nvfp4", 9. / 16, 1, bf16},
	}
	moeQuants = []Quant{
		{"bfloat16", 2, 1, bf16},
		{"fp8", 1, 2, fp8},
		{"fp8_block", 1, 2, fp8},
		{"int4_wo", .5, 1, bf16},
		{"w4afp8", .5, 2, fp8},
		{"nvfp4", 9. / 16, 4, fp4},
		{"nvfp4_wo", 9. / 16, 1, bf16},
		{"w4a16_nvfp4", 9. / 16, 1, bf16},
		{"w4a16_mxfp4", .5, 1, bf16},
		{"w4a16_mxfp4_cutlass", .5, 1, bf16},
		{"w4a16_mxfp4_humming", .5, 1, bf16},
		{"w4a8_mxfp4_mxfp8", .5, 2, fp8},
		{"w4a8_mxfp4_mxfp8_trtllm", .5, 2, fp8},
	}
	fmhaQuants = []Quant{
		{"bfloat16", 2, 1, bf16},
		{"float16", 2, 1, bf16},
		{"fp8", 1, 2, fp8},
		{"fp8_block", 1, 2, fp8},
	}
	kvQuants = []Quant{
		{"bfloat16", 2, 1, bf16},
		{"int8", 1, 1, int8Arith},
		{"fp8", 1, 2, fp8},
	}
	commQuants = []Quant{
		{"half", 2, 1, bf16},
		{"int8", 1, 1, int8Arith},
		{"fp8", 1, 2, fp8},
	}
)

// find looks a mode up by name; what names the group in the error, which is UnknownQuant.
func find(group []Quant, what, name string) (Quant, error) {
	i := slices.IndexFunc(group, func(q Quant) bool { return q.Name == name })
	if i >= 0 {
		return group[i], nil
	}
	names := make([]string, len(group))
	for j, q := range group {
		names[j] = q.Name
	}
	return Quant{}, fault.New(fault.UnknownQuant, "%s %q is not one of %s", what, name, strings.Join(names, ", "))
}

// GemmQuant returns the mode of dense weights; unknown names are fault.UnknownQuant, as in the four functions below.
func GemmQuant(name string) (Quant, error) { return find(gemmQuants, "gemm quantisation", name) }

// MoEQuant returns the mode of expert weights.
func MoEQuant(name string) (Quant, error) { return find(moeQuants, "moe quantisation", name) }

// FMHAQuant returns the mode of prompt attention.
func FMHAQuant(name string) (Quant, error) { return find(fmhaQuants, "fmha quantisation", name) }

// KVQuant returns the type of the KV cache.
func KVQuant(name string) (Quant, error) { return find(kvQuants, "kv cache quantisation", name) }

// CommQuant returns the type of messages between GPUs.
func CommQuant(name string) (Quant, error) { return find(commQuants, "comm quantisation", name) }

// peak returns the FLOP/s of a mode on a system; one without such arithmetic is fault.UnsupportedQuant.
func peak(s *table.System, q Quant) (float64, error) {
	field, v := "gpu.bfloat16_tc_flops", s.GPU.BF16
	switch q.arith {
	case int8Arith:
		field, v = "gpu.int8_tc_flops", s.GPU.INT8
	case fp8:
		field, v = "gpu.fp8_tc_flops", s.GPU.FP8
	case fp4:
		field, v = "gpu.fp4_tc_flops", s.GPU.FP4
	case bf16:
	}
	if v <= 0 {
		return 0, fault.New(fault.UnsupportedQuant, "quantisation %s: system %s has no %s", q.Name, s.Name, field)
	}
	return v, nil
}
