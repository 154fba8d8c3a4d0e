package aic

import (
	"fakellm/engine"
	"fakellm/timing/aic/fault"
)

// Source answers the simulated engine's two questions about a pass, in milliseconds (spec aic-timing §7). It neither
// scales nor rounds. It is safe for concurrent use.
type Source struct{ m *Model }

// Source returns the model as the engine's source of times.
func (m *Model) Source() Source { return Source{m} }

// PrefillMS is the time of the prompt half of a pass: 0 without requests or without new tokens.
func (s Source) PrefillMS(b engine.PrefillBatch) (float64, error) {
	if b.Requests <= 0 || b.New() == 0 {
		return 0, nil
	}
	return s.m.PrefillMS(b.Requests, b.MeanISL, b.MeanPrefix)
}

// DecodeMS is the time of the decode half: one step at the mean context, which counts the token in work.
func (s Source) DecodeMS(b engine.DecodeBatch) (float64, error) {
	if b.Requests <= 0 {
		return 0, nil
	}
	if b.MeanContext < 1 {
		return 0, fault.New(fault.BadShape, "mean context is %d, want at least 1", b.MeanContext)
	}
	return s.m.DecodeMS(b.Requests, b.MeanContext-1, 2)
}

// Resolved is what a deployment's defaults turned into.
type Resolved struct {
	BackendVersion, Mode       string
	Gemm, MoE, KV, FMHA, Comm  string
	TP, PP, DP, MoETP, MoEEP   int
	MixtureOfExperts, FromData bool
}

// Resolved says which version, modes and sizes the estimate runs with. FromData is false in mode SOL, whose numbers
// come from rooflines alone.
func (m *Model) Resolved() Resolved {
	q, p := m.dep.Quants, m.dep.Parallel
	return Resolved{
		BackendVersion: m.db.Version, Mode: m.db.Mode.String(), FromData: m.db.Mode.String() != "SOL",
		Gemm: q.Gemm.Name, MoE: q.MoE.Name, KV: q.KV.Name, FMHA: q.FMHA.Name, Comm: q.Comm.Name,
		TP: p.TP, PP: p.PP, DP: p.AttentionDP, MoETP: p.MoETP, MoEEP: p.MoEEP,
		MixtureOfExperts: m.hf.Experts > 0,
	}
}
