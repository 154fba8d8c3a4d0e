package openai

import (
	"encoding/json"
	"fmt"
	"net/http"

	"fakellm/openai/reply"
)

// completion decodes and checks a legacy completion request (spec openai-endpoint L1).
func (c checker) completion(body []byte, h http.Header, maxDepth int) (*CompletionRequest, error) {
	var b completionBody
	if err := c.decode(body, &b, c.shapes().completion, maxDepth); err != nil {
		return nil, err
	}
	if err := c.checkModel(b.Model); err != nil {
		return nil, err
	}
	req := &CompletionRequest{Model: *b.Model}
	var err error
	if req.Prompts, err = prompts(b.Prompt); err != nil {
		return nil, err
	}
	if req.Sampling, err = c.check(&b.shared, h); err != nil {
		return nil, err
	}
	if err := c.completionFormat(req, &b); err != nil {
		return nil, err
	}
	set(&req.Echo, b.Echo)
	set(&req.Suffix, b.Suffix)
	req.User = b.User
	if err := c.completionLimits(req, &b); err != nil {
		return nil, err
	}
	if len(req.Prompts)*req.BestOf > 2048 {
		return nil, badRequest("prompt", codeValue, "invalid 'prompt': %d prompts with %d answers each are more than 2048",
			len(req.Prompts), req.BestOf)
	}
	return req, nil
}

// completionFormat reads what only engines take on this route: a format, and constraints.
func (c checker) completionFormat(req *CompletionRequest, b *completionBody) error {
	req.Format.Kind = reply.FormatText
	if c.dialect == DialectOpenAI || c.dialect == "" {
		return nil
	}
	const field = "response_format"
	if raw := b.ResponseFormat; !isNull(raw) {
		if kindOf(raw) != "an object" {
			return badRequest(field, codeType, "invalid type for '%s': expected an object, got %s", field, kindOf(raw))
		}
		var f responseFormat
		if err := decodeError(raw, json.Unmarshal(raw, &f), field); err != nil {
			return err
		}
		var err error
		if req.Format, err = formatOf(&f); err != nil {
			return err
		}
	}
	return c.constrain(&req.Format, &b.constraintFields)
}

func (c checker) completionLimits(req *CompletionRequest, b *completionBody) error {
	var err error
	if req.MaxTokens, err = c.maxTokens("max_tokens", b.MaxTokens, 0); err != nil {
		return err
	}
	if req.MaxTokens == nil {
		limit := max(16, req.MinTokens, req.Wishes.OutputTokens)
		req.MaxTokens = &limit
	}
	if err := checkMin(req.Sampling); err != nil {
		return err
	}
	if err := checkInts([]intField{
		{"logprobs", b.LogProbs, 0, c.completionLogprobs()},
		{"best_of", b.BestOf, 0, 20},
	}); err != nil {
		return err
	}
	if b.LogProbs != nil {
		req.Logprobs, req.TopLogprobs = true, int(*b.LogProbs)
	}
	if b.BestOf == nil || *b.BestOf == 0 {
		return nil
	}
	if int(*b.BestOf) < req.N {
		return badRequest("best_of", codeValue, "invalid 'best_of': %d is below 'n', which is %d", *b.BestOf, req.N)
	}
	if *b.BestOf > 1 && req.Stream && int(*b.BestOf) != req.N {
		return badRequest("best_of", codeValue, "invalid 'best_of': %d cannot be streamed", *b.BestOf)
	}
	req.BestOf = int(*b.BestOf)
	return nil
}

// completionLogprobs is the most alternatives the route gives; engines follow their own limit of 20.
func (c checker) completionLogprobs() int64 {
	if c.dialect == DialectOpenAI {
		return 5
	}
	return 20
}

// prompts reads a string, strings, token ids, or lists of token ids.
func prompts(raw json.RawMessage) ([]PromptInput, error) {
	if isNull(raw) {
		return nil, missing("prompt")
	}
	switch kindOf(raw) {
	case "a string":
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, decodeError(raw, err, "prompt")
		}
		return []PromptInput{{Text: text}}, nil
	case "an array":
	default:
		return nil, badRequest("prompt", codeType, "invalid type for 'prompt': expected a string or an array, got %s",
			kindOf(raw))
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, decodeError(raw, err, "prompt")
	}
	if len(items) == 0 {
		return nil, badRequest("prompt", "empty_array", "invalid 'prompt': the array is empty")
	}
	if kindOf(items[0]) == "a number" {
		ids, err := tokenIDs("prompt", raw)
		return []PromptInput{{IDs: ids}}, err
	}
	out := make([]PromptInput, len(items))
	for i, item := range items {
		field := fmt.Sprintf("prompt[%d]", i)
		var err error
		switch kindOf(item) {
		case "a string":
			err = decodeError(item, json.Unmarshal(item, &out[i].Text), field)
		case "an array":
			out[i].IDs, err = tokenIDs(field, item)
		default:
			err = badRequest(field, codeType, "invalid type for '%s': expected a string or an array of token ids, got %s",
				field, kindOf(item))
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func tokenIDs(field string, raw json.RawMessage) ([]uint32, error) {
	var ids []uint32
	if err := json.Unmarshal(raw, &ids); err != nil {
		return nil, badRequest(field, codeType, "invalid type for '%s': every element must be a token id", field)
	}
	if len(ids) == 0 {
		return nil, badRequest(field, "empty_array", "invalid '%s': the array is empty", field)
	}
	return ids, nil
}
