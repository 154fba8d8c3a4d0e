package analytic

import (
	"errors"
	"fmt"

	"fakellm/engine"
)

// Model prices the passes of one deployment. It implements timing.Source.
type Model struct {
	d       deployment
	notes   []string
	layers  float64
	windows float64 // layers with a sliding window
	window  float64
	hidden  float64
	inner   float64 // dense MLP width per rank
	tp, dp  float64
	group   float64 // GPUs that share the experts
	tokens  float64 // tokens of a decoding request in a pass: 1 + speculative depth

	qkv, out, gateUp, down, head gemm
	router, sharedUp, sharedDown gemm
	sharedInner                  float64
	attention                    attention
	mla                          *mla
	experts                      experts
	comm                         comm

	hostStep, hostPerRequest, divisor float64
	// decode[n] is what a decode-only pass of n requests costs without attention. It makes a decode O(1).
	decode []float64
}

// memoisedBatch is the largest decode batch whose fixed part is computed once, when the model is built.
const memoisedBatch = 1024

// New builds the model of a deployment. The error joins every problem, each naming field and value and, for names, the
// known ones. It takes about a millisecond, most of it for the decode batches up to 1,024.
func New(c Config) (*Model, error) {
	d, errs := c.resolve()
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	f := &d.facts
	m := &Model{
		d: d, layers: float64(f.Layers), windows: float64(f.WindowLayers), window: float64(f.Window),
		hidden: float64(f.Hidden), inner: float64(f.Intermediate / d.tp), tp: float64(d.tp), dp: float64(d.dp),
		group: float64(d.moeTP * d.moeEP), tokens: float64(1 + d.nextN), comm: newComm(&d.gpu),
		hostStep: c.HostStepMS, hostPerRequest: c.HostPerSeqUS / 1000, divisor: 1,
	}
	if c.Divisor > 0 {
		m.divisor = c.Divisor
	}
	if err := m.build(); err != nil {
		return nil, err
	}
	m.notes = m.cautions()
	m.decode = make([]float64, memoisedBatch+1)
	for n := 1; n <= memoisedBatch; n++ {
		m.decode[n] = m.decodeFixed(float64(n))
	}
	return m, nil
}

// build prepares the matrix products, attention and experts.
func (m *Model) build() error {
	f, g := &m.d.facts, &m.d.gpu
	var err error
	if m.head, err = newGEMM(g, BF16, m.hidden, float64(f.Vocab/m.d.tp), 0); err != nil {
		return err
	}
	if f.isMLA() {
		if m.mla, err = newMLA(g, f, m.d.gemm, m.d.kv, m.tp); err != nil {
			return fmt.Errorf("gemm_quant: %w", err)
		}
	} else if err := m.buildAttention(); err != nil {
		return fmt.Errorf("gemm_quant: %w", err)
	}
	if !f.isMoE() {
		return m.buildMLP(&m.gateUp, &m.down, m.inner)
	}
	if m.router, err = newGEMM(g, BF16, m.hidden, float64(f.Experts), 0); err != nil {
		return err
	}
	if m.experts, err = newExperts(g, f, m.d.moe, float64(m.d.moeTP), float64(m.d.moeEP), m.dp); err != nil {
		return fmt.Errorf("moe_quant: %w", err)
	}
	if f.SharedExperts > 0 {
		m.sharedInner = float64(f.SharedExperts * f.MoEIntermediate / m.d.tp)
		return m.buildMLP(&m.sharedUp, &m.sharedDown, m.sharedInner)
	}
	return nil
}

func (m *Model) buildAttention() error {
	f, g := &m.d.facts, &m.d.gpu
	dim := float64(f.HeadDim)
	n, kv := float64(f.Heads/m.d.tp), float64((f.KVHeads+m.d.tp-1)/m.d.tp)
	m.attention = newAttention(g, n, kv, dim, m.d.kv, f.QKNorm)
	var err error
	if m.qkv, err = newGEMM(g, m.d.gemm, m.hidden, n*dim+2*kv*dim, quantPasses(m.d.gemm, false)); err != nil {
		return err
	}
	m.out, err = newGEMM(g, m.d.gemm, n*dim, m.hidden, quantPasses(m.d.gemm, true))
	return err
}

// buildMLP prepares a gated MLP of the given width.
func (m *Model) buildMLP(up, down *gemm, inner float64) error {
	var err error
	if *up, err = newGEMM(&m.d.gpu, m.d.gemm, m.hidden, 2*inner, quantPasses(m.d.gemm, false)); err == nil {
		*down, err = newGEMM(&m.d.gpu, m.d.gemm, inner, m.hidden, quantPasses(m.d.gemm, true))
	}
	if err != nil {
		return fmt.Errorf("gemm_quant: %w", err)
	}
	return nil
}

// cautions says what about this deployment was not checked against measurements.
func (m *Model) cautions() []string {
	var notes []string
	add := func(note string) {
		if note != "" {
			notes = append(notes, note)
		}
	}
	add(m.d.gpu.Caution)
	add(m.d.facts.Caution)
	if _, own := gemmConstants(m.d.gpu.class, m.d.gemm); !own {
		add(fmt.Sprintf("gemm mode %s on %s: bf16 constants by analogy", m.d.gemm, m.d.gpu.Name))
	}
	if m.d.gpu.class == ada && (m.d.gemm == NVFP4 || m.d.moe == NVFP4) {
		add(fmt.Sprintf("nvfp4 on %s: fp8 constants by analogy", m.d.gpu.Name))
	}
	if m.d.facts.isMoE() {
		if _, own := expertConstants(m.d.gpu.class, m.d.moe); !own {
			add(fmt.Sprintf("expert mode %s on %s: bf16 constants by analogy", m.d.moe, m.d.gpu.Name))
		}
		if m.d.moe == FP8 || m.d.moe == FP8Static {
			add("experts in per-tensor fp8: block fp8 constants by analogy")
		}
	}
	if m.d.facts.isMLA() && (m.d.gpu.class == ada || m.d.gpu.class == ampere) {
		add(fmt.Sprintf("latent attention on %s: Hopper's constants by analogy", m.d.gpu.Name))
	}
	if m.d.gpu.kind != nvlink && m.group > 1 && m.dp > 1 {
		add("gathers over PCIe: half an all-reduce by analogy")
	}
	return notes
}

// Notes returns what about this deployment was not verified, in fixed order; the caller must not change it.
func (m *Model) Notes() []string { return m.notes }

// Facts returns the model's facts.
func (m *Model) Facts() Facts { return m.d.facts }

// GPU returns the accelerator.
func (m *Model) GPU() GPU { return m.d.gpu }

// Modes returns how matrices, experts and the KV cache are stored.
func (m *Model) Modes() (gemm, moe, kv Mode) { return m.d.gemm, m.d.moe, m.d.kv }

// Parallelism returns the resolved degrees: tensor, pipeline, attention data, expert tensor, expert.
func (m *Model) Parallelism() (tp, pp, dp, moeTP, moeEP int) {
	return m.d.tp, m.d.pp, m.d.dp, m.d.moeTP, m.d.moeEP
}

// PrefillMS implements timing.Source. O(1), about a microsecond.
func (m *Model) PrefillMS(b engine.PrefillBatch) (float64, error) {
	var c costs
	n, fresh := float64(b.Requests), float64(b.New())
	if b.Requests <= 0 || b.New() == 0 {
		return 0, nil
	}
	if b.MeanPrefix < 0 {
		return 0, fmt.Errorf("mean prefix %d: negative", b.MeanPrefix)
	}
	m.tokenCosts(&c, work{tokens: n * fresh, requests: n, prefill: true})
	m.prefillCosts(&c, []PrefillGroup{{b.Requests, b.New(), b.MeanPrefix}})
	return c.total() / m.divisor, nil
}

// DecodeMS implements timing.Source. O(1), about 10 ns for batches up to 1,024.
func (m *Model) DecodeMS(b engine.DecodeBatch) (float64, error) {
	if b.Requests <= 0 {
		return 0, nil
	}
	if b.MeanContext < 0 {
		return 0, fmt.Errorf("mean context %d: negative", b.MeanContext)
	}
	n := float64(b.Requests)
	var fixed float64
	if b.Requests < len(m.decode) {
		fixed = m.decode[b.Requests]
	} else {
		fixed = m.decodeFixed(n)
	}
	return (fixed + m.decodeAttention(n*m.tokens, float64(b.MeanContext))) / m.divisor, nil
}

// decodeFixed is a decode-only pass of n requests without the part that depends on contexts.
func (m *Model) decodeFixed(n float64) float64 {
	var c costs
	m.tokenCosts(&c, work{tokens: n * m.tokens, requests: n * m.tokens, decode: true})
	c.decodeAttention = m.decodeLaunch(n * m.tokens)
	return c.total()
}
