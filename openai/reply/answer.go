package reply

import (
	"encoding/json"
	"fmt"
)

// Format is the form of an answer in text.
type Format struct {
	// Kind is text (or empty), json_object, json_schema or string; Schema belongs to the last two.
	Kind   string
	Schema []byte
}

// Kinds of Format.
const (
	FormatText   = "text"
	FormatObject = "json_object"
	FormatSchema = "json_schema"
	// FormatString is the bare text of a string that fits the schema, which allows strings only.
	FormatString = "string"
)

// anyObject is what json_object answers look like.
const anyObject = `{"type":"object","properties":{"answer":{"type":"string"},` +
	`"confidence":{"type":"number","minimum":0,"maximum":1},"items":{"type":"array",` +
	`"items":{"type":"object","properties":{"name":{"type":"string"},` +
	`"value":{"type":"integer","minimum":0}},"required":["name","value"]},"minItems":1,"maxItems":3}},` +
	`"required":["answer","confidence","items"]}`

// Answer plans one answer to everything that a request asks for: first it thinks, by Effort; then it calls tools, if it
// must or the conversation does not yet end in ToolRounds rounds of results (Config.ToolRounds); else it answers with
// the prediction, with text in the Format, or as Plan does. MinTokens and IgnoreEOS do not lengthen formatted text and tool
// calls. The limit bounds everything together, thinking included; what it cuts ends with "length".
//
// The error wraps a *schema.Error if a schema, of the format or of the tool that is called, cannot be served.
func (p *Planner) Answer(r *Request) (*Plan, error) {
	b := builder{p: p, r: r, seed: p.seed(r)}
	thinking := thinkingTokens(r.Effort, b.seed)
	b.filler(Reasoning, 1, thinking, min(thinking, r.Limits.limit()))
	tools := r.callable(b.seed, p.cfg.ToolRounds)
	switch {
	case len(tools) > 0:
		for i, t := range tools {
			if err := b.call(t, uint64(i)); err != nil {
				return nil, err
			}
		}
		b.fixed = true
	case r.Format.Kind == FormatObject || r.Format.Kind == FormatSchema:
		raw := r.Format.Schema
		if r.Format.Kind == FormatObject {
			raw = []byte(anyObject)
		}
		value, err := r.invent(raw, b.seed)
		if err != nil {
			return nil, fmt.Errorf("response_format: %w", err)
		}
		b.add(Part{Text: value})
		b.fixed = true
	case r.Format.Kind == FormatString:
		said, err := r.inventString(b.seed)
		if err != nil {
			return nil, err
		}
		b.add(Part{Text: said})
		b.fixed = true
	case r.Prediction != "":
		b.add(Part{Text: r.Prediction})
		b.accepted = len(b.text.ids)
	case thinking == 0:
		return p.Plan(r), nil
	default:
		b.content()
	}
	return b.finish(), nil
}

// inventString makes a string that fits the schema of the format.
func (r *Request) inventString(seed uint64) (said string, err error) {
	quoted, err := r.invent(r.Format.Schema, seed)
	if err == nil {
		err = json.Unmarshal([]byte(quoted), &said)
	}
	if err != nil {
		return "", fmt.Errorf("response_format: %w", err)
	}
	return said, nil
}

// content appends what Plan would say in the room that thinking has left.
func (b *builder) content() {
	l := b.r.Limits
	used := len(b.text.ids)
	l.Max, l.Room, l.Min = max(l.Max-used, 0), max(l.Room-used, 0), max(l.Min-used, 0)
	var t text
	b.short = b.p.say(&t, b.r, b.seed, l) == FinishLength
	b.splice(&t)
	b.segment(Segment{Kind: Content, Tokens: len(t.ids)})
}
