package engine

import "time"

// PrefillBatch is the shape of the prefill half of a pass: what a timing model may know of it.
type PrefillBatch struct {
	// Requests is the number of requests with prompt tokens in this pass; 0 means that there is no prefill.
	Requests int
	// MeanISL is floor(sum(prefix+chunk)/Requests), MeanPrefix floor(sum(prefix)/Requests), in tokens.
	MeanISL, MeanPrefix int
}

// New returns the mean number of new tokens per request, never negative.
func (b PrefillBatch) New() int { return max(0, b.MeanISL-b.MeanPrefix) }

// DecodeBatch is the shape of the decode half of a pass.
type DecodeBatch struct {
	// Requests is the number of charged decoders; 0 means that there is no decode.
	Requests int
	// ActiveKV is the sum of their lengths, MeanContext its integer mean, TotalKV the pool, all in tokens.
	ActiveKV, MeanContext, TotalKV int
}

// StepModel says how long the halves of a pass take, already scaled by the speed-up and rounded to nanoseconds. The
// same shape must always give the same duration. An error (a shape outside a table, say) fails the pass and with it
// the run.
//
// Implementations live under timing; the engine knows only this.
type StepModel interface {
	// Prefill is not asked for an empty batch or one without new tokens: those take no time.
	Prefill(PrefillBatch) (time.Duration, error)
	// Decode is not asked for an empty batch.
	Decode(DecodeBatch) (time.Duration, error)
}

// PrefillShape is one request's part of a prefill batch.
type PrefillShape struct{ New, Prefix int }

// PrefillChecker is a StepModel that can refuse a prefill batch by its parts; only the SGLang core asks it.
type PrefillChecker interface {
	CheckPrefill([]PrefillShape) error
}

// RowModel is a StepModel that can price a row of steady decode in one call. The answers are those of Decode.
type RowModel interface {
	// DecodeRow appends the ends of up to n passes that follow each other from now on, the first of shape b, each later
	// one with b.Requests more active tokens. It stops before a pass that takes no time, and at an error.
	DecodeRow(now Time, ends []Time, b DecodeBatch, n int) ([]Time, error)
}
