package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"sort"
	"strconv"
	"strings"
)

// object is a JSON object that remembers the order of its members. In a schema it also knows where it stands.
type object struct {
	keys []string
	m    map[string]any
	path string // JSON pointer from the root of the document
	base string // URI of the resource it belongs to
}

func newObject() *object { return &object{m: map[string]any{}} }

func (o *object) set(key string, v any) {
	if _, ok := o.m[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.m[key] = v
}

func (o *object) has(key string) bool {
	_, ok := o.m[key]
	return ok
}

// object returns a member that is an object, or nil.
func (o *object) object(key string) *object {
	v, _ := o.m[key].(*object)
	return v
}

func (o *object) list(key string) []any {
	v, _ := o.m[key].([]any)
	return v
}

func (o *object) text(key string) string {
	v, _ := o.m[key].(string)
	return v
}

// maxDepth bounds the nesting of schemas and values.
const maxDepth = 200

// parse reads one JSON value: *object, []any, string, json.Number, bool or nil.
func parse(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if n, ok := t.(json.Number); ok && !reasonable(string(n)) {
		return nil, fmt.Errorf("number %.20s… has more than %d digits", n, maxDigits)
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	o := newObject()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := parseValue(d, depth+1)
		if err != nil {
			return nil, inMember(key.(string), err)
		}
		o.set(key.(string), v)
	}
	_, err = d.Token()
	return o, err
}

// memberError remembers the innermost member that an error is in.
type memberError struct {
	member string
	err    error
}

func (e *memberError) Error() string { return e.err.Error() }

func inMember(name string, err error) error {
	if _, ok := errors.AsType[*memberError](err); ok {
		return err
	}
	return &memberError{name, err}
}

// plain turns a value into what the validator takes: maps for objects.
func plain(v any) any {
	switch v := v.(type) {
	case *object:
		m := make(map[string]any, len(v.m))
		for _, k := range v.keys {
			m[k] = plain(v.m[k])
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plain(e)
		}
		return list
	default:
		return v
	}
}

// appendJSON writes a value as compact JSON, members in order.
func appendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case *object:
		dst = append(dst, '{')
		for i, k := range v.keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, k), ':')
			dst = appendJSON(dst, v.m[k])
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, e)
		}
		return append(dst, ']')
	case json.Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case bool:
		if v {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	default:
		return append(dst, "null"...)
	}
}

func appendString(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// canonical is equal for two values exactly if JSON Schema calls them equal: numbers by value, objects in any order.
func canonical(v any) string {
	switch v := v.(type) {
	case *object:
		keys := append([]string(nil), v.keys...)
		sort.Strings(keys)
		var b strings.Builder
		b.WriteByte('{')
		for _, k := range keys {
			b.Write(appendString(nil, k))
			b.WriteByte(':')
			b.WriteString(canonical(v.m[k]))
			b.WriteByte(',')
		}
		return b.String() + "}"
	case []any:
		var b strings.Builder
		b.WriteByte('[')
		for _, e := range v {
			b.WriteString(canonical(e))
			b.WriteByte(',')
		}
		return b.String() + "]"
	case json.Number:
		if r := rat(v); r != nil {
			return r.RatString()
		}
		return string(v)
	default:
		return string(appendJSON(nil, v))
	}
}

// maxDigits bounds numbers, whose exact arithmetic would else take unreasonable time. Floats need 308 before the point.
const maxDigits = 400

func reasonable(number string) bool {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	n, err := strconv.Atoi(cmp.Or(exponent, "0"))
	return len(mantissa) <= maxDigits && err == nil && n <= maxDigits && n >= -maxDigits
}

// rat reads a number exactly; nil for what is no number.
func rat(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}
