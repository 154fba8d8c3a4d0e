package openai

import (
	"encoding/json"
	"regexp/syntax"
	"slices"

	"fakellm/openai/reply"
	"fakellm/openai/reply/schema"
)

// constraintKind is how a constraint says what an answer has to look like.
type constraintKind uint8

const (
	jsonKind constraintKind = iota
	objectKind
	choiceKind
	regexKind
	grammarKind
	// manyKinds is structured_outputs, an object of constraints.
	manyKinds
)

// constraint is one that a request holds.
type constraint struct {
	field string
	kind  constraintKind
	raw   json.RawMessage
}

// constrain makes the one constraint of an engine's request the format of its answer (spec openai-endpoint §3.1, §3.4).
// Two of them, or one beside a response_format that is no text, contradict each other.
func (c checker) constrain(f *Format, b *constraintFields) error {
	given, err := c.constraints(b)
	if err != nil {
		return err
	}
	for _, one := range given {
		if f.Kind != reply.FormatText {
			return badRequest(one.field, codeValue, "invalid '%s': the answer is constrained by '%s' already, only one is possible",
				one.field, orDefault(f.Field, "response_format"))
		}
		if *f, err = one.format(); err != nil {
			return err
		}
	}
	return nil
}

// constraints lists those that a request of this dialect holds.
func (c checker) constraints(b *constraintFields) ([]constraint, error) {
	if c.dialect == DialectOpenAI || c.dialect == "" {
		return nil, nil
	}
	var out []constraint
	add := func(field string, kind constraintKind, raw json.RawMessage) {
		if !isNull(raw) {
			out = append(out, constraint{field, kind, raw})
		}
	}
	for _, row := range constraints() {
		raw := row.of(b)
		if isNull(raw) || !slices.Contains(row.dialects, c.dialect) {
			continue
		}
		if row.kind != manyKinds {
			add(row.name, row.kind, raw)
			continue
		}
		if kindOf(raw) != "an object" {
			return nil, badRequest(row.name, codeType, "invalid type for '%s': expected an object, got %s", row.name, kindOf(raw))
		}
		var s structuredBody
		if err := decodeError(raw, json.Unmarshal(raw, &s), row.name); err != nil {
			return nil, err
		}
		add(row.name+".json", jsonKind, s.JSON)
		if string(s.JSONObject) != "false" {
			add(row.name+".json_object", objectKind, s.JSONObject)
		}
		add(row.name+".choice", choiceKind, s.Choice)
		add(row.name+".regex", regexKind, s.Regex)
		add(row.name+".grammar", grammarKind, s.Grammar)
		add(row.name+".structural_tag", grammarKind, s.StructuralTag)
	}
	return out, nil
}

// format is what a constraint asks for.
func (c constraint) format() (Format, error) {
	f := Format{Field: c.field}
	var err error
	switch c.kind {
	case jsonKind:
		f.Kind = reply.FormatSchema
		f.Schema, err = c.schema()
	case objectKind:
		f.Kind = reply.FormatObject
		if string(c.raw) != "true" {
			return f, c.wants("a boolean")
		}
	case choiceKind:
		f.Kind = reply.FormatString
		f.Schema, err = c.choice()
	case regexKind:
		f.Kind = reply.FormatString
		f.Schema, err = c.regex()
	default:
		return f, badRequest(c.field, codeUnsupported,
			"unsupported parameter: '%s': no answers are made by grammars, only by JSON schemas, choices and regular expressions",
			c.field)
	}
	return f, err
}

func (c constraint) wants(kind string) error {
	return badRequest(c.field, codeType, "invalid type for '%s': expected %s, got %s", c.field, kind, kindOf(c.raw))
}

// schema is a JSON schema, given as such or as its text.
func (c constraint) schema() (json.RawMessage, error) {
	raw := c.raw
	if kindOf(raw) == "a string" {
		var text string
		if err := decodeError(raw, json.Unmarshal(raw, &text), c.field); err != nil {
			return nil, err
		}
		if raw = json.RawMessage(text); !json.Valid(raw) {
			return nil, badRequest(c.field, codeValue, "invalid '%s': the text is no JSON", c.field)
		}
	}
	if kind := kindOf(raw); kind != "an object" && kind != "a boolean" {
		return nil, badRequest(c.field, codeType, "invalid type for '%s': expected a JSON schema, got %s", c.field, kind)
	}
	return raw, nil
}

// choice is the schema of one of the given texts.
func (c constraint) choice() (json.RawMessage, error) {
	if kindOf(c.raw) != "an array" {
		return nil, c.wants("an array of strings")
	}
	var list []*string
	if err := json.Unmarshal(c.raw, &list); err != nil {
		return nil, badRequest(c.field, codeType, "invalid type for '%s': every element must be a string", c.field)
	}
	if len(list) == 0 {
		return nil, badRequest(c.field, "empty_array", "invalid '%s': at least one text is needed", c.field)
	}
	if slices.ContainsFunc(list, func(s *string) bool { return s == nil || *s == "" }) {
		return nil, badRequest(c.field, codeValue, "invalid '%s': the texts must not be empty", c.field)
	}
	return marshal(map[string]any{"enum": list}), nil
}

// regex is the schema of a text that an expression matches from its start to its end.
func (c constraint) regex() (json.RawMessage, error) {
	if kindOf(c.raw) != "a string" {
		return nil, c.wants("a string")
	}
	var pattern string
	if err := decodeError(c.raw, json.Unmarshal(c.raw, &pattern), c.field); err != nil {
		return nil, err
	}
	if err := required(c.field, &pattern); err != nil {
		return nil, err
	}
	// Inside of the brackets below "a)(b" would be sound. Go's parser is quick, but knows no look-around.
	if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
		if _, err := schema.Compile(marshal(map[string]string{"pattern": pattern})); err != nil {
			return nil, badRequest(c.field, codeValue, "invalid '%s': %v", c.field, err)
		}
	}
	return marshal(map[string]any{"type": "string", "pattern": "^(?:" + pattern + ")$", "minLength": 1}), nil
}
