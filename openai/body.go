package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"
)

// readBody takes a whole JSON body off the wire within the size and time limits. It answers 415 for what is not JSON,
// 413 for what is too large, 408 for what arrives too slowly.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := checkContentType(r.Header); err != nil {
		return nil, err
	}
	limit := s.opts.MaxBodyBytes
	tooLarge := &APIError{
		Status: http.StatusRequestEntityTooLarge, Type: typeInvalid, Code: "request_too_large",
		Message: fmt.Sprintf("the request body is larger than the limit of %d bytes", limit),
	}
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	// A connection that cannot keep deadlines (a test's recorder) simply has none.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(s.opts.BodyTimeout))
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(min(r.ContentLength, 1<<20)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(unwrap(w), r.Body, limit))
	if err == nil {
		return buf.Bytes(), nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return nil, &APIError{
			Status: http.StatusRequestTimeout, Type: typeInvalid, Code: "timeout",
			Message: fmt.Sprintf("the request body did not arrive within %v", s.opts.BodyTimeout),
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, badRequest("", "", "the request body ended before its announced length of %d bytes", r.ContentLength)
	}
	return nil, badRequest("", "", "reading the request body: %v", err)
}

// checkContentType accepts JSON in UTF-8 and a missing header.
func checkContentType(h http.Header) error {
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return unsupportedMedia("content-encoding %q is not supported, send the body uncompressed", enc)
	}
	ct := h.Get("Content-Type")
	if ct == "" {
		return nil
	}
	media, params, err := mime.ParseMediaType(ct)
	if err != nil || (media != "application/json" && !strings.HasSuffix(media, "+json")) {
		return unsupportedMedia("content-type %q is not supported, use application/json", ct)
	}
	if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") && !strings.EqualFold(cs, "us-ascii") {
		return unsupportedMedia("charset %q is not supported, use utf-8", cs)
	}
	return nil
}

func unsupportedMedia(format string, args ...any) *APIError {
	return &APIError{
		Status: http.StatusUnsupportedMediaType, Type: typeInvalid, Code: "unsupported_media_type",
		Message: fmt.Sprintf(format, args...),
	}
}

// decodeBody parses a JSON object into v, a pointer to a shadow struct: depth first, then syntax with its position,
// then types with their field. O(len(body)).
func decodeBody(body []byte, v any, maxDepth int) error {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 {
		return badRequest("", "", "the request body is empty, a JSON object is expected")
	}
	if at := tooDeep(body, maxDepth); at >= 0 {
		return badRequest("", "", "the request body nests deeper than %d levels at byte %d", maxDepth, at)
	}
	if trimmed[0] != '{' && json.Valid(body) {
		return badRequest("", "", "the request body is %s, a JSON object is expected", kindOf(trimmed))
	}
	return decodeError(body, json.Unmarshal(body, v), "")
}

// decodeError turns an error of encoding/json into an answer; prefix is the path of the decoded value in the request.
func decodeError(body []byte, err error, prefix string) error {
	if err == nil {
		return nil
	}
	if syn, ok := errors.AsType[*json.SyntaxError](err); ok {
		line, col := position(body, syn.Offset)
		return badRequest("", "", "could not parse the JSON body: %s at line %d, column %d (byte %d)",
			syn.Error(), line, col, syn.Offset)
	}
	if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		param := joinPath(prefix, fieldPath(typ.Field))
		return badRequest(param, codeType, "invalid type for '%s': expected %s, got %s",
			orDefault(param, "request"), expected(typ.Type), typ.Value)
	}
	if api, ok := errors.AsType[*APIError](err); ok {
		return api
	}
	return badRequest(prefix, codeType, "invalid value for '%s': %v", orDefault(prefix, "request"), err)
}

// fieldPath drops the names of embedded structs, which encoding/json counts as path elements.
func fieldPath(path string) string {
	parts := strings.Split(path, ".")
	kept := parts[:0]
	for _, p := range parts {
		switch {
		case p == "", p[0] >= 'A' && p[0] <= 'Z':
		case p == "shared", p == "engineFields", p == "deepChat", p == "deepCompletion":
		default:
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ".")
}

func joinPath(prefix, path string) string {
	switch {
	case prefix == "":
		return path
	case path == "":
		return prefix
	default:
		return prefix + "." + path
	}
}

// expected says what a Go type wants in JSON's words.
func expected(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Pointer:
		return expected(t.Elem())
	default:
		return "an object"
	}
}

// kindOf names the kind of a JSON value by its first byte.
func kindOf(raw []byte) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// tooDeep returns the offset at which brackets nest deeper than limit, or -1. Strings are skipped. O(len(b)).
func tooDeep(b []byte, limit int) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > limit {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// position translates an offset into a line and a column, both from 1.
func position(b []byte, offset int64) (line, col int) {
	head := b[:min(max(offset, 0), int64(len(b)))]
	line = bytes.Count(head, []byte("\n")) + 1
	return line, len(head) - bytes.LastIndexByte(head, '\n') - 1
}
