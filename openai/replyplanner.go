package openai

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	// Effort is the reasoning effort of requests that name none; empty is none.
	Effort string
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
	opts    PlannerOptions
	voices  map[string]func() (*reply.Planner, error)
	schemas schemaCache
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
	return Prompt{IDs: ids, Tokens: len(ids), Audio: audioTokens(r.Messages)}, nil
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
	p.extend(&req, r)
	if r.scripted != nil {
		return p.scripted(v, &req, &r.Sampling, r.scripted, sample)
	}
	plan, err := v.Answer(&req)
	if err != nil {
		return Choice{}, schemaRefusal(&r.Format, r.LegacyFunctions, err)
	}
	c := chatChoiceOf(plan, r)
	r.Wishes.heed(&c, req.Format.Kind != reply.FormatText)
	if r.Logprobs {
		c.Probs = r.probs(v, &req, plan.IDs, false)
	}
	return c, nil
}

// extend adds what only chat requests have.
func (p *ReplyPlanner) extend(req *reply.Request, r *ChatRequest) {
	req.User = lastUser(r.Messages)
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, reply.Tool{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters, Custom: t.Custom,
		})
	}
	req.Choice = reply.ToolChoice{Mode: r.ToolChoice.Mode, Name: r.ToolChoice.Name, Allowed: r.ToolChoice.Allowed}
	req.Parallel = r.ParallelTools && !r.LegacyFunctions
	req.ToolRounds = toolRounds(r.Messages)
	req.Format = r.Format.reply()
	req.Effort = orDefault(r.Effort, p.opts.Effort)
	req.Prediction = r.Prediction
	req.Compile = p.schemas.compile
}

// reply is a format in the words of package reply.
func (f *Format) reply() reply.Format {
	out := reply.Format{Kind: f.Kind, Schema: f.Schema}
	if out.Schema == nil && out.Kind == reply.FormatSchema {
		out.Kind = reply.FormatObject
	}
	return out
}

// toolRounds counts the rounds of calls and results with which a conversation ends.
func toolRounds(msgs []Message) int {
	rounds, results := 0, false
	for _, m := range slices.Backward(msgs) {
		switch {
		case m.Role == "tool" || m.Role == "function":
			results = true
		case m.Role == "assistant" && len(m.Calls) > 0 && results:
			rounds, results = rounds+1, false
		default:
			return rounds
		}
	}
	return rounds
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
	if r.scripted != nil {
		said, number := r.ofPrompt(index, sample)
		return p.scripted(v, &req, &r.Sampling, said, number)
	}
	req.User = r.Prompts[index].Text
	req.Format, req.Compile = r.Format.reply(), p.schemas.compile
	plan, err := v.Answer(&req)
	if err != nil {
		return Choice{}, schemaRefusal(&r.Format, false, err)
	}
	c := choiceOf(plan)
	c.Segments = nil // all is content, the echo too
	r.Wishes.heed(&c, r.Format.Kind != reply.FormatText)
	ids := plan.IDs
	if r.Echo {
		echo(&c, v.Encoding(), prompt.IDs)
		ids = slices.Concat(prompt.IDs, ids)
	}
	if r.Logprobs {
		c.Probs = r.probs(v, &req, ids, r.Echo)
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
	if n := s.Wishes.OutputTokens; n > 0 {
		if r.Limits.HasMax {
			n = min(n, r.Limits.Max)
		}
		r.Limits.Max, r.Limits.HasMax, r.Limits.IgnoreEOS = n, true, true
	}
	return r
}

// choiceOf is a plan in the face's words.
func choiceOf(p *reply.Plan) Choice {
	c := Choice{
		Output: p.IDs, Tokens: len(p.IDs), Text: p.Text, Ends: p.Ends, FinishReason: p.FinishReason,
		StopReason: p.StopString, Reasoning: p.Reasoning, Accepted: p.Accepted,
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

// chatChoiceOf also knows what the request makes of segments: custom tools, deprecated functions, hidden thinking.
func chatChoiceOf(p *reply.Plan, r *ChatRequest) Choice {
	c := choiceOf(p)
	for i := range c.Segments {
		seg := &c.Segments[i]
		switch {
		case seg.Kind == Reasoning && r.HideReasoning:
			seg.Kind = Silent
		case seg.Kind == ToolCall && r.LegacyFunctions:
			seg.Kind = FunctionCall
		case seg.Kind == ToolCall:
			seg.Custom = slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Custom && t.Name == seg.Name })
		}
	}
	if r.LegacyFunctions && c.FinishReason == reply.FinishToolCalls {
		c.FinishReason = "function_call"
	}
	return c
}

// probs shows the probabilities of package reply; the first token of an echoed prompt has none.
type probs struct {
	inner *reply.Probs
	echo  bool
	// named are tokens by their ids instead of their texts.
	named bool
}

// probs are those of an answer's tokens, an echoed prompt among them or not.
func (s *Sampling) probs(v *reply.Planner, req *reply.Request, ids []uint32, echo bool) Probs {
	return probs{v.Probs(req, ids, s.Temperature == 0), echo, s.NameTokens}
}

// At implements Probs.
func (p probs) At(position, k int) (TokenProb, []TokenProb, bool) {
	token, top := p.inner.At(position, k)
	out := make([]TokenProb, len(top))
	for i, t := range top {
		out[i] = p.show(t)
	}
	return p.show(token), out, position > 0 || !p.echo
}

func (p probs) show(t reply.TokenProb) TokenProb {
	if p.named {
		t.Token = "token_id:" + strconv.FormatUint(uint64(t.ID), 10)
	}
	return TokenProb{Token: t.Token, Logprob: t.Logprob}
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
