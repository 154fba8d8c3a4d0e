package aic

import (
	"math"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/model"
	"fakellm/timing/aic/perf"
)

// Model estimates the passes of one deployment. It is immutable and safe for concurrent use.
type Model struct {
	hf    *model.HF
	dep   model.Deployment
	lists model.Lists
	db    *perf.DB
	memo  *memo
	// The lists split by what a pass's lengths change and what they do not.
	contextSplit, generationSplit split
	// The lists split for mixed steps: attention by itself, and the rest of the prompt list.
	contextRest, contextAttention, generationAttention []perf.Op
}

func newModel(h *model.HF, dep model.Deployment, lists model.Lists, db *perf.DB) *Model {
	m := &Model{hf: h, dep: dep, lists: lists, db: db, memo: &memo{}}
	m.contextSplit, m.generationSplit = splitList(lists.Context), splitList(lists.Generation)
	for _, op := range lists.Context {
		if op.Name() == "context_attention" {
			m.contextAttention = append(m.contextAttention, op)
		} else {
			m.contextRest = append(m.contextRest, op)
		}
	}
	for _, op := range lists.Generation {
		if op.Name() == "generation_attention" {
			m.generationAttention = append(m.generationAttention, op)
		}
	}
	return m
}

// split is an operator list in two parts: perToken depends on tokens and batch alone, so that it is shared by many
// shapes.
type split struct{ all, perToken, rest []perf.Op }

func splitList(ops []perf.Op) split {
	s := split{all: ops}
	for _, op := range ops {
		if perf.PerToken(op) {
			s.perToken = append(s.perToken, op)
		} else {
			s.rest = append(s.rest, op)
		}
	}
	return s
}

// Kinds of remembered questions.
const (
	kindPrefill = iota
	kindDecode
	kindPrefillTokens
	kindDecodeTokens
)

// sum adds a list up; the part that lengths do not change is remembered under kind.
func (m *Model) sum(s *split, kind uint8, sh perf.Shape) (float64, error) {
	key := shape{kind, sh.Tokens, sh.Batch, 0}
	shared, ok := m.memo.get(key)
	if !ok {
		var err error
		if shared, err = perf.Sum(m.db, s.perToken, sh); err != nil {
			return perf.Sum(m.db, s.all, sh) // the first error in list order
		}
		m.memo.put(key, shared)
	}
	rest, err := perf.Sum(m.db, s.rest, sh)
	return shared + rest, err
}

// maxShape bounds batch sizes and lengths, so that no product of them overflows.
const maxShape = 1 << 24

// sized refuses numbers outside [least, maxShape].
func sized(name string, v, least int) error {
	if v < least || v > maxShape {
		return fault.New(fault.BadShape, "%s is %d, want %d to %d", name, v, least, maxShape)
	}
	return nil
}

// PrefillMS is the time of a prompt pass over batch requests of isl tokens each, prefix of them cached (isl counts
// them), in milliseconds (spec aic-timing §6.1). O(operators), O(1) for a remembered shape.
func (m *Model) PrefillMS(batch, isl, prefix int) (float64, error) {
	key := shape{kindPrefill, batch, isl, prefix}
	if ms, ok := m.memo.get(key); ok {
		return ms, nil
	}
	sh, err := prefillShape(batch, isl, prefix)
	if err != nil {
		return 0, err
	}
	ms, err := finite(m.sum(&m.contextSplit, kindPrefillTokens, sh))
	if err != nil {
		return 0, err
	}
	m.memo.put(key, ms)
	return ms, nil
}

func prefillShape(batch, isl, prefix int) (perf.Shape, error) {
	for _, err := range []error{sized("batch", batch, 1), sized("isl", isl, 1), sized("prefix", prefix, 0)} {
		if err != nil {
			return perf.Shape{}, err
		}
	}
	fresh := isl - prefix
	if fresh <= 0 {
		return perf.Shape{}, fault.New(fault.BadShape, "no new token: prefix %d of isl %d", prefix, isl)
	}
	return perf.Shape{Tokens: batch * fresh, Batch: batch, S: fresh, Prefix: prefix}, nil
}

// DecodeMS is the time of osl - 1 decode steps of batch requests after isl tokens each, in milliseconds (§6.2): the
// first step reads isl + 1 tokens. Lengths are sampled every 32 steps. osl below 2 takes no time.
func (m *Model) DecodeMS(batch, isl, osl int) (float64, error) {
	key := shape{kindDecode, batch, isl, osl}
	if ms, ok := m.memo.get(key); ok {
		return ms, nil
	}
	sum := 0.0
	err := m.steps(batch, isl, osl, func(sh perf.Shape, times float64) error {
		ms, err := m.sum(&m.generationSplit, kindDecodeTokens, sh)
		sum += ms * times
		return err
	})
	ms, err := finite(sum, err)
	if err != nil {
		return 0, err
	}
	m.memo.put(key, ms)
	return ms, nil
}

// stride is how many decode steps share one length.
const stride = 32

// steps calls f for every sampled decode step with the number of steps that it stands for.
func (m *Model) steps(batch, isl, osl int, f func(perf.Shape, float64) error) error {
	for _, err := range []error{sized("batch", batch, 1), sized("past", isl, 0), sized("osl", osl, 0)} {
		if err != nil {
			return err
		}
	}
	b := batch * (m.dep.NextN + 1)
	for i := 0; i < osl-1; i += stride {
		if err := f(perf.Shape{Tokens: b, Batch: b, S: isl + i + 1}, float64(min(stride, osl-1-i))); err != nil {
			return err
		}
	}
	return nil
}

// finite passes a latency on if it can be one.
func finite(ms float64, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	if math.IsNaN(ms) || math.IsInf(ms, 0) {
		return 0, fault.New(fault.BadData, "the estimate is %v ms", ms)
	}
	return max(ms, 0), nil
}

// OpTime is one line of a breakdown.
type OpTime struct {
	Name string
	MS   float64
}

// PrefillOps is PrefillMS by operator, in list order; equal names are added and zeros left out.
func (m *Model) PrefillOps(batch, isl, prefix int) ([]OpTime, error) {
	sh, err := prefillShape(batch, isl, prefix)
	if err != nil {
		return nil, err
	}
	var b breakdown
	if err := b.add(m.db, m.lists.Context, sh, 1); err != nil {
		return nil, err
	}
	return b.lines(), nil
}

// DecodeOps is DecodeMS by operator, summed over its steps.
func (m *Model) DecodeOps(batch, isl, osl int) ([]OpTime, error) {
	var b breakdown
	err := m.steps(batch, isl, osl, func(sh perf.Shape, times float64) error {
		return b.add(m.db, m.lists.Generation, sh, times)
	})
	if err != nil {
		return nil, err
	}
	return b.lines(), nil
}

// breakdown adds operator times by name in order of first appearance.
type breakdown []OpTime

func (b *breakdown) add(db *perf.DB, ops []perf.Op, sh perf.Shape, times float64) error {
	for _, op := range ops {
		ms, err := op.MS(db, sh)
		if err != nil {
			return err
		}
		b.addLine(op.Name(), ms*times)
	}
	return nil
}

func (b *breakdown) addLine(name string, ms float64) {
	for i := range *b {
		if (*b)[i].Name == name {
			(*b)[i].MS += ms
			return
		}
	}
	*b = append(*b, OpTime{name, ms})
}

func (b *breakdown) lines() []OpTime {
	var out []OpTime
	for _, l := range *b {
		if l.MS != 0 {
			out = append(out, l)
		}
	}
	return out
}
