package fault

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Header is the request header that carries a plan.
const Header = "X-Sim-Fault"

// Kind is a way to break an answer.
type Kind string

// The kinds.
const (
	// Status answers with an error instead; Hang waits before the answer, for ever when its duration is 0.
	Status Kind = "status"
	Hang   Kind = "hang"
	// Stall pauses once; Drip sends a few bytes at a time.
	Stall Kind = "stall"
	Drip  Kind = "drip"
	// ErrorEvent ends a stream with an error event; where there is no stream the whole answer is that error, with 500.
	ErrorEvent Kind = "error"
	// Truncate sends part of an event, or of a body, and closes; Malformed breaks the JSON of one event or body.
	Truncate  Kind = "truncate"
	Malformed Kind = "malformed"
	// NoDone leaves [DONE] out, DoubleDone sends it twice. They mean nothing where there is no stream (Plan.StreamOnly).
	NoDone     Kind = "no-done"
	DoubleDone Kind = "double-done"
	// Reset sends a TCP reset (a stream reset in HTTP/2), Close ends the connection early without the last chunk.
	Reset Kind = "reset"
	Close Kind = "close"
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{
		Status, Hang, Stall, Drip, ErrorEvent, Truncate, Malformed, NoDone, DoubleDone, Reset, Close,
	}
}

// Fault is one thing that goes wrong. Which fields a kind reads is said in the package doc.
type Fault struct {
	Kind Kind
	// At is the number of events (bytes, outside streams) that pass before it; Unset is the kind's own beginning.
	At int
	// For is how long Hang, Stall and one step of Drip wait.
	For time.Duration
	// Bytes per step of Drip, or of the event (the body) that Truncate lets through behind At (0: half of it).
	Bytes int
	// Failure is the answer of Status and ErrorEvent.
	Failure Failure
}

// Unset is the At of a fault that names no place.
const Unset = -1

// Failure describes an error answer. Empty members get what OpenAI sends with the status (spec openai-endpoint X2).
type Failure struct {
	Status                     int
	Message, Type, Code, Param string
	// RetryAfter is sent as Retry-After in seconds, rounded up, RetryAfterExact as retry-after-ms; 0 sends none.
	RetryAfter, RetryAfterExact time.Duration
	// ShouldRetry is sent as x-should-retry; nil sends none.
	ShouldRetry *bool
	// Of is requests or tokens: a 429 then carries x-ratelimit headers with Limit and nothing remaining.
	Of    string
	Limit int
}

// Plan is everything that goes wrong with one response, in order. Nil is no fault.
type Plan []Fault

// first returns the first fault of a kind.
func (p Plan) first(k Kind) (Fault, bool) {
	for _, f := range p {
		if f.Kind == k {
			return f, true
		}
	}
	return Fault{}, false
}

// StreamOnly returns the first fault that means nothing to an answer that is no stream.
func (p Plan) StreamOnly() (Fault, bool) {
	for _, f := range p {
		if f.Kind == NoDone || f.Kind == DoubleDone {
			return f, true
		}
	}
	return Fault{}, false
}

// slow reports whether the plan waits in the middle of an answer.
func (p Plan) slow() bool {
	_, stall := p.first(Stall)
	_, drip := p.first(Drip)
	return stall || drip
}

// inBody reports whether anything happens to the bytes of an answer.
func (p Plan) inBody() bool {
	for _, f := range p {
		if f.Kind != Hang && f.Kind != Status {
			return true
		}
	}
	return false
}

// String is the plan in the grammar that Parse reads.
func (p Plan) String() string {
	parts := make([]string, len(p))
	for i, f := range p {
		parts[i] = f.String()
	}
	return strings.Join(parts, ", ")
}

// String is the fault in the grammar that Parse reads.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(string(f.Kind))
	switch f.Kind {
	case Status:
		fmt.Fprintf(&b, "=%d", f.Failure.Status)
	case Hang, Stall, Drip:
		if f.For > 0 {
			fmt.Fprintf(&b, "=%v", f.For)
		}
	default:
	}
	add := func(name, value string) {
		if value == "" {
			return
		}
		if strings.ContainsAny(value, `,;" \`) || strings.TrimSpace(value) != value {
			value = quote(value)
		}
		b.WriteString(";" + name + "=" + value)
	}
	number := func(name string, n, none int) {
		if n != none {
			add(name, strconv.Itoa(n))
		}
	}
	duration := func(name string, d time.Duration) {
		if d > 0 {
			add(name, d.String())
		}
	}
	number("at", f.At, Unset)
	number("bytes", f.Bytes, 0)
	e := f.Failure
	duration("retry-after", e.RetryAfter)
	duration("retry-after-ms", e.RetryAfterExact)
	if e.ShouldRetry != nil {
		add("should-retry", strconv.FormatBool(*e.ShouldRetry))
	}
	add("of", e.Of)
	number("limit", e.Limit, 0)
	add("type", e.Type)
	add("code", e.Code)
	add("param", e.Param)
	add("message", e.Message)
	return b.String()
}

// quote puts a value into double quotes with backslashes before quotes and backslashes.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// MarshalText writes the grammar, so that plans stand in configs and JSON as strings.
func (p Plan) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the grammar.
func (p *Plan) UnmarshalText(text []byte) error {
	q, err := Parse(string(text))
	if err != nil {
		return err
	}
	*p = q
	return nil
}
