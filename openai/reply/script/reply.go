package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Outcome is one answer, ready to be said.
type Outcome struct {
	// Mapping and Name say who answers; Reply is the number of the answer in its mapping, from 0.
	Mapping, Name string
	Reply         int
	// Text is nil when there is none (tool calls alone, a refusal).
	Text *string
	// Calls have valid JSON objects as arguments; ids may be empty.
	Calls              []Call
	Reasoning, Refusal string
	// Hidden tokens of thinking come first, which take their time and are never shown: a tape knows their number only.
	Hidden int
	// FinishReason is empty when the natural one applies.
	FinishReason string
	Timing       *Timing
	// Fault is a plan in the grammar of package fault, or empty.
	Fault string
	// Error is the HTTP error to answer with; the rest is empty then.
	Error *Failure
}

// answer is a compiled Reply.
type answer struct {
	src                      Reply
	text, reasoning, refusal phrase
	hasText                  bool
	json                     document
	calls                    []call
	message                  phrase
	weight                   float64
}

type call struct {
	id, name phrase
	args     document
}

// document is JSON text in pieces: as written, or a template whose output is quoted, or one that is the whole text.
type document struct {
	pieces []piece
	given  bool
}

type piece struct {
	phrase
	quoted bool
}

// compile prepares an answer and returns every problem with its path.
func (r Reply) compile() (answer, []error) {
	a := answer{src: r, weight: 1, hasText: r.Text != nil}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	say := func(field, s string) phrase {
		p, err := compilePhrase(field, s, r.Raw)
		if err != nil {
			errs = append(errs, err)
		}
		return p
	}
	if r.Text != nil {
		a.text = say("text", *r.Text)
	}
	a.reasoning, a.refusal = say("reasoning", r.Reasoning), say("refusal", r.Refusal)
	if r.JSON != nil {
		var err error
		if a.json, err = compileDocument("json", *r.JSON, r.Raw); err != nil {
			errs = append(errs, err)
		}
	}
	for i, c := range r.ToolCalls {
		at := fmt.Sprintf("toolCalls[%d]", i)
		k := call{id: say(at+".id", c.ID), name: say(at+".name", c.Name)}
		if c.Name == "" {
			fail("%s.name: empty", at)
		}
		if c.Arguments != nil {
			var err error
			if k.args, err = compileArguments(at+".arguments", *c.Arguments, r.Raw); err != nil {
				errs = append(errs, err)
			}
		}
		a.calls = append(a.calls, k)
	}
	if r.Weight != nil {
		if a.weight = *r.Weight; a.weight < 0 || a.weight > 1e9 {
			fail("weight: %v is not from 0 to 1e9", a.weight)
		}
	}
	if r.Error != nil {
		a.message = say("error.message", r.Error.Message)
	}
	return a, append(errs, r.check()...)
}

// replyError is a problem of a reply as a whole, not of one of its members.
type replyError string

// Error is the problem.
func (e replyError) Error() string { return string(e) }

// check judges which members stand together.
func (r Reply) check() []error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	kinds := 0
	for _, given := range []bool{r.Text != nil || len(r.ToolCalls) > 0, r.JSON != nil, r.Refusal != "", r.Error != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds == 0 && r.Reasoning == "" && r.Fault == "":
		errs = append(errs, replyError("nothing to answer, give text, json, toolCalls, refusal, error or a fault"))
	case kinds > 1:
		errs = append(errs, replyError("text or toolCalls, json, refusal and error exclude each other"))
	case r.Error != nil && r.Reasoning != "":
		fail("reasoning: an error has none")
	}
	if r.Error != nil && (r.Error.Status < 400 || r.Error.Status > 599) {
		fail("error.status: %d is not from 400 to 599", r.Error.Status)
	}
	if r.Error != nil && r.Error.RetryAfterMs < 0 {
		fail("error.retryAfterMs: %d is negative", r.Error.RetryAfterMs)
	}
	reasons := []string{"", "stop", "length", "tool_calls", "content_filter", "function_call"}
	if !slices.Contains(reasons, r.FinishReason) {
		fail("finishReason: %q is none of %s", r.FinishReason, strings.Join(reasons[1:], ", "))
	}
	if r.FinishReason == "tool_calls" && len(r.ToolCalls) == 0 {
		fail("finishReason: tool_calls without toolCalls makes agents loop for ever")
	}
	if t := r.Timing; t != nil {
		for _, v := range []struct {
			name string
			v    *float64
		}{{"ttftMs", t.TTFTMs}, {"itlMs", t.ITLMs}} {
			if v.v != nil && (*v.v < 0 || *v.v > 86_400_000) {
				fail("timing.%s: %v is not from 0 to a day", v.name, *v.v)
			}
		}
	}
	return errs
}

// compileArguments takes a string for the template of the whole text, other values as JSON.
func compileArguments(field string, v Value, raw bool) (document, error) {
	s, ok := v.text()
	if !ok {
		if v.raw == nil || v.raw[0] != '{' {
			return document{}, fmt.Errorf("%s: %s is not an object", field, clip(v.String()))
		}
		return compileDocument(field, v, raw)
	}
	p, err := compilePhrase(field, s, raw)
	if err == nil && p.tmpl == nil && !raw && !json.Valid([]byte(s)) {
		err = fmt.Errorf("%s: %q is not JSON; set raw to answer it anyway", field, clip(s))
	}
	return document{pieces: []piece{{phrase: p}}, given: true}, err
}

// compileDocument cuts JSON text at the strings that are templates.
func compileDocument(field string, v Value, raw bool) (document, error) {
	d := document{given: true}
	text := []byte(v.String())
	from := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		start := i
		for i++; text[i] != '"'; i++ {
			if text[i] == '\\' {
				i++
			}
		}
		isKey := i+1 < len(text) && text[i+1] == ':'
		if raw || isKey || !bytes.Contains(text[start:i], []byte("{{")) {
			continue
		}
		s, _ := Value{raw: text[start : i+1]}.text()
		p, err := compilePhrase(field, s, false)
		if err != nil {
			return d, err
		}
		d.pieces = append(d.pieces, piece{phrase: phrase{plain: string(text[from:start])}}, piece{phrase: p, quoted: true})
		from = i + 1
	}
	d.pieces = append(d.pieces, piece{phrase: phrase{plain: string(text[from:])}})
	return d, nil
}

func (d document) render(s *scope) (string, error) {
	var b []byte
	for _, p := range d.pieces {
		t, err := p.render(s)
		if err != nil {
			return "", err
		}
		if p.quoted {
			b = appendString(b, t)
		} else {
			b = append(b, t...)
		}
		if len(b) > MaxOutput {
			return "", fmt.Errorf("more than %d bytes of JSON", MaxOutput)
		}
	}
	return string(b), nil
}

// render says an answer.
func (a *answer) render(s *scope) (Outcome, error) {
	o := Outcome{FinishReason: a.src.FinishReason, Timing: a.src.Timing, Fault: a.src.Fault}
	var errs []error
	say := func(render func(*scope) (string, error)) string {
		out, err := render(s)
		errs = append(errs, err)
		return out
	}
	switch {
	case a.src.Error != nil:
		e := *a.src.Error
		e.Message = say(a.message.render)
		o.Error = &e
	case a.json.given:
		t := say(a.json.render)
		o.Text = &t
	case a.hasText:
		t := say(a.text.render)
		o.Text = &t
	}
	o.Reasoning, o.Refusal = say(a.reasoning.render), say(a.refusal.render)
	for i := range a.calls {
		c := &a.calls[i]
		k := Call{ID: say(c.id.render), Name: say(c.name.render), Arguments: "{}"}
		if c.args.given {
			k.Arguments = say(c.args.render)
			if !a.src.Raw && !json.Valid([]byte(k.Arguments)) {
				errs = append(errs, fmt.Errorf("toolCalls[%d].arguments: the template made %q, which is not JSON",
					i, clip(k.Arguments)))
			}
		}
		o.Calls = append(o.Calls, k)
	}
	return o, errors.Join(errs...)
}
