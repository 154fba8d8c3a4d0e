package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/json"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	yamlv3 "go.yaml.in/yaml/v3"
)

// ParseFile reads the settings of a YAML or (by its suffix) JSON file: a flat map from key to value, and for every key
// where it stands. Dashes in keys count as underscores, so a file written for an engine's own flags works too. The error
// names the file and the line.
func ParseFile(path string, data []byte) (map[string]any, map[string]string, error) {
	var parser koanf.Parser = yaml.Parser()
	if strings.HasSuffix(path, ".json") {
		parser = json.Parser()
	}
	lines, err := keyLines(path, data)
	if err != nil {
		return nil, nil, err
	}
	k := koanf.New("\x00")
	if err := k.Load(rawbytes.Provider(data), parser); err != nil {
		return nil, nil, syntaxError(path, data, err)
	}
	values, from := map[string]any{}, map[string]string{}
	for key, v := range k.Raw() {
		name := strings.ReplaceAll(key, "-", "_")
		if _, twice := values[name]; twice {
			return nil, nil, fmt.Errorf("%s:%d: %s is set twice", path, lines[key], name)
		}
		values[name] = v
		from[name] = fmt.Sprintf("%s:%d", path, lines[key])
	}
	return values, from, nil
}

// keyLines finds the line of every top-level key. JSON is YAML here: only positions are read.
func keyLines(path string, data []byte) (map[string]int, error) {
	var doc, second yamlv3.Node
	d := yamlv3.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, syntaxError(path, data, err)
	}
	if err := d.Decode(&second); err == nil {
		return nil, fmt.Errorf("%s:%d: a second document; settings are one mapping", path, second.Line)
	}
	lines := map[string]int{}
	if len(doc.Content) == 0 {
		return lines, nil
	}
	root := doc.Content[0]
	if root.Kind != yamlv3.MappingNode {
		return nil, fmt.Errorf("%s:%d: settings must be a mapping of keys to values", path, root.Line)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		if first, twice := lines[key.Value]; twice {
			return nil, fmt.Errorf("%s:%d: %s is set twice, first in line %d", path, key.Line, key.Value, first)
		}
		lines[key.Value] = key.Line
	}
	return lines, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
