package openai

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fakellm/openai/reply"
	"fakellm/openai/reply/script"
)

// given is an answer whose words are known: of a mapping, of a tape, or of the request itself.
type given interface {
	// Outcome is what answer number sample says.
	Outcome(sample int) (script.Outcome, error)
	// Mapping names who answers, for the journal and for errors.
	Mapping() string
}

// taped is an answer of a tape; first is the number on it of the first choice of a prompt.
type taped struct {
	script.Played
	first int
}

// Outcome cannot fail.
func (t taped) Outcome(sample int) (script.Outcome, error) {
	return t.Played.Outcome(t.first + sample), nil
}

// ofPrompt is what is said to prompt number index of a legacy request. A tape has all choices in one row (spec
// openai-endpoint L4) and none of those that best_of kept back; other answers know no prompts.
func (r *CompletionRequest) ofPrompt(index, sample int) (said given, number int) {
	t, ok := r.scripted.(taped)
	if !ok {
		return r.scripted, sample
	}
	t.first = index * r.N
	return t, sample % r.N
}

// Mapping is "tape:" and the key of the request.
func (t taped) Mapping() string { return "tape:" + t.Recording().Key }

// Script holds the book of scripted replies in force and the state of its sequences and scenarios. It is safe for
// concurrent use; replacing the book keeps the state.
type Script struct {
	book atomic.Pointer[script.Book]
	tape atomic.Pointer[script.Tape]
	mu   sync.Mutex
	// state is guarded by mu.
	state *script.State
}

// NewScript starts with a book; nil for an empty one. Weighted choices follow seed.
func NewScript(book *script.Book, seed uint64) *Script {
	s := &Script{state: script.NewState(seed, script.Limits{})}
	if book == nil {
		book = new(script.Book)
	}
	s.book.Store(book)
	return s
}

// Book returns the book in force.
func (s *Script) Book() *script.Book { return s.book.Load() }

// Replace puts another book in force.
func (s *Script) Replace(b *script.Book) { s.book.Store(b) }

// Play answers what no mapping matches from a tape, nil for none. A tape keeps its place per session.
func (s *Script) Play(t *script.Tape) { s.tape.Store(t) }

// Edit replaces the book by what change makes of it, one edit at a time; on an error it stays.
func (s *Script) Edit(change func(*script.Book) (*script.Book, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := change(s.book.Load())
	if err != nil {
		return err
	}
	s.book.Store(b)
	return nil
}

// ResetState starts every sequence and scenario again.
func (s *Script) ResetState() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Reset()
}

// State runs f with the state, which must not be kept.
func (s *Script) State(f func(*script.State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.state)
}

// mostNear is how many near misses are noted of a request that nothing matched.
const mostNear = 3

// match finds the answer of a request and advances the state; without one it says which mappings came closest.
func (s *Script) match(q *script.Request) (said given, near []string) {
	book, tape := s.book.Load(), s.tape.Load()
	if book.Len() == 0 && tape == nil {
		return nil, nil
	}
	found := book.Candidates(q)
	s.mu.Lock()
	defer s.mu.Unlock()
	if picked, ok := found.Pick(s.state); ok {
		return &picked, nil
	}
	if tape != nil {
		if played, ok := tape.Play(s.state, q); ok {
			return taped{Played: played}, nil
		}
	}
	for _, m := range book.NearMisses(s.state, q, mostNear) {
		near = append(near, m.Mapping+": "+strings.Join(m.Failed, "; "))
	}
	return nil, near
}

// scriptRequest is a chat request as mappings see it.
func (r *ChatRequest) scriptRequest(h http.Header, body []byte) *script.Request {
	q := &script.Request{Route: "chat", Model: r.Model, Header: h, Body: body, Session: r.SessionKey}
	for i := range r.Messages {
		m := &r.Messages[i]
		out := script.Message{Role: m.Role, Text: m.text(), CallID: m.CallID}
		for _, c := range m.Calls {
			out.Calls = append(out.Calls, script.Call(c))
		}
		q.Messages = append(q.Messages, out)
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, t.Name)
	}
	return q
}

// scriptRequest is a legacy request as mappings see it: its prompts are user messages.
func (r *CompletionRequest) scriptRequest(h http.Header, body []byte) *script.Request {
	q := &script.Request{Route: "completions", Model: r.Model, Header: h, Body: body, Session: r.SessionKey}
	for _, p := range r.Prompts {
		q.Messages = append(q.Messages, script.Message{Role: "user", Text: p.Text})
	}
	return q
}

// outcome is what a selection says to answer number sample; errors are answers.
func outcome(said given, sample int) (script.Outcome, error) {
	o, err := said.Outcome(sample)
	if err != nil {
		return o, &APIError{
			Status: http.StatusInternalServerError, Type: typeServer, Code: "script_error",
			Message: "mapping " + said.Mapping() + ": " + err.Error(),
		}
	}
	if e := o.Error; e != nil {
		kind := typeInvalid
		if e.Status >= http.StatusInternalServerError {
			kind = typeServer
		}
		return o, &APIError{
			Status: e.Status, Message: orDefault(e.Message, http.StatusText(e.Status)), Type: orDefault(e.Type, kind),
			Param: e.Param, Code: e.Code, RetryAfter: time.Duration(e.RetryAfterMs) * time.Millisecond,
		}
	}
	return o, nil
}

// scripted plans an answer whose words are given: number sample of what is said.
func (p *ReplyPlanner) scripted(v *reply.Planner, req *reply.Request, s *Sampling, said given, sample int) (Choice, error) {
	o, err := outcome(said, sample)
	if err != nil {
		return Choice{}, err
	}
	var parts []reply.Part
	if o.Hidden > 0 {
		parts = append(parts, reply.Part{Kind: reply.Reasoning, Unknown: o.Hidden})
	}
	if o.Reasoning != "" {
		parts = append(parts, reply.Part{Kind: reply.Reasoning, Text: o.Reasoning})
	}
	switch {
	case o.Refusal != "":
		parts = append(parts, reply.Part{Kind: reply.Content, Text: o.Refusal})
	case o.Text != nil:
		parts = append(parts, reply.Part{Kind: reply.Content, Text: *o.Text})
	}
	for _, c := range o.Calls {
		parts = append(parts, reply.Part{Kind: reply.ToolCall, Text: c.Arguments, ID: c.ID, Name: c.Name})
	}
	c := choiceOf(v.Say(req, parts...))
	c.fault, c.timing = o.Fault, o.Timing
	if o.Hidden > 0 && len(c.Segments) > 0 {
		c.Segments[0].Kind = Silent
	}
	if o.Refusal != "" {
		for i := range c.Segments {
			if c.Segments[i].Kind == Content {
				c.Segments[i].Kind = Refusal
			}
		}
		if c.Segments == nil {
			c.Segments = []Segment{{Kind: Refusal, Positions: len(c.Ends)}}
		}
	}
	if o.FinishReason != "" && (o.FinishReason != reply.FinishStop || c.FinishReason != reply.FinishLength) {
		c.FinishReason = o.FinishReason
	}
	if s.Logprobs {
		c.Probs = s.probs(v, req, c.Output, false)
	}
	s.Wishes.heed(&c, len(o.Calls) > 0)
	return c, nil
}
