package analytic

import (
	"fmt"
	"math"
)

// Config describes a deployment. GPU and a model are required; everything else has a default.
type Config struct {
	// GPU is the name of a built-in GPU, see [GPUs].
	GPU string
	// Model is the name of a built-in model or the path of a config.json, see [ResolveModel]. Facts, if set, goes before.
	Model string
	Facts *Facts
	// TP, PP and AttentionDP are the degrees of tensor, pipeline and attention data parallelism; 0 means 1.
	TP, PP, AttentionDP int
	// MoETP and MoEEP shard the experts; their product must be TP·AttentionDP. Both 0 means that experts are sharded by
	// tensor parallelism as the engines do by default, or by expert if the blocks of fp8_block do not allow that; if one
	// is 0 it follows from the other.
	MoETP, MoEEP int
	// Quantization treats the model as a checkpoint quantised this way; empty means what its config.json says.
	Quantization string
	// GEMMQuant, MoEQuant and KVCacheQuant override one mode each; empty or auto means what the checkpoint says.
	GEMMQuant, MoEQuant, KVCacheQuant string
	// NextN is the depth of speculative decoding: a decode batch carries NextN+1 tokens per request.
	NextN int
	// HostStepMS and HostPerSeqUS are the host's overhead per pass in milliseconds and per request of a pass in
	// microseconds. Served latencies suggest 0.5 and 0 (spec analytic-timing §7); the default is none. An engine that
	// prices the halves of a mixed pass apart is charged twice.
	HostStepMS, HostPerSeqUS float64
	// Divisor divides every pass, to correct for a backend the constants are known to miss; 0 means 1.
	Divisor float64
}

// deployment is a validated Config with everything resolved.
type deployment struct {
	gpu           GPU
	facts         Facts
	gemm, moe, kv Mode
	tp, pp, dp    int
	moeTP, moeEP  int
	nextN         int
}

// Validate returns every problem of the config, each with its field and value.
func (c Config) Validate() []error {
	_, errs := c.resolve()
	return errs
}

// resolve fills in defaults and collects problems.
func (c Config) resolve() (deployment, []error) {
	d := deployment{tp: max(1, c.TP), pp: max(1, c.PP), dp: max(1, c.AttentionDP), nextN: c.NextN}
	var errs []error
	var err error
	if d.gpu, err = LookupGPU(c.GPU); err != nil {
		errs = append(errs, err)
	}
	if c.Facts != nil {
		d.facts = *c.Facts
	} else if d.facts, err = ResolveModel(c.Model); err != nil {
		return d, append(errs, err)
	}
	errs = append(errs, d.facts.Validate()...)
	errs = append(errs, c.checkNumbers()...)
	errs = append(errs, d.resolveModes(&c)...)
	if len(errs) == 0 {
		errs = d.resolveParallelism(&c)
	}
	return d, errs
}

// checkNumbers refuses degrees and overheads out of range.
func (c *Config) checkNumbers() []error {
	var errs []error
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"tp", c.TP, 1024},
		{"pp", c.PP, 1024},
		{"attention_dp", c.AttentionDP, 1024},
		{"moe_tp", c.MoETP, 1024},
		{"moe_ep", c.MoEEP, 1024},
		{"nextn", c.NextN, 16},
	} {
		if f.value < 0 || f.value > f.most {
			errs = append(errs, fmt.Errorf("%s %d: must be 0 to %d", f.name, f.value, f.most))
		}
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"host_step_ms", c.HostStepMS},
		{"host_per_seq_us", c.HostPerSeqUS},
		{"divisor", c.Divisor},
	} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			errs = append(errs, fmt.Errorf("%s %v: must be finite and not negative", f.name, f.value))
		}
	}
	return errs
}

// resolveModes decides the three modes: the checkpoint's, those of a named quantisation, then the user's one by one.
func (d *deployment) resolveModes(c *Config) []error {
	var errs []error
	d.gemm, d.moe, d.kv = orBF16(d.facts.GEMM), orBF16(d.facts.MoE), orBF16(d.facts.KV)
	if isSet(c.Quantization) {
		m, err := parseMode("quantization", c.Quantization, append(gemmModes(), MXFP4))
		if err != nil {
			return []error{err}
		}
		d.applyQuantization(m)
	}
	for _, f := range []struct {
		field, value string
		known        []Mode
		to           *Mode
	}{
		{"gemm_quant", c.GEMMQuant, gemmModes(), &d.gemm},
		{"moe_quant", c.MoEQuant, moeModes(), &d.moe},
		{"kv_cache_dtype", c.KVCacheQuant, kvModes(), &d.kv},
	} {
		if !isSet(f.value) {
			continue
		}
		m, err := parseMode(f.field, f.value, f.known)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		*f.to = m
	}
	return errs
}

// applyQuantization sets the modes that a checkpoint quantised in mode m has.
func (d *deployment) applyQuantization(m Mode) {
	d.gemm, d.moe, d.kv = m, m, BF16
	switch {
	case m.quantisesActivations():
		d.kv = FP8
	case m == MXFP4:
		d.gemm = BF16
	case m == INT8:
		d.moe = FP8
	}
}

// resolveParallelism checks what tensor, data and expert parallelism must satisfy together.
func (d *deployment) resolveParallelism(c *Config) []error {
	var errs []error
	if d.facts.Heads%d.tp != 0 {
		errs = append(errs, fmt.Errorf("tp %d: does not divide %d attention heads", d.tp, d.facts.Heads))
	}
	if !d.facts.isMoE() {
		if d.facts.Intermediate < d.tp {
			errs = append(errs, fmt.Errorf("tp %d: exceeds intermediate_size %d", d.tp, d.facts.Intermediate))
		}
		d.moeTP, d.moeEP = 1, 1
		return errs
	}
	d.moeTP, d.moeEP = c.MoETP, c.MoEEP
	group := d.tp * d.dp
	switch {
	case d.moeTP == 0 && d.moeEP == 0:
		d.moeTP, d.moeEP = group, 1
		if !d.blocksFit() {
			d.moeTP, d.moeEP = 1, group
		}
	case d.moeTP == 0 && group%d.moeEP == 0:
		d.moeTP = group / d.moeEP
	case d.moeEP == 0 && group%d.moeTP == 0:
		d.moeEP = group / d.moeTP
	}
	if d.moeTP*d.moeEP != group {
		errs = append(errs, fmt.Errorf("moe_tp %d times moe_ep %d: must equal tp %d times attention_dp %d",
			d.moeTP, d.moeEP, d.tp, d.dp))
	} else if !d.blocksFit() {
		errs = append(errs, fmt.Errorf("moe_tp %d: does not divide moe_intermediate_size %d into whole blocks",
			d.moeTP, d.facts.MoEIntermediate))
	}
	if d.moeEP > d.facts.Experts {
		errs = append(errs, fmt.Errorf("moe_ep %d: exceeds %d experts", d.moeEP, d.facts.Experts))
	}
	return errs
}

// blocksFit reports whether every rank holds whole quantisation blocks of an expert.
func (d *deployment) blocksFit() bool {
	if d.moe != FP8Block {
		return d.facts.MoEIntermediate >= d.moeTP
	}
	inner := d.facts.MoEIntermediate / d.moeTP
	return inner > 0 && inner%first(d.facts.BlockSize, 128) == 0
}

func orBF16(m Mode) Mode {
	if m == "" {
		return BF16
	}
	return m
}

func isSet(name string) bool { return name != "" && name != "auto" && name != "none" && name != "null" }
