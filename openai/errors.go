package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error types and codes that clients branch on (spec openai-endpoint X2).
const (
	typeInvalid     = "invalid_request_error"
	typeServer      = "server_error"
	codeContext     = "context_length_exceeded"
	codeMissing     = "missing_required_parameter"
	codeType        = "invalid_type"
	codeValue       = "invalid_value"
	codeUnsupported = "unsupported_parameter"
	codeUnsupValue  = "unsupported_value"
	codeModel       = "model_not_found"
)

// APIError is an answer that says no. The zero Param and Code are null on the wire.
type APIError struct {
	// Status is the HTTP status.
	Status int
	// Message names the field and the value; it is written to the client as it is.
	Message string
	// Type is OpenAI's error class, Param the field at fault, Code the machine-readable reason.
	Type, Param, Code string
	// RetryAfter is sent as a header in whole seconds when positive.
	RetryAfter time.Duration
}

// Error returns the message with its status.
func (e *APIError) Error() string {
	return fmt.Sprintf("status %d: %s", e.Status, e.Message)
}

// badRequest is a 400 for param; code may be empty.
func badRequest(param, code, format string, args ...any) *APIError {
	return &APIError{
		Status: http.StatusBadRequest, Type: typeInvalid, Param: param, Code: code,
		Message: fmt.Sprintf(format, args...),
	}
}

// asAPIError makes any error an answer; one that is not an APIError is ours, so 500.
func asAPIError(err error) *APIError {
	if api, ok := errors.AsType[*APIError](err); ok {
		return api
	}
	return &APIError{Status: http.StatusInternalServerError, Type: typeServer, Message: "internal error: " + err.Error()}
}

// wireError is the inner object. Code is a string or null for OpenAI, the HTTP status for the engines.
type wireError struct {
	Object  string  `json:"object,omitempty"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    any     `json:"code"`
}

// body renders the error in the shape of a dialect, without a trailing newline (spec openai-endpoint X1, §3).
func (e *APIError) body(d Dialect) []byte {
	w := wireError{Message: e.Message, Type: e.Type}
	if e.Param != "" {
		w.Param = &e.Param
	}
	switch d {
	case DialectOpenAI:
		if e.Code != "" {
			w.Code = e.Code
		}
	default:
		w.Type, w.Code = engineErrorType(e), e.Status
	}
	if d == DialectSGLang || d == DialectTRTLLM {
		w.Object = "error"
		return marshal(w)
	}
	return marshal(struct {
		Error wireError `json:"error"`
	}{w})
}

// engineErrorType is the class name that Python servers put into "type".
func engineErrorType(e *APIError) string {
	switch {
	case e.Status == http.StatusNotFound:
		return "NotFoundError"
	case e.Status == http.StatusUnauthorized:
		return "UnauthorizedError"
	case e.Status >= http.StatusInternalServerError:
		return "InternalServerError"
	default:
		return "BadRequestError"
	}
}

// marshal is encoding/json without HTML escaping, as the real services write it. It panics on values that cannot be
// encoded, which our own wire structs never are.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("openai: encoding %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
