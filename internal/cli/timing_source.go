package cli

import (
	"errors"
	"fmt"
	"strings"

	"fakellm/engine"
	"fakellm/timing"
	"fakellm/timing/analytic"
	"fakellm/timing/profile"
)

// predictor is a timing model with what the commands print of it.
type predictor struct {
	// name says in one line what is priced.
	name string
	src  timing.Source
	// onePass prices a mixed pass as one; nil if the model knows halves only.
	onePass func(engine.PrefillBatch, engine.DecodeBatch) (float64, error)
	// ops breaks a half down; nil if the model is one formula.
	ops func(engine.PrefillBatch, engine.DecodeBatch) ([]analytic.Op, error)
	// capacity counts KV blocks; nil if the model knows no GPU.
	capacity func(analytic.CapacityConfig) (analytic.Capacity, error)
	notes    []string
}

// predictor builds the named timing model from the flags.
func (f *timingFlags) predictor(kind string) (*predictor, error) {
	switch kind {
	case "polynomial":
		if name := f.silent(); name != "" && f.source == "" && f.kind() == "polynomial" {
			return nil, fmt.Errorf("%s: says nothing to the polynomial; name a GPU (--gpu) or a system of tables (--aic-system) as well", name)
		}
		return &predictor{name: "polynomial", src: timing.Polynomial{}}, nil
	case "fixed":
		src, err := timing.Config{Model: timing.NameFixed, PrefillMS: f.prefillMS, DecodeMS: f.decodeMS}.Source()
		return &predictor{name: fmt.Sprintf("fixed %v/%v ms", f.prefillMS, f.decodeMS), src: src}, err
	case "profile":
		if f.profile == "" {
			return nil, errors.New("planner-profile-data: the profile needs an .npz file or a results directory")
		}
		p, err := profile.Load(f.profile)
		return &predictor{name: "profile " + f.profile, src: p}, err
	case "analytic":
		m, err := analytic.New(f.analyticConfig())
		if err != nil {
			return nil, err
		}
		return analyticPredictor(m), nil
	case "aic":
		return f.aicPredictor()
	}
	return nil, fmt.Errorf("source %q: known are polynomial, fixed, profile, analytic and aic", kind)
}

func (f *timingFlags) analyticConfig() analytic.Config {
	return analytic.Config{
		GPU: f.gpu, Model: f.model, TP: f.tp, PP: f.pp, AttentionDP: f.attentionDP, MoETP: f.moeTP, MoEEP: f.moeEP,
		Quantization: f.quantization, GEMMQuant: f.gemmQuant, MoEQuant: f.moeQuant, KVCacheQuant: f.kvDtype, NextN: f.next,
	}
}

func analyticPredictor(m *analytic.Model) *predictor {
	tp, pp, dp, moeTP, moeEP := m.Parallelism()
	gemm, moe, kv := m.Modes()
	var name strings.Builder
	fmt.Fprintf(&name, "analytic %s on %s, tp %d", m.Facts().Name, m.GPU().Name, tp)
	for _, extra := range []struct {
		name string
		size int
	}{{"pp", pp}, {"attention dp", dp}, {"moe tp", moeTP}, {"moe ep", moeEP}} {
		if extra.size > 1 {
			fmt.Fprintf(&name, ", %s %d", extra.name, extra.size)
		}
	}
	fmt.Fprintf(&name, ", gemm %s", gemm)
	if m.Facts().Experts > 0 {
		fmt.Fprintf(&name, ", moe %s", moe)
	}
	pass := func(p engine.PrefillBatch, d engine.DecodeBatch) analytic.Pass {
		var out analytic.Pass
		if p.Requests > 0 {
			out.Prefill = []analytic.PrefillGroup{{Requests: p.Requests, New: p.New(), Prefix: p.MeanPrefix}}
		}
		if d.Requests > 0 {
			out.Decode = []analytic.DecodeGroup{{Requests: d.Requests, Context: d.MeanContext}}
		}
		return out
	}
	fmt.Fprintf(&name, ", kv %s", kv)
	return &predictor{
		name: name.String(), src: m, notes: m.Notes(), capacity: m.Capacity,
		onePass: func(p engine.PrefillBatch, d engine.DecodeBatch) (float64, error) {
			ms, _, err := m.PassMS(pass(p, d))
			return ms, err
		},
		ops: func(p engine.PrefillBatch, d engine.DecodeBatch) ([]analytic.Op, error) {
			_, ops, err := m.PassMS(pass(p, d))
			return ops, err
		},
	}
}
