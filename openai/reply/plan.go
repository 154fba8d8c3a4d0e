package reply

import (
	"errors"
	"fmt"

	"fakellm/internal/rng"
	"fakellm/openai/reply/schema"
	"fakellm/tokenize"
)

// Reasons for which an answer ends.
const (
	FinishStop      = "stop"
	FinishLength    = "length"
	FinishToolCalls = "tool_calls"
)

// Plan is one answer. It is a sequence of tokens; Text[:Ends[i]] has been said when token i is due.
type Plan struct {
	// IDs are the tokens, reasoning and tool calls included.
	IDs []uint32
	// Text is everything that is said, segment after segment. Ends has one entry per token, never decreasing, never
	// inside a code point. A token whose end equals the one before says nothing: half a character, part of a stop
	// string, the head of a tool call.
	Text string
	Ends []uint32
	// Segments cut the tokens by kind; nil means that all are content.
	Segments []Segment
	// FinishReason is stop, length or tool_calls.
	FinishReason string
	// StopString is the stop string that ended the answer, or empty.
	StopString string
	// Reasoning is the number of tokens in segments of kind Reasoning; Accepted that of tokens that the client's
	// prediction held.
	Reasoning, Accepted int
}

// Piece returns what token i adds to the text, possibly nothing.
func (p *Plan) Piece(i int) string {
	if i == 0 {
		return p.Text[:p.Ends[0]]
	}
	return p.Text[p.Ends[i-1]:p.Ends[i]]
}

// Segment is a run of tokens of one kind.
type Segment struct {
	Kind Kind
	// Tokens is its length.
	Tokens int
	// ID and Name belong to a tool call, whose text is its arguments.
	ID, Name string
}

// Kind says what a segment's text is.
type Kind uint8

// The kinds of segment.
const (
	Content Kind = iota
	Reasoning
	ToolCall
	Refusal
)

// Limits bound the length of an answer, in tokens.
type Limits struct {
	// Max is the client's explicit limit (max_completion_tokens or max_tokens), meant if HasMax: 0 is then no token.
	Max    int
	HasMax bool
	// Min tokens must be made before anything but a limit ends the answer (min_tokens). IgnoreEOS goes on to the limit.
	Min       int
	IgnoreEOS bool
	// Room is what the context has left after the prompt. It must be set: 0 is no room.
	Room int
}

// limit returns the most tokens the answer may have.
func (l Limits) limit() int {
	n := max(l.Room, 0)
	if l.HasMax {
		n = min(n, max(l.Max, 0))
	}
	return n
}

// resolve turns the length an answer would have by itself into the length it was planned for and the length it gets.
func (l Limits) resolve(natural int) (planned, n int, finish string) {
	limit := l.limit()
	if l.IgnoreEOS {
		return limit, limit, FinishLength
	}
	planned = max(natural, l.Min)
	if planned > limit {
		return planned, limit, FinishLength
	}
	return planned, planned, FinishStop
}

// Request is what an answer depends on.
type Request struct {
	// Prompt are the ids of the prompt; they seed the answer.
	Prompt []uint32
	// Seed is the client's, 0 if it set none. Sample counts the answers to one request from 0 (n).
	Seed   int64
	Sample int
	Limits Limits
	// Stop strings end the content before their first occurrence; KeepStop leaves them in.
	Stop     []string
	KeepStop bool
	// User is the last user message, which the echo mode repeats.
	User string

	// The rest is for Answer; Plan does not look at it.

	// Tools on offer, and which of them may or must be called.
	Tools  []Tool
	Choice ToolChoice
	// Parallel allows more than one call in an answer.
	Parallel bool
	// ToolRounds is how many rounds of tool results the conversation ends with.
	ToolRounds int
	// Format is the form that an answer in text must have.
	Format Format
	// Effort is how much to think first: none, minimal, low, medium, high, xhigh or max. Empty is none.
	Effort string
	// Prediction is the text that the client expects; it becomes the answer.
	Prediction string
	// Compile, if set, replaces schema.Compile, for callers that keep compiled schemas.
	Compile func(raw []byte) (*schema.Schema, error)
}

// Planner plans answers in one encoding. It never changes and is safe for concurrent use.
type Planner struct {
	enc    *tokenize.Encoding
	filler *Filler
	cfg    Config
}

// New returns a Planner for an encoding. The error joins every problem of the config.
func New(e *tokenize.Encoding, c Config) (*Planner, error) {
	if errs := c.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("reply: %w", errors.Join(errs...))
	}
	f, err := NewFiller(e)
	if err != nil {
		return nil, err
	}
	return &Planner{enc: e, filler: f, cfg: c}, nil
}

// Encoding is the encoding that the planner was made for.
func (p *Planner) Encoding() *tokenize.Encoding { return p.enc }

// Plan plans one answer: text, cut by stop strings and limits. An explicit limit, or the room, below the planned length
// ends it with "length", anything else with "stop". In filler mode every prefix of the answer encodes to its ids, so
// that the answer, sent back in the next turn, continues the prompt exactly; so it does in echo mode, where a message
// cut in a place where that fails is filled up with filler. O(len(Prompt) + tokens), five allocations for filler.
func (p *Planner) Plan(r *Request) *Plan {
	seed := p.seed(r)
	var t text
	finish := p.say(&t, r, seed, r.Limits)
	plan := &Plan{IDs: t.ids, Text: string(t.text), Ends: t.ends, FinishReason: finish}
	plan.applyStop(r, 0, len(t.ids))
	return plan
}

// say appends the content of an answer and returns why it ends.
func (p *Planner) say(t *text, r *Request, seed uint64, l Limits) string {
	if p.cfg.Mode == ModeEcho && r.User != "" {
		return p.echo(t, r.User, seed, l)
	}
	natural := p.cfg.Length.draw(seed, len(r.Prompt))
	planned, n, finish := l.resolve(natural)
	t.grow(n)
	p.filler.write(t, seed, planned, n)
	return finish
}

// seed mixes what distinguishes answers: the server's seed, the client's, the prompt, the number of the answer.
func (p *Planner) seed(r *Request) uint64 {
	h := rng.Mix(p.cfg.Seed+0x9e3779b97f4a7c15) ^ rng.Mix(uint64(r.Seed)) + uint64(r.Sample)
	for _, id := range r.Prompt {
		h = (h ^ uint64(id)) * 0xd6e8feb86659fd93
		h ^= h >> 32
	}
	return rng.Mix(h)
}
