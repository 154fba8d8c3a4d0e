package schema

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// compileError turns what the validator says about a schema into an Error.
func (s *Schema) compileError(err error) *Error {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			leaf := deepest(v)
			path, keyword := splitKeyword(leaf.InstanceLocation)
			return &Error{Path: path, Keyword: keyword, Reason: "invalid: " + reason(leaf)}
		}
	}
	if _, ok := errors.AsType[*jsonschema.UnsupportedDraftError](err); ok {
		return unsupported(nil, "$schema", "%v", err)
	}
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		if load.URL != "" && s.hasDialect(load.URL) {
			return unsupported(nil, "$schema", "dialect %s is not known", load.URL)
		}
		return unsupported(nil, "$ref", "%v", err)
	}
	if _, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		return unsupported(nil, "pattern", "%v", err)
	}
	return unsupported(nil, "schema", "%v", err)
}

func (s *Schema) hasDialect(uri string) bool {
	for _, o := range s.doc.all {
		if strings.TrimSuffix(o.text("$schema"), "#") == strings.TrimSuffix(uri, "#") {
			return true
		}
	}
	return false
}

// deepest follows the first causes down to the reason proper.
func deepest(v *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	return v
}

// keywords that can hold what is wrong, for finding the one in a path.
var valueKeywords = []string{
	"type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
	"minLength", "pattern", "format", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
	"maxProperties", "minProperties", "required", "dependentRequired", "$ref", "$dynamicRef", "$anchor",
	"$dynamicAnchor", "$id", "$schema", "$vocabulary", "$comment", "title", "description", "examples", "deprecated", "readOnly", "writeOnly",
}

// splitKeyword divides a place in a schema into that of the innermost schema and a keyword.
func splitKeyword(location []string) (path, keyword string) {
	for i, k := range slices.Backward(location) {
		named := i > 0 && slices.Contains(schemaMaps, location[i-1])
		known := slices.Contains(valueKeywords, k) || slices.Contains(oneSchema, k) ||
			slices.Contains(schemaLists, k) || slices.Contains(schemaMaps, k)
		if known && !named {
			return pointerOf(location[:i]), k
		}
	}
	return pointerOf(location), "schema"
}

func pointerOf(steps []string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString("/" + escapePointer(s))
	}
	return b.String()
}

// validationError names the keyword that a value does not fit.
func validationError(err error) *Error {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return impossible(nil, "schema", "%v", err)
	}
	keyword := ""
	at := v
	for {
		path := at.ErrorKind.KeywordPath()
		if len(path) > 0 {
			keyword = path[0]
		}
		switch at.ErrorKind.(type) {
		case *kind.Not:
			keyword = "not"
		case *kind.OneOf, *kind.AnyOf, *kind.Contains:
			// What failed inside one alternative is not what is wrong.
		default:
			if len(at.Causes) > 0 {
				at = at.Causes[0]
				continue
			}
		}
		break
	}
	if keyword == "" {
		keyword = "schema"
	}
	_, fragment, _ := strings.Cut(at.SchemaURL, "#")
	if p, err := url.PathUnescape(fragment); err == nil {
		fragment = p
	}
	return &Error{
		Path: fragment, Keyword: keyword, Unsatisfiable: true,
		Reason: "no value found that fits: " + reason(at),
	}
}

// reason is the validator's sentence about one place, without its heading.
func reason(v *jsonschema.ValidationError) string {
	text := v.Error()
	if i := strings.LastIndex(text, "': "); i >= 0 {
		text = text[i+3:]
	}
	return text
}
