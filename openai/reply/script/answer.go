package script

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxChoices and MaxCalls bound what is accepted from a recorded answer (spec openai-endpoint R3, S14).
const (
	MaxChoices = 128
	MaxCalls   = 128
)

// wireAnswer is a response or a chunk of chat or text completion, as far as a tape needs it. Unknown members are
// ignored: they belong to a real service.
type wireAnswer struct {
	Model   string          `json:"model"`
	Choices []wireChoice    `json:"choices"`
	Usage   *wireUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type wireUsage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// Reasoning is where SGLang says it.
	Reasoning int `json:"reasoning_tokens"`
}

type wireChoice struct {
	Index        int          `json:"index"`
	Message      *wireMessage `json:"message"`
	Delta        *wireMessage `json:"delta"`
	Text         *string      `json:"text"`
	FinishReason *string      `json:"finish_reason"`
}

type wireMessage struct {
	Content          *string `json:"content"`
	Refusal          *string `json:"refusal"`
	Reasoning        *string `json:"reasoning"`
	ReasoningContent *string `json:"reasoning_content"`
	// Audio of a spoken answer: its words are kept, its sound is not.
	Audio *struct {
		Transcript string `json:"transcript"`
	} `json:"audio"`
	ToolCalls []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Listen fills the answers of a recording in from what a real endpoint sent: a JSON body, the whole text of an event
// stream, or an error body. It is lenient about unknown members and strict about shape. O(len(body)).
func (r *Recording) Listen(status int, stream bool, body []byte) error {
	r.Status = status
	if status >= 400 {
		r.Error = failureOf(status, body)
		return nil
	}
	if !stream {
		var w wireAnswer
		if err := json.Unmarshal(body, &w); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		return r.hear(&w)
	}
	events := int64(0)
	for n := 1; len(body) > 0; n++ {
		var event []byte
		event, body, _ = bytes.Cut(body, []byte("\n\n"))
		data, ok := bytes.CutPrefix(bytes.TrimLeft(event, "\r\n"), []byte("data:"))
		if !ok {
			continue
		}
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			break
		}
		events++
		var w wireAnswer
		if err := json.Unmarshal(data, &w); err != nil {
			return fmt.Errorf("event %d: %w", n, err)
		}
		if err := r.hear(&w); err != nil {
			return fmt.Errorf("event %d: %w", n, err)
		}
		if w.speaks() {
			r.Spoke = append(r.Spoke, events)
		}
	}
	if len(r.Answers) == 0 {
		return fmt.Errorf("answer: the stream holds no choice")
	}
	return nil
}

// hear adds one response or chunk.
func (r *Recording) hear(w *wireAnswer) error {
	if len(w.Error) > 0 && string(w.Error) != "null" {
		return fmt.Errorf("the answer broke off with error %s", clip(string(w.Error)))
	}
	if r.Model == "" {
		r.Model = w.Model
	}
	if u := w.Usage; u != nil {
		r.PromptTokens, r.CachedTokens = u.Prompt, u.PromptDetails.Cached
		r.CompletionTokens, r.ReasoningTokens = u.Completion, max(u.CompletionDetails.Reasoning, u.Reasoning)
	}
	for i := range w.Choices {
		c := &w.Choices[i]
		if c.Index < 0 || c.Index >= MaxChoices {
			return fmt.Errorf("choice index %d is not from 0 to %d", c.Index, MaxChoices-1)
		}
		for len(r.Answers) <= c.Index {
			r.Answers = append(r.Answers, RecordedAnswer{})
		}
		if err := r.Answers[c.Index].hear(c); err != nil {
			return err
		}
	}
	return nil
}

// speaks says whether the first choice says something in a chunk: words, or a part of a tool call.
func (w *wireAnswer) speaks() bool {
	has := func(s *string) bool { return s != nil && *s != "" }
	for i := range w.Choices {
		c := &w.Choices[i]
		if c.Index != 0 {
			continue
		}
		if has(c.Text) {
			return true
		}
		if m := c.Delta; m != nil {
			return has(m.Content) || has(m.Refusal) || has(m.Reasoning) || has(m.ReasoningContent) ||
				m.Audio != nil && m.Audio.Transcript != "" || len(m.ToolCalls) > 0
		}
	}
	return false
}

// Hidden is how many tokens choice number at, from 0, thought unseen: usage counts them for all choices together, so
// each has the same share. Thinking that is shown is counted by its words.
func (r *Recording) Hidden(at int) int {
	for i := range r.Answers {
		if r.Answers[i].Reasoning != "" {
			return 0
		}
	}
	n, all := len(r.Answers), min(max(r.ReasoningTokens, 0), maxReasoning)
	return all*(at+1)/n - all*at/n
}

func (a *RecordedAnswer) hear(c *wireChoice) error {
	say := func(s string) {
		if a.Text == nil {
			a.Text = new(string)
		}
		*a.Text += s
	}
	if c.Text != nil {
		say(*c.Text)
	}
	if c.FinishReason != nil {
		a.FinishReason = *c.FinishReason
	}
	m := c.Message
	if m == nil {
		m = c.Delta
	}
	if m == nil {
		return nil
	}
	// An opening chunk says "" although a tool call may follow.
	if m.Content != nil && (*m.Content != "" || c.Message != nil) {
		say(*m.Content)
	}
	if m.Audio != nil && (m.Audio.Transcript != "" || c.Message != nil) {
		say(m.Audio.Transcript)
	}
	if m.Refusal != nil {
		a.Refusal += *m.Refusal
	}
	if m.Reasoning != nil {
		a.Reasoning += *m.Reasoning
	} else if m.ReasoningContent != nil {
		a.Reasoning += *m.ReasoningContent
	}
	for i := range m.ToolCalls {
		t := &m.ToolCalls[i]
		at := i
		if t.Index != nil {
			at = *t.Index
		}
		if at < 0 || at >= MaxCalls {
			return fmt.Errorf("tool call index %d is not from 0 to %d", at, MaxCalls-1)
		}
		for len(a.Calls) <= at {
			a.Calls = append(a.Calls, Call{})
		}
		k := &a.Calls[at]
		if t.ID != "" {
			k.ID = t.ID
		}
		k.Name += t.Function.Name
		k.Arguments += t.Function.Arguments
	}
	return nil
}

// failureOf reads an error body in any of the known shapes.
func failureOf(status int, body []byte) *Failure {
	f := &Failure{Status: status}
	type flat struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   any    `json:"param"`
		Code    any    `json:"code"`
	}
	var w struct {
		flat
		Error flat `json:"error"`
	}
	if json.Unmarshal(body, &w) != nil {
		f.Message = clip(string(body))
		return f
	}
	e := w.Error
	if e.Message == "" {
		e = w.flat
	}
	f.Message, f.Type = e.Message, e.Type
	f.Param, _ = e.Param.(string)
	f.Code, _ = e.Code.(string)
	return f
}
