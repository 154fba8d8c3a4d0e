package script

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Value is any JSON value. It keeps the order of members as written, since that is the order in which a model says
// them. The zero value is null.
type Value struct{ raw []byte }

// NewValue makes a Value of JSON text.
func NewValue(text []byte) (Value, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return Value{}, err
	}
	return Value{raw: b.Bytes()}, nil
}

// String is the value as compact JSON.
func (v Value) String() string {
	if v.raw == nil {
		return "null"
	}
	return string(v.raw)
}

// MarshalJSON returns the value as it was written, compact.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(v.String()), nil }

// text is the string if the value is one.
func (v Value) text() (string, bool) {
	if len(v.raw) == 0 || v.raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(v.raw, &s)
	return s, err == nil
}

func (v *Value) decodeNode(d *decoder, n *yaml.Node, path string, depth int) {
	v.raw = d.appendJSON(nil, n, path, depth)
}

// appendJSON writes a node as JSON, members in their order.
func (d *decoder) appendJSON(dst []byte, n *yaml.Node, path string, depth int) []byte {
	n, ok := d.enter(n, path, depth)
	if !ok {
		return append(dst, "null"...)
	}
	switch n.Kind {
	case yaml.MappingNode:
		dst = append(dst, '{')
		first := true
		d.members(n, path, func(key string, _, member *yaml.Node) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(appendString(dst, key), ':')
			dst = d.appendJSON(dst, member, join(path, key), depth+1)
		})
		return append(dst, '}')
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, e := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = d.appendJSON(dst, e, path+"["+strconv.Itoa(i)+"]", depth+1)
		}
		return append(dst, ']')
	default:
		return d.appendScalar(dst, n, path)
	}
}

func (d *decoder) appendScalar(dst []byte, n *yaml.Node, path string) []byte {
	switch n.Tag {
	case "!!null":
		return append(dst, "null"...)
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return strconv.AppendBool(dst, b)
		}
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return append(dst, n.Value...)
		}
		var i int64
		if n.Tag == "!!int" && n.Decode(&i) == nil {
			return strconv.AppendInt(dst, i, 10)
		}
		var f float64
		if n.Decode(&f) == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return strconv.AppendFloat(dst, f, 'g', -1, 64)
		}
	case "!!binary":
	default:
		return appendString(dst, n.Value)
	}
	d.fail(n, path, "%q cannot be written as JSON", clip(n.Value))
	return append(dst, "null"...)
}

// appendString writes s as a JSON string without HTML escaping; invalid UTF-8 becomes the replacement character.
func appendString(dst []byte, s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes.
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// decodeNode takes a plain scalar as equalTo.
func (t *Text) decodeNode(d *decoder, n *yaml.Node, path string, depth int) {
	type plain Text
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		s := n.Value
		t.EqualTo = &s
		return
	}
	var p plain
	d.fill(n, &p, path, depth)
	*t = Text(p)
}

// MarshalJSON writes the short form where it says the same.
func (t Text) MarshalJSON() ([]byte, error) {
	type plain Text
	if t.EqualTo != nil {
		only := Text{EqualTo: t.EqualTo}
		if t.isOnly(only) {
			return appendString(nil, *t.EqualTo), nil
		}
	}
	return marshal(plain(t))
}

// isOnly reports whether t says nothing but equalTo.
func (t Text) isOnly(o Text) bool {
	return o.EqualTo == t.EqualTo && t.Contains == nil && t.DoesNotContain == nil && t.Matches == nil &&
		t.DoesNotMatch == nil && t.Glob == nil && t.Absent == nil && t.AtLeast == nil && t.AtMost == nil &&
		!t.CaseInsensitive && t.And == nil && t.Or == nil && t.Not == nil
}

// decodeNode takes a plain number as exactly that.
func (r *Range) decodeNode(d *decoder, n *yaml.Node, path string, depth int) {
	type plain Range
	if n.Kind == yaml.ScalarNode && n.Tag == "!!int" {
		i, err := strconv.Atoi(n.Value)
		if err != nil {
			d.fail(n, path, "expected a whole number, got %q", clip(n.Value))
		}
		r.Min, r.Max = &i, &i
		return
	}
	var p plain
	d.fill(n, &p, path, depth)
	*r = Range(p)
}

// marshal is encoding/json without HTML escaping.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
