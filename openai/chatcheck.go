package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"fakellm/openai/reply"
)

// chat decodes and checks a chat request. It is a pure function of body and headers.
func (c checker) chat(body []byte, h http.Header, maxDepth int) (*ChatRequest, error) {
	var b chatBody
	if err := c.decode(body, &b, c.shapes().chat, maxDepth); err != nil {
		return nil, err
	}
	if err := c.checkModel(b.Model); err != nil {
		return nil, err
	}
	req := &ChatRequest{Model: *b.Model, ParallelTools: true, ServiceTier: string(b.ServiceTier), Metadata: b.Metadata}
	var err error
	if req.Messages, err = c.messages(b.Messages); err != nil {
		return nil, err
	}
	if req.Sampling, err = c.check(&b.shared, h); err != nil {
		return nil, err
	}
	if err := c.chatLimits(req, &b); err != nil {
		return nil, err
	}
	if err := c.chatEnums(req, &b); err != nil {
		return nil, err
	}
	if err := c.tools(req, &b); err != nil {
		return nil, err
	}
	if req.Format, err = formatOf(b.ResponseFormat); err != nil {
		return nil, err
	}
	if req.Format.Kind == reply.FormatObject && c.policy == PolicyStrict && !mentionsJSON(req.Messages) {
		return nil, badRequest("messages", "",
			"'messages' must contain the word 'json' in some form to use 'response_format' of type 'json_object'")
	}
	if err := c.constrain(&req.Format, &b.constraintFields); err != nil {
		return nil, err
	}
	set(&req.Store, b.Store)
	set(&req.ParallelTools, b.ParallelToolCalls)
	if req.Wishes.Session == "" {
		set(&req.SessionKey, b.PromptCacheKey)
	}
	if b.IncludeReasoning != nil {
		req.HideReasoning = !*b.IncludeReasoning
	}
	req.User = b.User
	return req, nil
}

// chatLimits checks the two token limits and the log probability pair.
func (c checker) chatLimits(req *ChatRequest, b *chatBody) error {
	if b.MaxTokens != nil && c.policy == PolicyStrict && isReasoningModel(req.Model) {
		return badRequest("max_tokens", codeUnsupported,
			"unsupported parameter: 'max_tokens' is not supported with this model, use 'max_completion_tokens' instead")
	}
	old, err := c.maxTokens("max_tokens", b.MaxTokens, 1)
	if err != nil {
		return err
	}
	if req.MaxTokens, err = c.maxTokens("max_completion_tokens", b.MaxCompletionTokens, 1); err != nil {
		return err
	}
	if req.MaxTokens == nil {
		req.MaxTokens = old
	}
	if err := checkMin(req.Sampling); err != nil {
		return err
	}
	if err := checkInts([]intField{{"top_logprobs", b.TopLogProbs, 0, 20}}); err != nil {
		return err
	}
	set(&req.Logprobs, b.LogProbs)
	if b.TopLogProbs == nil {
		return nil
	}
	if !req.Logprobs && *b.TopLogProbs > 0 {
		return badRequest("top_logprobs", codeValue, "invalid 'top_logprobs': %d needs 'logprobs' to be true", *b.TopLogProbs)
	}
	req.TopLogprobs = int(*b.TopLogProbs)
	return nil
}

// checkMin refuses a minimum above the maximum.
func checkMin(s Sampling) error {
	if s.MaxTokens != nil && s.MinTokens > *s.MaxTokens {
		return badRequest("min_tokens", codeValue, "invalid 'min_tokens': %d is above the limit of %d tokens",
			s.MinTokens, *s.MaxTokens)
	}
	return nil
}

// isReasoningModel knows OpenAI's own reasoning ids, which refuse max_tokens (spec openai-endpoint R4).
func isReasoningModel(model string) bool {
	for _, p := range []string{"o1", "o3", "o4", "gpt-5"} {
		if model == p || strings.HasPrefix(model, p+"-") || strings.HasPrefix(model, p+".") {
			return true
		}
	}
	return false
}

// chatEnums checks the members that are one of a few words.
func (c checker) chatEnums(req *ChatRequest, b *chatBody) error {
	effort, verbosity, tier := b.ReasoningEffort, b.Verbosity, string(b.ServiceTier)
	for _, row := range []struct {
		field string
		v     string
		list  []string
	}{
		{"reasoning_effort", effort, []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}},
		{"verbosity", verbosity, []string{"low", "medium", "high"}},
		{"service_tier", tier, []string{"auto", "default", "flex", "scale", "priority", "fast"}},
	} {
		if row.v != "" {
			if err := oneOf(row.field, &row.v, row.list...); err != nil {
				return err
			}
		}
	}
	if err := oneOf("prompt_cache_retention", b.PromptRetention, "in_memory", "in-memory", "24h"); err != nil {
		return err
	}
	if len(b.SafetyIdentifier) > 64 && c.dialect == DialectOpenAI {
		return badRequest("safety_identifier", "string_above_max_length",
			"invalid 'safety_identifier': %d characters, at most 64 are allowed", len(b.SafetyIdentifier))
	}
	req.Effort, req.Verbosity = effort, verbosity
	if err := c.prediction(req, b.Prediction); err != nil {
		return err
	}
	return c.speech(req, b)
}

// prediction reads a predicted output: text or text parts.
func (c checker) prediction(req *ChatRequest, p *prediction) error {
	if p == nil {
		return nil
	}
	if err := oneOf("prediction.type", orPtr(p.Type, "content"), "content"); err != nil {
		return err
	}
	if isNull(p.Content) {
		return missing("prediction.content")
	}
	parts, err := c.content("prediction.content", p.Content, "text")
	for _, part := range parts {
		req.Prediction += part.Text
	}
	return err
}

// orPtr is v, or a pointer to def when the client did not say.
func orPtr(v *string, def string) *string {
	if v == nil {
		return &def
	}
	return v
}

// formatOf checks response_format (spec openai-endpoint R7).
func formatOf(b *responseFormat) (Format, error) {
	f := Format{Kind: reply.FormatText}
	if b == nil {
		return f, nil
	}
	if err := required("response_format.type", b.Type); err != nil {
		return f, err
	}
	if err := oneOf("response_format.type", b.Type, reply.FormatText, reply.FormatObject, reply.FormatSchema); err != nil {
		return f, err
	}
	f.Kind = *b.Type
	if f.Kind != reply.FormatSchema {
		return f, nil
	}
	s := b.JSONSchema
	if s == nil {
		return f, missing("response_format.json_schema")
	}
	if err := checkName("response_format.json_schema.name", s.Name); err != nil {
		return f, err
	}
	f.Name = *s.Name
	set(&f.Strict, s.Strict)
	if isNull(s.Schema) {
		return f, nil
	}
	if kindOf(s.Schema) != "an object" && kindOf(s.Schema) != "a boolean" {
		return f, badRequest("response_format.json_schema.schema", codeType,
			"invalid type for 'response_format.json_schema.schema': expected an object, got %s", kindOf(s.Schema))
	}
	f.Schema = s.Schema
	return f, nil
}

func mentionsJSON(msgs []Message) bool {
	for _, m := range msgs {
		for _, p := range m.Parts {
			if strings.Contains(strings.ToLower(p.Text), "json") {
				return true
			}
		}
	}
	return false
}

// checkName checks the name of a function or schema: 1–64 letters, digits, underscores, dashes (and dots and colons,
// which MCP servers use).
func checkName(field string, name *string) error {
	if err := required(field, name); err != nil {
		return err
	}
	if len(*name) > 64 {
		return badRequest(field, "string_above_max_length", "invalid '%s': %d characters, at most 64 are allowed",
			field, len(*name))
	}
	for _, r := range *name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.:", r) {
			return badRequest(field, codeValue, "invalid '%s': %q has characters outside letters, digits, '_' and '-'",
				field, *name)
		}
	}
	return nil
}

// tools checks offered tools, deprecated functions, and the choice among them (spec openai-endpoint R6).
func (c checker) tools(req *ChatRequest, b *chatBody) error {
	if len(b.Tools) > 128 && c.dialect == DialectOpenAI {
		return badRequest("tools", "array_above_max_length", "invalid 'tools': %d entries, at most 128 are allowed",
			len(b.Tools))
	}
	for i, raw := range b.Tools {
		field := fmt.Sprintf("tools[%d]", i)
		var t toolBody
		if err := decodeError(raw, json.Unmarshal(raw, &t), field); err != nil {
			return err
		}
		tool, err := checkTool(field, &t)
		if err != nil {
			return err
		}
		req.Tools = append(req.Tools, tool)
	}
	if len(b.Tools) > 0 {
		return c.toolChoice(req, b.ToolChoice)
	}
	if len(b.Functions) == 0 {
		return c.toolChoice(req, b.ToolChoice)
	}
	req.LegacyFunctions = true
	for i := range b.Functions {
		tool, err := checkFunction(fmt.Sprintf("functions[%d]", i), &b.Functions[i])
		if err != nil {
			return err
		}
		req.Tools = append(req.Tools, tool)
	}
	return c.functionCall(req, b.FunctionCall)
}

func checkTool(field string, t *toolBody) (Tool, error) {
	if err := required(field+".type", t.Type); err != nil {
		return Tool{}, err
	}
	switch *t.Type {
	case "function":
		if t.Function == nil {
			return Tool{}, missing(field + ".function")
		}
		return checkFunction(field+".function", t.Function)
	case "custom":
		if t.Custom == nil {
			return Tool{}, missing(field + ".custom")
		}
		if err := checkName(field+".custom.name", t.Custom.Name); err != nil {
			return Tool{}, err
		}
		tool := Tool{Name: *t.Custom.Name, Custom: true}
		set(&tool.Description, t.Custom.Description)
		return tool, nil
	default:
		return Tool{}, oneOf(field+".type", t.Type, "function", "custom")
	}
}

func checkFunction(field string, f *toolFunction) (Tool, error) {
	if err := checkName(field+".name", f.Name); err != nil {
		return Tool{}, err
	}
	tool := Tool{Name: *f.Name}
	set(&tool.Description, f.Description)
	set(&tool.Strict, f.Strict)
	if isNull(f.Parameters) {
		return tool, nil
	}
	if kindOf(f.Parameters) != "an object" {
		return tool, badRequest(field+".parameters", codeType, "invalid type for '%s.parameters': expected an object, got %s",
			field, kindOf(f.Parameters))
	}
	tool.Parameters = f.Parameters
	return tool, nil
}

// toolChoice resolves tool_choice against the offered tools.
func (c checker) toolChoice(req *ChatRequest, raw json.RawMessage) error {
	req.ToolChoice.Mode = "none"
	if len(req.Tools) > 0 {
		req.ToolChoice.Mode = "auto"
	}
	switch {
	case isNull(raw):
		return nil
	case kindOf(raw) == "a string":
		var mode string
		if err := decodeError(raw, json.Unmarshal(raw, &mode), "tool_choice"); err != nil {
			return err
		}
		if err := oneOf("tool_choice", &mode, "none", "auto", "required"); err != nil {
			return err
		}
		if len(req.Tools) == 0 && mode != "none" && c.policy != PolicyLenient {
			return badRequest("tool_choice", codeValue, "invalid 'tool_choice': %q needs 'tools'", mode)
		}
		if len(req.Tools) > 0 {
			req.ToolChoice.Mode = mode
		}
		return nil
	case kindOf(raw) != "an object":
		return badRequest("tool_choice", codeType, "invalid type for 'tool_choice': expected a string or an object, got %s",
			kindOf(raw))
	}
	var b choiceBody
	if err := decodeError(raw, json.Unmarshal(raw, &b), "tool_choice"); err != nil {
		return err
	}
	if err := required("tool_choice.type", b.Type); err != nil {
		return err
	}
	switch *b.Type {
	case "function":
		return req.choose("tool_choice.function", b.Function)
	case "custom":
		return req.choose("tool_choice.custom", b.Custom)
	case "allowed_tools":
		return req.allow(&b)
	default:
		return oneOf("tool_choice.type", b.Type, "function", "custom", "allowed_tools")
	}
}

// choose resolves a named choice.
func (r *ChatRequest) choose(field string, n *nameBody) error {
	if n == nil {
		return missing(field)
	}
	if err := required(field+".name", n.Name); err != nil {
		return err
	}
	if !r.offers(*n.Name) {
		return badRequest("tool_choice", codeValue, "invalid 'tool_choice': %q is not among the offered tools", clip(*n.Name))
	}
	r.ToolChoice = ToolChoice{Mode: "named", Name: *n.Name}
	return nil
}

// allow resolves an allowed_tools choice.
func (r *ChatRequest) allow(b *choiceBody) error {
	const field = "tool_choice.allowed_tools"
	if b.Allowed == nil {
		return missing(field)
	}
	if err := required(field+".mode", b.Allowed.Mode); err != nil {
		return err
	}
	if err := oneOf(field+".mode", b.Allowed.Mode, "auto", "required"); err != nil {
		return err
	}
	names := []string{}
	for i := range b.Allowed.Tools {
		t, err := checkTool(fmt.Sprintf("%s.tools[%d]", field, i), &b.Allowed.Tools[i])
		if err != nil {
			return err
		}
		if !r.offers(t.Name) {
			return badRequest("tool_choice", codeValue, "invalid 'tool_choice': %q is not among the offered tools", t.Name)
		}
		names = append(names, t.Name)
	}
	r.ToolChoice = ToolChoice{Mode: *b.Allowed.Mode, Allowed: names}
	return nil
}

func (r *ChatRequest) offers(name string) bool {
	for _, t := range r.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// functionCall resolves the deprecated function_call.
func (c checker) functionCall(req *ChatRequest, raw json.RawMessage) error {
	req.ToolChoice.Mode = "auto"
	if isNull(raw) {
		return nil
	}
	if kindOf(raw) == "a string" {
		var mode string
		if err := decodeError(raw, json.Unmarshal(raw, &mode), "function_call"); err != nil {
			return err
		}
		req.ToolChoice.Mode = mode
		return oneOf("function_call", &mode, "none", "auto")
	}
	var n nameBody
	if err := decodeError(raw, json.Unmarshal(raw, &n), "function_call"); err != nil {
		return err
	}
	return req.choose("function_call", &n)
}
