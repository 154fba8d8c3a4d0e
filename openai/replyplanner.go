package openai

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fakellm/openai/reply"
	"fakellm/tokenize"
)

// PlannerOptions configures a ReplyPlanner.
type PlannerOptions struct {
	// Tokenizer is one of tokenize.Names; empty chooses by the model's name as OpenAI does.
	Tokenizer string
	// Reply says how answers are made.
	Reply reply.Config
}

// Validate returns every problem, each with its field and value.
func (o PlannerOptions) Validate() []error {
	errs := o.Reply.Validate()
	if o.Tokenizer != "" && !slices.Contains(tokenize.Names(), o.Tokenizer) {
		errs = append(errs, fmt.Errorf("tokenizer %q: want one of %s", o.Tokenizer, strings.Join(tokenize.Names(), ", ")))
	}
	return errs
}

// ReplyPlanner is the Planner that the product uses: package tokenize counts, package reply answers. It never changes
// after its first use of an encoding and is safe for concurrent use.
type ReplyPlanner struct {
	opts   PlannerOptions
	voices map[string]func() (*reply.Planner, error)
}

// NewPlanner returns a ReplyPlanner. Encodings are loaded when they are first needed, or by Load.
func NewPlanner(o PlannerOptions) (*ReplyPlanner, error) {
	if errs := o.Validate(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p := &ReplyPlanner{opts: o, voices: map[string]func() (*reply.Planner, error){}}
	for _, name := range tokenize.Names() {
		p.voices[name] = sync.OnceValues(func() (*reply.Planner, error) {
			enc, err := tokenize.Get(name)
			if err != nil {
				return nil, err
			}
			return reply.New(enc, o.Reply)
		})
	}
	return p, nil
}

// Load loads the encoding of a model ahead of its first request: some milliseconds.
func (p *ReplyPlanner) Load(model string) error {
	_, err := p.voice(model)
	return err
}

// voice is the planner for the encoding of a model.
func (p *ReplyPlanner) voice(model string) (*reply.Planner, error) {
	name := orDefault(p.opts.Tokenizer, tokenize.ForModel(model))
	v, err := p.voices[name]()
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", name, err)
	}
	return v, nil
}

// ChatPrompt renders the conversation by the template of package tokenize.
func (p *ReplyPlanner) ChatPrompt(r *ChatRequest) (Prompt, error) {
	v, err := p.voice(r.Model)
	if err != nil {
		return Prompt{}, err
	}
	ids := v.Encoding().AppendChat(make([]uint32, 0, chatSize(r)), chatTemplate(r))
	return Prompt{IDs: ids, Tokens: len(ids)}, nil
}

// chatSize guesses the number of tokens, so that one allocation is enough for ordinary text.
func chatSize(r *ChatRequest) int {
	n := 16
	for i := range r.Messages {
		n += 8
		for _, part := range r.Messages[i].Parts {
			n += len(part.Text) / 3
		}
	}
	return n
}

// ChatChoice plans one answer.
func (p *ReplyPlanner) ChatChoice(r *ChatRequest, prompt Prompt, sample, room int) (Choice, error) {
	v, err := p.voice(r.Model)
	if err != nil {
		return Choice{}, err
	}
	req := request(&r.Sampling, prompt, sample, room)
	req.User = lastUser(r.Messages)
	return choice(v.Plan(&req)), nil
}

// CompletionPrompts encodes every prompt of a legacy request.
func (p *ReplyPlanner) CompletionPrompts(r *CompletionRequest) ([]Prompt, error) {
	v, err := p.voice(r.Model)
	if err != nil {
		return nil, err
	}
	out := make([]Prompt, len(r.Prompts))
	for i, in := range r.Prompts {
		ids := in.IDs
		if ids == nil {
			ids = v.Encoding().AppendEncode(make([]uint32, 0, len(in.Text)/3+1), in.Text)
		}
		out[i] = Prompt{IDs: ids, Tokens: len(ids)}
	}
	return out, nil
}

// CompletionChoice plans one answer, behind the prompt itself if it is to be echoed.
func (p *ReplyPlanner) CompletionChoice(r *CompletionRequest, prompt Prompt, index, sample, room int) (Choice, error) {
	v, err := p.voice(r.Model)
	if err != nil {
		return Choice{}, err
	}
	req := request(&r.Sampling, prompt, sample, room)
	req.User = r.Prompts[index].Text
	c := choice(v.Plan(&req))
	if r.Echo {
		echo(&c, v.Encoding(), prompt.IDs)
	}
	return c, nil
}

// echo puts the prompt in front of an answer, as positions that cost no time.
func echo(c *Choice, enc *tokenize.Encoding, ids []uint32) {
	text, ends := enc.AppendPieces(nil, make([]uint32, 0, len(ids)+len(c.Ends)), ids)
	for _, e := range c.Ends {
		ends = append(ends, e+uint32(len(text)))
	}
	c.Text, c.Ends, c.Free = string(text)+c.Text, ends, len(ids)
}

// request is what package reply needs to know of a request.
func request(s *Sampling, prompt Prompt, sample, room int) reply.Request {
	r := reply.Request{
		Prompt: prompt.IDs, Sample: sample, Stop: s.Stop, KeepStop: s.KeepStop,
		Limits: reply.Limits{Min: s.MinTokens, IgnoreEOS: s.IgnoreEOS, Room: room},
	}
	if s.MaxTokens != nil {
		r.Limits.Max, r.Limits.HasMax = *s.MaxTokens, true
	}
	if s.Seed != nil {
		r.Seed = *s.Seed
	}
	return r
}

// choice is a plan in the face's words.
func choice(p *reply.Plan) Choice {
	c := Choice{
		Output: p.IDs, Tokens: len(p.IDs), Text: p.Text, Ends: p.Ends, FinishReason: p.FinishReason,
		StopReason: p.StopString, Reasoning: p.Reasoning,
	}
	for _, s := range p.Segments {
		seg := Segment{Positions: s.Tokens, ID: s.ID, Name: s.Name}
		switch s.Kind {
		case reply.Reasoning:
			seg.Kind = Reasoning
		case reply.ToolCall:
			seg.Kind = ToolCall
		default:
			seg.Kind = Content
		}
		c.Segments = append(c.Segments, seg)
	}
	return c
}

// lastUser is the text of the last user message.
func lastUser(msgs []Message) string {
	for _, m := range slices.Backward(msgs) {
		if m.Role == "user" {
			return m.text()
		}
	}
	return ""
}

// text joins the text parts of a message.
func (m *Message) text() string {
	if len(m.Parts) == 1 {
		return m.Parts[0].Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
