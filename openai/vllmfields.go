package openai

import (
	"encoding/json"
	"net/http"
	"strings"
)

// vllm reads what vLLM alone gives a meaning to (spec openai-endpoint §3.1): how tokens are shown, and the id of the
// answer, for which a header goes before request_id.
func (c checker) vllm(s *Sampling, b *engineFields, h http.Header) error {
	if c.dialect != DialectVLLM {
		return nil
	}
	if raw := b.NameTokens; !isNull(raw) {
		const field = "return_tokens_as_token_ids"
		if kindOf(raw) != "a boolean" {
			return badRequest(field, codeType, "invalid type for '%s': expected a boolean, got %s", field, kindOf(raw))
		}
		s.NameTokens = string(raw) == "true"
	}
	if raw := b.RequestID; !isNull(raw) {
		const field = "request_id"
		if kindOf(raw) != "a string" {
			return badRequest(field, codeType, "invalid type for '%s': expected a string, got %s", field, kindOf(raw))
		}
		if err := decodeError(raw, json.Unmarshal(raw, &s.AnswerID), field); err != nil {
			return err
		}
		if s.AnswerID != "" && !saneID(s.AnswerID) {
			return badRequest(field, codeValue, "invalid '%s': %q is no id of at most %d visible ASCII characters",
				field, clip(s.AnswerID), maxAnswerID)
		}
	}
	if id := h.Get("X-Request-Id"); saneID(id) {
		s.AnswerID = id
	}
	return nil
}

// maxAnswerID is the longest id taken from a client: every event of a stream repeats it.
const maxAnswerID = 128

func saneID(id string) bool {
	return id != "" && len(id) <= maxAnswerID && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}

// rename takes the id that a client chose for its answer.
func (i *identity) rename(prefix, id string) {
	if id != "" {
		i.id = prefix + id
	}
}
