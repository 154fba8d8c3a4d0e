package script

import (
	"fmt"
	"strconv"
	"strings"
)

// step is one step of a path: a member name, an index, or every element.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind uint8

const (
	byName stepKind = iota
	byIndex
	byAll
)

// maxSteps bounds a path, maxFound what one path may find in a body.
const (
	maxSteps = 32
	maxFound = 4096
)

// parsePath reads the subset of JSONPath that the package doc names. O(len(s)).
func parsePath(s string) ([]step, error) {
	if !strings.HasPrefix(s, "$") {
		return nil, fmt.Errorf("path %q must start with $", clip(s))
	}
	var steps []step
	for rest := s[1:]; rest != ""; {
		st, after, err := parseStep(rest)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", clip(s), err)
		}
		if steps = append(steps, st); len(steps) > maxSteps {
			return nil, fmt.Errorf("path %q has more than %d steps", clip(s), maxSteps)
		}
		rest = after
	}
	return steps, nil
}

func parseStep(s string) (st step, rest string, err error) {
	switch {
	case strings.HasPrefix(s, ".."):
		return st, "", fmt.Errorf("recursive descent (..) is not supported")
	case s[0] == '.':
		end := strings.IndexAny(s[1:], ".[")
		if end < 0 {
			end = len(s) - 1
		}
		name := s[1 : 1+end]
		switch name {
		case "":
			return st, "", fmt.Errorf("a name is missing after the dot")
		case "*":
			return step{kind: byAll}, s[1+end:], nil
		}
		return step{name: name}, s[1+end:], nil
	case s[0] != '[':
		return st, "", fmt.Errorf("expected . or [ at %q", clip(s))
	}
	if len(s) > 1 && (s[1] == '\'' || s[1] == '"') {
		end := strings.Index(s[2:], string(s[1])+"]")
		if end < 0 {
			return st, "", fmt.Errorf("quote not closed in %q", clip(s))
		}
		return step{name: s[2 : 2+end]}, s[2+end+2:], nil
	}
	end := strings.IndexByte(s, ']')
	if end < 0 {
		return st, "", fmt.Errorf("bracket not closed in %q", clip(s))
	}
	inner, rest := s[1:end], s[end+1:]
	if inner == "*" {
		return step{kind: byAll}, rest, nil
	}
	i, err := strconv.Atoi(inner)
	if err != nil {
		return st, "", fmt.Errorf("%q is neither an index, * nor a quoted name; filters are not supported", clip(inner))
	}
	return step{index: i, kind: byIndex}, rest, nil
}

// find returns every value that a path leads to in a decoded body, in document order; [*] over an object is refused by
// finding nothing, since the order of its members is lost.
func find(v any, path []step) []any {
	found := []any{v}
	for _, st := range path {
		var next []any
		for _, v := range found {
			switch v := v.(type) {
			case map[string]any:
				if e, ok := v[st.name]; ok && st.kind == byName {
					next = append(next, e)
				}
			case []any:
				next = append(next, elements(v, st)...)
			}
			if len(next) > maxFound {
				next = next[:maxFound]
				break
			}
		}
		found = next
	}
	return found
}

func elements(v []any, st step) []any {
	switch st.kind {
	case byAll:
		return v
	case byIndex:
		i := st.index
		if i < 0 {
			i += len(v)
		}
		if i >= 0 && i < len(v) {
			return v[i : i+1]
		}
	case byName:
	}
	return nil
}
