package workload

import (
	"fmt"
	"math"

	"fakellm/engine"
	"fakellm/engine/kv"
)

// Turn is one request of a session.
type Turn struct {
	// Prompt is the length of the prompt, Output the number of tokens asked for, in tokens.
	Prompt, Output int
	// Content identifies the blocks of the prompt; nil for a prompt that shares nothing.
	Content kv.Content
	// Delay is the time from the end of the turn before to the arrival of this one, in ms. The first turn has none.
	Delay float64
}

// Session is a row of turns, each released when the one before it has ended.
type Session struct {
	// Name is reported if the load is Named.
	Name string
	// Start is the arrival of the first turn in ms, on any origin; NaN if the source gave none.
	Start float64
	// First and Count say which of Load.Turns are its own.
	First, Count int32
	// Line is where it begins in the source, from 1; 0 if that was no file.
	Line int
}

// Load is everything that is to be asked.
type Load struct {
	// Source names where the load came from, for errors.
	Source   string
	Sessions []Session
	Turns    []Turn
	// Named says that reports show session names and turn indices. Some session having two turns implies it.
	Named bool
	// File says that a closed loop shows them too.
	File bool
	// Grows says that a turn is only the new input: its prompt is everything said before in the session, the tokens really
	// generated included, and this. Every Content must be a *Prompt then.
	Grows bool
}

// Turn returns the t-th turn of the s-th session.
func (l *Load) Turn(s, t int32) *Turn { return &l.Turns[l.Sessions[s].First+t] }

// Error is a problem of a load, with its place.
type Error struct {
	Source string
	// Line counts from 1; 0 if the load is no file.
	Line int
	// Field is the name in the source's own spelling; empty if the line as a whole is wrong.
	Field, Problem string
}

// Error returns "source:line: field: problem".
func (e *Error) Error() string {
	out := e.Source
	if e.Line > 0 {
		out = fmt.Sprintf("%s:%d", e.Source, e.Line)
	}
	if e.Field != "" {
		out += ": " + e.Field
	}
	return out + ": " + e.Problem
}

// farthest is where the timeline ends for arrivals, in ns (127 years): what lies beyond comes then.
const farthest = 4e18

// Instant converts milliseconds to the timeline of whole nanoseconds. What lies on the grid, up to the error of the
// float, stays there; anything else is rounded up, since an arrival a fraction of a nanosecond after a pass end has
// missed it.
func Instant(ms float64) engine.Time {
	ns := min(max(ms*1e6, -farthest), farthest)
	near := math.Round(ns)
	if math.Abs(ns-near) <= max(1e-3, 4*math.Abs(ns)*0x1p-52) {
		return engine.Time(near)
	}
	return engine.Time(math.Ceil(ns))
}
