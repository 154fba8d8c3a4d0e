package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// withDefaults fills in what OpenAI sends with a status (spec openai-endpoint X2).
func (e Failure) withDefaults() Failure {
	if e.Status == 0 {
		e.Status = http.StatusInternalServerError
	}
	typ, code, message := "invalid_request_error", "", http.StatusText(e.Status)
	switch {
	case e.Status == http.StatusUnauthorized:
		code, message = "invalid_api_key", "Incorrect API key provided."
	case e.Status == http.StatusNotFound:
		code, message = "model_not_found", "The model does not exist or you do not have access to it."
	case e.Status == http.StatusRequestTimeout:
		typ, code, message = "timeout", "timeout", "Request timed out."
	case e.Status == http.StatusConflict:
		typ, code, message = "conflict", "conflict", "The resource was updated by another request."
	case e.Status == http.StatusTooManyRequests:
		typ, code, message = "requests", "rate_limit_exceeded", "Rate limit reached."
		if e.Of != "" {
			typ = e.Of
		}
	case e.Status == http.StatusServiceUnavailable:
		typ, code, message = "server_error", "server_is_overloaded", "The server is overloaded, please try again later."
	case e.Status >= http.StatusInternalServerError:
		typ, message = "server_error", "The server had an error while processing your request."
	}
	if e.Type == "" {
		e.Type = typ
	}
	if e.Code == "" {
		e.Code = code
	}
	if e.Message == "" {
		e.Message = message
	}
	return e
}

// SetHeaders sets the retry and limit headers of a failure.
func (e Failure) SetHeaders(h http.Header) {
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if e.RetryAfterExact > 0 {
		h.Set("Retry-After-Ms", strconv.FormatInt(int64((e.RetryAfterExact+time.Millisecond-1)/time.Millisecond), 10))
	}
	if e.ShouldRetry != nil {
		h.Set("X-Should-Retry", strconv.FormatBool(*e.ShouldRetry))
	}
	if e.Of != "" {
		title := map[string]string{"requests": "Requests", "tokens": "Tokens"}[e.Of]
		h.Set("X-Ratelimit-Limit-"+title, strconv.Itoa(e.Limit))
		h.Set("X-Ratelimit-Remaining-"+title, "0")
		h.Set("X-Ratelimit-Reset-"+title, max(e.RetryAfter, e.RetryAfterExact).String())
	}
}

// Body is the failure in OpenAI's envelope, all four members present (spec openai-endpoint X1).
func (e Failure) Body() []byte {
	e = e.withDefaults()
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Error inner `json:"error"`
	}{inner{e.Message, e.Type, text(e.Param), text(e.Code)}})
	if err != nil {
		panic(fmt.Sprintf("fault: encoding strings: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
