package report

import "math"

// Record is what happened to one request. Times are milliseconds on the run's timeline, NaN while there is none.
type Record struct {
	// ID orders the records of one arrival time.
	ID uint64
	// Session and Turn are reported if Named.
	Session string
	Turn    int
	Named   bool
	// Arrival is when the request was ready or released, unrounded.
	Arrival float64
	// FirstAdmit is the start of the pass that admitted it first; the tokens are stamped with the ends of theirs; Terminal
	// is the end, whatever it was.
	FirstAdmit, FirstToken, SecondToken, LastToken, Terminal float64
	// Status is "completed", "rejected", "failed" or "canceled". Why says more about the second and third; empty
	// otherwise.
	Status, Why string
	// Input is the prompt, Requested the output asked for, Output what was given, in tokens.
	Input, Requested, Output int
	// FirstReused and Reused are the prompt tokens taken from the cache at the first admission and at most at any.
	FirstReused, Reused int
	// Admissions counts admissions, Again holds those after the first.
	Admissions int
	Again      []Admission
	// Worker and Rank served it; -1 if none did. Scheduler is worker × ranks + rank.
	Worker, Rank, Scheduler int
}

// Admission is one entry into the running set.
type Admission struct {
	At     float64
	Reused int
}

// None is a time that there is not.
func None() float64 { return math.NaN() }

// Counts reports whether the request belongs to the population of all latency and token figures: admitted at least
// once and completed (spec simulation-harness §2.4).
func (r *Record) Counts() bool { return r.Status == "completed" && r.Admissions > 0 }

// TTFT returns the time to first token in ms, not below 0; ok is false without tokens.
func (r *Record) TTFT() (ms float64, ok bool) {
	return max(0, r.FirstToken-r.Arrival), r.Output >= 1
}

// TTST returns the time from first to second token in ms; ok is false with fewer than two.
func (r *Record) TTST() (ms float64, ok bool) {
	return r.SecondToken - r.FirstToken, r.Output >= 2
}

// TPOT returns the mean time per token after the first in ms; ok is false with fewer than two.
func (r *Record) TPOT() (ms float64, ok bool) {
	return (r.LastToken - r.FirstToken) / float64(r.Output-1), r.Output >= 2
}

// E2E returns the time from arrival to last token in ms; ok is false without tokens.
func (r *Record) E2E() (ms float64, ok bool) {
	return max(0, r.LastToken-r.Arrival), r.Output >= 1
}
