package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// syntaxError says, in the form of all other problems, in which line of a file something cannot be read.
func syntaxError(path string, data []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		// The offset is behind the byte that does not fit.
		before := data[:min(max(syntax.Offset-1, 0), int64(len(data)))]
		return fmt.Errorf("%s:%d: %w", path, 1+bytes.Count(before, []byte("\n")), err)
	}
	if several, ok := errors.AsType[*yamlv3.TypeError](err); ok {
		var all []error
		for _, text := range several.Errors {
			all = append(all, yamlError(path, data, text))
		}
		return errors.Join(all...)
	}
	return yamlError(path, data, err.Error())
}

// lineOf takes the position out of a message of the YAML parser.
var lineOf = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s).*)$`)

// unshifted are the messages for which the parser counts lines from 0; for all others it counts from 1. In either case
// it leaves out a 0, which is the first line.
var unshifted = []string{
	"did not find expected <document start>", "did not find expected node content", "did not find expected '-' indicator",
	"did not find expected key", "did not find expected ',' or ']'", "did not find expected ',' or '}'",
}

func yamlError(path string, data []byte, text string) error {
	m := lineOf.FindStringSubmatch(text)
	line, why := 1, m[2]
	if m[1] != "" {
		line, _ = strconv.Atoi(m[1]) // the pattern has digits only
		if slices.Contains(unshifted, why) {
			line++
		}
		return fmt.Errorf("%s:%d: %s", path, line, why)
	}
	// These know no position at all.
	if name, ok := strings.CutPrefix(why, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		line = lineWith(data, func(l []byte) bool { return bytes.Contains(l, []byte("*"+name)) })
	} else if why == "control characters are not allowed" {
		line = lineWith(data, func(l []byte) bool {
			return bytes.ContainsFunc(l, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' || r == 0x7f })
		})
	}
	return fmt.Errorf("%s:%d: %s", path, line, why)
}

// lineWith is the number of the first line that fits, 1 if none does.
func lineWith(data []byte, fits func([]byte) bool) int {
	return 1 + max(0, slices.IndexFunc(bytes.Split(data, []byte("\n")), fits))
}
