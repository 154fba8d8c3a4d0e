package perf

import "math"

// Shape is what one pass asks of an operator.
type Shape struct {
	// Tokens is how many tokens the operator processes on one rank.
	Tokens int
	// Batch is the number of requests; S the new tokens of each in a prompt, the tokens that each reads in a decode;
	// Prefix the cached tokens of each in a prompt.
	Batch, S, Prefix int
}

// Op is one entry of an operator list. Implementations are immutable.
type Op interface {
	// Name is the operator's name in breakdowns.
	Name() string
	// MS is its time in a pass, in milliseconds, over all its layers.
	MS(db *DB, sh Shape) (float64, error)
	// Needs lists the tables that MS reads.
	Needs() Needs
	// Weight is the bytes that it keeps in memory on one rank.
	Weight() float64
}

// PerToken reports whether an operator's time depends on the tokens and the batch of a pass alone, not on lengths.
func PerToken(op Op) bool {
	switch op.(type) {
	case ContextAttention, GenerationAttention, ContextMLA, GenerationMLA, Fallback:
		return false
	}
	return true
}

// Base is the part that all operators share: the name, and how often the operator runs in one pass.
type Base struct {
	Label string
	Count float64
}

// Name implements Op.
func (b Base) Name() string { return b.Label }

// Needs implements Op for operators without a table.
func (Base) Needs() Needs { return 0 }

// Weight implements Op for operators without weights.
func (Base) Weight() float64 { return 0 }

// times multiplies a latency by the count.
func (b Base) times(ms float64, err error) (float64, error) { return ms * b.Count, err }

// ElementWise moves a fixed number of bytes per token.
type ElementWise struct {
	Base
	BytesPerToken float64
}

// MS implements Op.
func (o ElementWise) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.memOp(float64(sh.Tokens)*o.BytesPerToken), nil)
}

// Embedding looks tokens up in a table of rows by hidden 16-bit values.
type Embedding struct {
	Base
	Rows, Hidden int
}

// MS implements Op.
func (o Embedding) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.memOp(float64(sh.Tokens)*float64(o.Hidden)*2), nil)
}

// Weight implements Op.
func (o Embedding) Weight() float64 { return float64(o.Rows) * float64(o.Hidden) * 2 * o.Count }

// Gemm is a dense product.
type Gemm struct {
	Base
	GemmQuery
	// PerRequest products see one token per request: the logits of a prompt.
	PerRequest bool
}

// MS implements Op.
func (o Gemm) MS(db *DB, sh Shape) (float64, error) {
	tokens := sh.Tokens
	if o.PerRequest {
		tokens = sh.Batch
	}
	return o.times(db.Gemm(&o.GemmQuery, tokens))
}

// Needs implements Op.
func (o Gemm) Needs() Needs {
	if o.Quant.Name == "fp8_static" {
		return NeedGemm | NeedQuantize
	}
	return NeedGemm
}

// Weight implements Op.
func (o Gemm) Weight() float64 { return float64(o.N) * float64(o.K) * o.Quant.Mem * o.Count }

// ContextAttention is prompt attention.
type ContextAttention struct {
	Base
	ContextQuery
}

// MS implements Op.
func (o ContextAttention) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.Context(&o.ContextQuery, sh.Batch, sh.S, sh.Prefix))
}

// Needs implements Op.
func (ContextAttention) Needs() Needs { return NeedContext }

// GenerationAttention is decode attention.
type GenerationAttention struct {
	Base
	GenerationQuery
}

// MS implements Op.
func (o GenerationAttention) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.Generation(&o.GenerationQuery, sh.Batch, sh.S))
}

// Needs implements Op.
func (GenerationAttention) Needs() Needs { return NeedGeneration }

// AllReduce sums hidden states over the tensor-parallel ranks.
type AllReduce struct {
	Base
	Hidden, TP int
}

// MS implements Op.
func (o AllReduce) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.AllReduce(o.TP, float64(sh.Tokens)*float64(o.Hidden)))
}

// Needs implements Op.
func (o AllReduce) Needs() Needs {
	if o.TP <= 1 {
		return 0
	}
	return NeedAllReduce | NeedNCCL
}

// Collective is one NCCL operation over a fixed number of elements per token.
type Collective struct {
	Base
	Operation string
	GPUs      int
	Elements  float64
	Quant     Quant
}

// MS implements Op.
func (o Collective) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.NCCL(o.Quant, o.Operation, o.GPUs, float64(sh.Tokens)*o.Elements))
}

// Needs implements Op.
func (Collective) Needs() Needs { return NeedNCCL }

// P2P hands hidden states to the next pipeline stage.
type P2P struct {
	Base
	PP, Hidden int
}

// MS implements Op.
func (o P2P) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.P2P(o.PP, o.Hidden, sh.Tokens), nil)
}

// MoE is the experts of the layers.
type MoE struct {
	Base
	MoEQuery
}

// MS implements Op.
func (o MoE) MS(db *DB, sh Shape) (float64, error) { return o.times(db.MoE(&o.MoEQuery, sh.Tokens)) }

// Needs implements Op.
func (MoE) Needs() Needs { return NeedMoE }

// Weight implements Op; the divisions by the parallel sizes round down one after the other.
func (o MoE) Weight() float64 {
	g := 3.0
	if o.Ungated {
		g = 2
	}
	all := float64(o.Hidden) * float64(o.Inter) * float64(o.Experts) * o.Quant.Mem * g
	return math.Floor(math.Floor(all/float64(o.EP))/float64(o.TP)) * o.Count
}

// Dispatch is the traffic before or after the experts.
type Dispatch struct {
	Base
	DispatchQuery
}

// MS implements Op.
func (o Dispatch) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.Dispatch(&o.DispatchQuery, sh.Tokens))
}

// Needs implements Op.
func (Dispatch) Needs() Needs { return NeedAllReduce | NeedNCCL }

// ContextMLA is latent prompt attention, alone or with its module.
type ContextMLA struct {
	Base
	MLAQuery
}

// MS implements Op.
func (o ContextMLA) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.ContextMLA(&o.MLAQuery, sh.Batch, sh.S, sh.Prefix))
}

// Needs implements Op.
func (o ContextMLA) Needs() Needs {
	if o.Module {
		return NeedContextModule
	}
	return NeedContextMLA
}

// GenerationMLA is latent decode attention, alone or with its module.
type GenerationMLA struct {
	Base
	MLAQuery
}

// MS implements Op.
func (o GenerationMLA) MS(db *DB, sh Shape) (float64, error) {
	return o.times(db.GenerationMLA(&o.MLAQuery, sh.Batch, sh.S))
}

// Needs implements Op.
func (o GenerationMLA) Needs() Needs {
	if o.Module {
		return NeedGenerationModule
	}
	return NeedGenerationMLA
}

// BMM is one absorbed projection of latent decode attention.
type BMM struct {
	Base
	BMMQuery
}

// MS implements Op.
func (o BMM) MS(db *DB, sh Shape) (float64, error) { return o.times(db.BMM(&o.BMMQuery, sh.Tokens)) }

// Needs implements Op.
func (BMM) Needs() Needs { return NeedBMM }
