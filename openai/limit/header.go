package limit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Code is the error code of every refusal.
const Code = "rate_limit_exceeded"

// SetHeaders sets x-ratelimit-{limit,remaining,reset}-{requests,tokens} for every bucket that has a limit and, after a
// refusal, Retry-After, retry-after-ms and x-should-retry (spec openai-endpoint X4, X5). Times are rounded up, so a
// client that waits as told is admitted.
func (d Decision) SetHeaders(h http.Header) {
	for _, b := range []struct {
		name string
		s    State
	}{{"Requests", d.Requests}, {"Tokens", d.Tokens}} {
		if b.s.Limit == 0 {
			continue
		}
		h.Set("X-Ratelimit-Limit-"+b.name, strconv.FormatInt(b.s.Limit, 10))
		h.Set("X-Ratelimit-Remaining-"+b.name, strconv.FormatInt(b.s.Remaining, 10))
		h.Set("X-Ratelimit-Reset-"+b.name, Duration(b.s.Reset))
	}
	switch {
	case d.OK():
	case d.TooLarge:
		h.Set("X-Should-Retry", "false")
	default:
		h.Set("Retry-After", strconv.FormatInt(int64(ceil(d.RetryAfter, time.Second)/time.Second), 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(int64(ceil(d.RetryAfter, time.Millisecond)/time.Millisecond), 10))
	}
}

// Duration writes a wait as OpenAI does, in Go's words and whole milliseconds, rounded up: 12ms, 1.5s, 6m0s.
func Duration(d time.Duration) string { return ceil(d, time.Millisecond).String() }

// ceil rounds up to a multiple of unit.
func ceil(d, unit time.Duration) time.Duration {
	if r := d % unit; r > 0 {
		return d - r + unit
	}
	return d
}

// Type is the error type of a refusal: requests or tokens.
func (d Decision) Type() string { return string(d.Violated) }

// Message says what was exceeded, as OpenAI words it.
func (d Decision) Message(model string) string {
	s, unit := d.Requests, "requests per min (RPM)"
	requested := int64(1)
	if d.Violated == Tokens {
		s, unit, requested = d.Tokens, "tokens per min (TPM)", d.Estimate
	}
	if d.TooLarge {
		return fmt.Sprintf("Request too large for %s on %s: Limit %d, Requested %d. The input or output tokens must be "+
			"reduced in order to run successfully.", model, unit, s.Limit, requested)
	}
	return fmt.Sprintf("Rate limit reached for %s on %s: Limit %d, Used %d, Requested %d. Please try again in %s.",
		model, unit, s.Limit, s.Limit-s.Remaining, requested, Duration(d.RetryAfter))
}

// Body is the refusal in OpenAI's envelope (spec openai-endpoint X1).
func (d Decision) Body(model string) []byte {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Error inner `json:"error"`
	}{inner{Message: d.Message(model), Type: d.Type(), Code: Code}})
	if err != nil {
		panic(fmt.Sprintf("limit: encoding strings: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
