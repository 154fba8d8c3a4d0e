package openai

import (
	"encoding/json"
	"fmt"
)

// messages checks the conversation (spec openai-endpoint R1, R2).
func (c checker) messages(raws []json.RawMessage) ([]Message, error) {
	if raws == nil {
		return nil, missing("messages")
	}
	if len(raws) == 0 {
		return nil, badRequest("messages", "empty_array", "invalid 'messages': at least one message is needed")
	}
	msgs := make([]Message, len(raws))
	for i, raw := range raws {
		field := fmt.Sprintf("messages[%d]", i)
		if kindOf(raw) != "an object" {
			return nil, badRequest(field, codeType, "invalid type for '%s': expected an object, got %s", field, kindOf(raw))
		}
		var b messageBody
		if err := decodeError(raw, json.Unmarshal(raw, &b), field); err != nil {
			return nil, err
		}
		var err error
		if msgs[i], err = c.message(field, &b); err != nil {
			return nil, err
		}
	}
	return msgs, c.toolTurns(msgs)
}

func (c checker) message(field string, b *messageBody) (Message, error) {
	if err := required(field+".role", b.Role); err != nil {
		return Message{}, err
	}
	if err := oneOf(field+".role", b.Role, "developer", "system", "user", "assistant", "tool", "function"); err != nil {
		return Message{}, err
	}
	m := Message{Role: *b.Role}
	set(&m.Name, b.Name)
	set(&m.Refusal, b.Refusal)
	set(&m.Reasoning, b.ReasoningContent)
	set(&m.Reasoning, b.Reasoning)
	set(&m.CallID, b.ToolCallID)
	var err error
	if m.Calls, err = calls(field, b); err != nil {
		return m, err
	}
	if m.AudioID, err = audioID(field, m.Role, b.Audio); err != nil {
		return m, err
	}
	kinds := []string{"text"}
	switch m.Role {
	case "user":
		kinds = []string{"text", "image_url", "input_audio", "file"}
	case "assistant":
		kinds = []string{"text", "refusal"}
	case "tool":
		kinds = []string{"text", "image_url"}
		if b.ToolCallID == nil {
			return m, missing(field + ".tool_call_id")
		}
	case "function":
		if b.Name == nil {
			return m, missing(field + ".name")
		}
	}
	if m.Role != "assistant" && len(m.Calls) > 0 {
		return m, badRequest(field+".tool_calls", codeValue,
			"invalid '%s.tool_calls': only assistant messages have calls, not role %q", field, m.Role)
	}
	if isNull(b.Content) {
		if m.Role == "assistant" && (len(m.Calls) > 0 || m.Refusal != "" || m.Reasoning != "" || m.AudioID != "" || c.policy != PolicyStrict) {
			return m, nil
		}
		if m.Role == "function" {
			return m, nil
		}
		return m, missing(field + ".content")
	}
	m.Parts, err = c.content(field+".content", b.Content, kinds...)
	return m, err
}

// calls reads tool_calls and the deprecated function_call of a message.
func calls(field string, b *messageBody) ([]Call, error) {
	var out []Call
	for j := range b.ToolCalls {
		f := fmt.Sprintf("%s.tool_calls[%d]", field, j)
		tc := &b.ToolCalls[j]
		if err := required(f+".id", tc.ID); err != nil {
			return nil, err
		}
		if tc.Custom != nil {
			call := Call{ID: *tc.ID}
			set(&call.Name, tc.Custom.Name)
			set(&call.Arguments, tc.Custom.Input)
			out = append(out, call)
			continue
		}
		if err := oneOf(f+".type", tc.Type, "function"); err != nil {
			return nil, err
		}
		if tc.Function == nil {
			return nil, missing(f + ".function")
		}
		if err := required(f+".function.name", tc.Function.Name); err != nil {
			return nil, err
		}
		call := Call{ID: *tc.ID, Name: *tc.Function.Name}
		set(&call.Arguments, tc.Function.Arguments)
		out = append(out, call)
	}
	if b.FunctionCall != nil {
		if err := required(field+".function_call.name", b.FunctionCall.Name); err != nil {
			return nil, err
		}
		call := Call{Name: *b.FunctionCall.Name}
		set(&call.Arguments, b.FunctionCall.Arguments)
		out = append(out, call)
	}
	return out, nil
}

// content reads a string or a list of parts of the given kinds.
func (c checker) content(field string, raw json.RawMessage, kinds ...string) ([]Part, error) {
	switch kindOf(raw) {
	case "a string":
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, decodeError(raw, err, field)
		}
		return []Part{{Kind: "text", Text: text}}, nil
	case "an array":
	default:
		return nil, badRequest(field, codeType, "invalid type for '%s': expected a string or an array of parts, got %s",
			field, kindOf(raw))
	}
	var bodies []partBody
	if err := json.Unmarshal(raw, &bodies); err != nil {
		return nil, decodeError(raw, err, field)
	}
	if len(bodies) == 0 && c.policy != PolicyLenient {
		return nil, badRequest(field, "empty_array", "invalid '%s': at least one part is needed", field)
	}
	parts := make([]Part, len(bodies))
	for i := range bodies {
		var err error
		if parts[i], err = c.part(fmt.Sprintf("%s[%d]", field, i), &bodies[i], kinds); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// toolTurns checks in strict policy that every tool message answers a call made before it.
func (c checker) toolTurns(msgs []Message) error {
	if c.policy != PolicyStrict {
		return nil
	}
	made := map[string]bool{}
	for i, m := range msgs {
		for _, call := range m.Calls {
			made[call.ID] = true
		}
		if m.Role == "tool" && !made[m.CallID] {
			return badRequest(fmt.Sprintf("messages[%d].tool_call_id", i), codeValue,
				"invalid 'messages[%d].tool_call_id': %q answers no call made before it", i, clip(m.CallID))
		}
	}
	return nil
}
