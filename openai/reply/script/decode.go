package script

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of a file: nodes visited (aliases count each time, so that a file of aliases cannot blow up), nesting, and how
// many problems are reported before giving up.
const (
	maxNodes  = 1 << 18
	maxNest   = 64
	maxErrors = 20
)

// decoder fills typed values from nodes and is strict: unknown and repeated keys and wrong kinds are errors with file,
// line and path.
type decoder struct {
	file   string
	errs   []error
	budget int
}

// nodeDecoder is implemented by types with a short form.
type nodeDecoder interface {
	decodeNode(d *decoder, n *yaml.Node, path string, depth int)
}

func newDecoder(file string) *decoder { return &decoder{file: file, budget: maxNodes} }

// err is every problem found, or nil.
func (d *decoder) err() error { return errors.Join(d.errs...) }

func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	if len(d.errs) >= maxErrors {
		return
	}
	where := fmt.Sprintf("%s:%d", d.file, n.Line)
	if path != "" {
		where += ": " + path
	}
	d.errs = append(d.errs, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

// enter follows aliases and spends the budget; it reports false when the file is too large or too deep.
func (d *decoder) enter(n *yaml.Node, path string, depth int) (*yaml.Node, bool) {
	d.budget--
	switch {
	case d.budget < 0:
		if d.budget == -1 {
			d.fail(n, path, "more than %d values, aliases counted", maxNodes)
		}
		return n, false
	case depth > maxNest:
		d.fail(n, path, "nests deeper than %d levels", maxNest)
		d.budget = -1
		return n, false
	case n.Kind == yaml.AliasNode:
		return d.enter(n.Alias, path, depth+1)
	default:
		return n, true
	}
}

func (d *decoder) value(n *yaml.Node, v reflect.Value, path string, depth int) {
	n, ok := d.enter(n, path, depth)
	if !ok {
		return
	}
	if h, ok := reflect.TypeAssert[nodeDecoder](v.Addr()); ok {
		h.decodeNode(d, n, path, depth)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if isNull(n) {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), path, depth)
	case reflect.Struct:
		d.object(n, v, path, depth)
	case reflect.Slice:
		d.list(n, v, path, depth)
	case reflect.Map:
		d.mapping(n, v, path, depth)
	default:
		d.scalar(n, v, path)
	}
}

func (d *decoder) object(n *yaml.Node, v reflect.Value, path string, depth int) {
	d.members(n, path, func(key string, at, member *yaml.Node) {
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == key {
				d.value(member, v.Field(i), join(path, key), depth+1)
				return
			}
		}
		d.fail(at, path, "unknown key %q, known are %s", key, strings.Join(fieldNames(v.Type()), ", "))
	})
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string, depth int) {
	v.Set(reflect.MakeMap(v.Type()))
	d.members(n, path, func(key string, _, member *yaml.Node) {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(member, e, join(path, key), depth+1)
		v.SetMapIndex(reflect.ValueOf(key), e)
	})
}

// members calls f for each pair of a mapping node.
func (d *decoder) members(n *yaml.Node, path string, f func(key string, at, member *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "expected a mapping, got %s", kindOf(n))
		return
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.fail(key, path, "a key must be a plain string")
		case key.Tag == "!!merge":
			d.fail(key, path, "merge keys are not supported")
		case seen[key.Value]:
			d.fail(key, path, "key %q is repeated", key.Value)
		default:
			seen[key.Value] = true
			f(key.Value, key, n.Content[i+1])
		}
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string, depth int) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.fail(n, path, "expected a list, got %s", kindOf(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, e := range n.Content {
		d.value(e, out.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1)
	}
	v.Set(out)
}

// scalar takes any scalar for a string, so that "equalTo: 3" means the text 3.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode || (isNull(n) && v.Kind() != reflect.String) {
		d.fail(n, path, "expected %s, got %s", wanted(v.Kind()), kindOf(n))
		return
	}
	bad := func() { d.fail(n, path, "expected %s, got %q", wanted(v.Kind()), clip(n.Value)) }
	switch v.Kind() {
	case reflect.String:
		if isNull(n) {
			d.fail(n, path, "expected a string, got null")
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		var b bool
		if n.Tag != "!!bool" || n.Decode(&b) != nil {
			bad()
			return
		}
		v.SetBool(b)
	case reflect.Int:
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil || n.Tag == "!!str" || v.OverflowInt(i) {
			bad()
			return
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || n.Tag == "!!str" || math.IsNaN(f) || math.IsInf(f, 0) {
			bad()
			return
		}
		v.SetFloat(f)
	default:
		panic("script: no decoding for kind " + v.Kind().String())
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func wanted(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	default:
		return "a string"
	}
}

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "null"
	default:
		return fmt.Sprintf("%q", clip(n.Value))
	}
}

// clip shortens what is quoted in messages.
func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:57], "") + "..."
}
