package timing

import "fakellm/engine"

// Source prices the halves of a pass in raw milliseconds, before rounding and scaling. Answers must be finite and not
// negative, and the same shape must always get the same answer. A Source is never asked for an empty batch or for a
// prefill without new tokens: [New] answers those with zero.
type Source interface {
	// PrefillMS returns the time of the prefill half in milliseconds.
	PrefillMS(engine.PrefillBatch) (float64, error)
	// DecodeMS returns the time of the decode half in milliseconds.
	DecodeMS(engine.DecodeBatch) (float64, error)
}

// Coverage is a Source that knows the region its data cover. Shapes outside are still priced, by extrapolation.
type Coverage interface {
	// CoversPrefill reports whether the shape lies inside the measured region.
	CoversPrefill(engine.PrefillBatch) bool
	// CoversDecode is CoversPrefill for the decode half.
	CoversDecode(engine.DecodeBatch) bool
}

// Keyed is a Source whose answers are worth remembering. The keys strip a shape of what the answer does not depend on,
// so that more shapes share one remembered answer; returning the shape itself is fine.
type Keyed interface {
	// PrefillKey returns the part of the shape that decides the answer.
	PrefillKey(engine.PrefillBatch) engine.PrefillBatch
	// DecodeKey is PrefillKey for the decode half.
	DecodeKey(engine.DecodeBatch) engine.DecodeBatch
}

// RowSource is a Source that prices steady decode by the row: passes one after the other in which every request gains
// one token. It saves what consecutive passes have in common.
type RowSource interface {
	// DecodeRowMS fills out with the milliseconds that DecodeMS gives for b and the passes after it: ActiveKV grows by
	// Requests, MeanContext by one. It returns how many of them lie outside the measured region, 0 without [Coverage].
	DecodeRowMS(out []float64, b engine.DecodeBatch) (outside int, err error)
}

// Extrapolator is a step model that counts how often it was asked for a shape outside the data of its Source. Every
// model of [New] is one; the count stays zero for a Source without [Coverage].
type Extrapolator interface {
	// Extrapolations returns the number of such questions so far. An engine that plans passes ahead may ask more often
	// than it runs passes; whoever needs the exact figure asks Coverage about the passes that ran.
	Extrapolations() uint64
}
