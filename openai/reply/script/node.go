package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxFile bounds a file of mappings, in bytes.
const MaxFile = 8 << 20

// parseTree reads YAML, or JSON if the first byte opens an object or a list and all of it is JSON: YAML readers refuse
// some escapes that JSON allows. A document without content is nil.
func parseTree(file string, data []byte) (*yaml.Node, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes, the limit is %d", file, len(data), MaxFile)
	}
	if t := bytes.TrimLeft(data, " \t\r\n"); len(t) > 0 && (t[0] == '{' || t[0] == '[') && json.Valid(data) {
		return jsonTree(file, data)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var more yaml.Node
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document", file)
	}
	if len(doc.Content) != 1 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// jsonTree reads valid JSON into the same nodes, with lines.
func jsonTree(file string, data []byte) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	r := treeReader{dec: dec, data: data, line: 1}
	n, err := r.next(0)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, r.line, err)
	}
	return n, nil
}

type treeReader struct {
	dec  *json.Decoder
	data []byte
	// counted bytes hold line-1 newlines.
	counted int64
	line    int
}

func (r *treeReader) next(depth int) (*yaml.Node, error) {
	if depth > maxNest {
		return nil, fmt.Errorf("nests deeper than %d levels", maxNest)
	}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	return r.node(tok, depth)
}

func (r *treeReader) node(tok json.Token, depth int) (*yaml.Node, error) {
	at := r.dec.InputOffset()
	r.line += bytes.Count(r.data[r.counted:at], []byte("\n"))
	r.counted = at
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line}
	switch v := tok.(type) {
	case json.Delim:
		n.Kind = yaml.SequenceNode
		if v == '{' {
			n.Kind = yaml.MappingNode
		}
		for r.dec.More() {
			e, err := r.next(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, e)
		}
		_, err := r.dec.Token()
		return n, err
	case string:
		n.Tag, n.Value = "!!str", v
	case json.Number:
		n.Tag, n.Value = "!!float", v.String()
		if !strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!int"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	default:
		return nil, fmt.Errorf("unexpected token %v", tok)
	}
	return n, nil
}

// fill decodes into a pointer to a struct without asking the type's own short form again.
func (d *decoder) fill(n *yaml.Node, into any, path string, depth int) {
	d.object(n, reflect.ValueOf(into).Elem(), path, depth)
}
