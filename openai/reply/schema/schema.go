package schema

import (
	"bytes"
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled schema. It never changes and is safe for concurrent use.
type Schema struct {
	doc     *document
	cost    costs
	root    *jsonschema.Schema
	checks  map[*object]*jsonschema.Schema // the validator's view of every schema
	hard    map[*object]bool               // schemas whose values are checked on the spot
	regexps map[string]*expression         // by pattern as written
}

// hardKeywords are those that the choices of flatten and the makers may fail to satisfy.
var hardKeywords = []string{
	"not", "oneOf", "if", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems", "contains",
	"maxContains", "propertyNames", "$dynamicRef", "patternProperties", "additionalProperties", "format",
}

// maxSchemas bounds the schemas inside one.
const maxSchemas = 20_000

// Compile prepares a schema, an object or a boolean. The error is an *Error that names the keyword at fault.
// O(size × nesting).
func Compile(raw []byte) (*Schema, error) {
	s, err := compile(raw)
	if err != nil {
		return nil, err // not a nil *Error in an error
	}
	return s, nil
}

func compile(raw []byte) (*Schema, *Error) {
	root, err := parse(raw)
	if err != nil {
		keyword := "schema"
		if m, ok := errors.AsType[*memberError](err); ok {
			keyword = m.member
		}
		return nil, unsupported(nil, keyword, "%v", err)
	}
	switch root.(type) {
	case *object, bool:
	default:
		return nil, unsupported(nil, "schema", "must be an object or a boolean")
	}
	s := &Schema{
		doc: newDocument(root), checks: map[*object]*jsonschema.Schema{}, hard: map[*object]bool{},
		regexps: map[string]*expression{},
	}
	if len(s.doc.all) > maxSchemas {
		return nil, unsupported(nil, "schema", "%d schemas in one, at most %d are read", len(s.doc.all), maxSchemas)
	}
	if e := s.checkRefs(); e != nil {
		return nil, e
	}
	s.cost = s.doc.measure()
	if s.cost.of(root) >= infinite {
		return nil, s.doc.endless(root, s.cost, nil, "schema", map[*object]bool{})
	}
	if e := s.compileRegexps(); e != nil {
		return nil, e
	}
	if e := s.compileValidators(raw); e != nil {
		return nil, e
	}
	return s, nil
}

// checkRefs resolves every reference once, so that a bad one is found whatever is generated.
func (s *Schema) checkRefs() *Error {
	for i := 0; i < len(s.doc.all); i++ { // resolving may register more
		o := s.doc.all[i]
		for _, k := range []string{"$ref", "$dynamicRef"} {
			if o.has(k) {
				target, err := s.doc.find(o, k)
				if err != nil {
					return err
				}
				s.doc.targets[reference{o, k}] = target
			}
		}
	}
	return nil
}

func (s *Schema) compileRegexps() *Error {
	for _, o := range s.doc.all {
		if p, ok := o.m["pattern"].(string); ok {
			if err := s.addRegexp(p); err != nil {
				return unsupported(o, "pattern", "%q: %v", p, err)
			}
		}
		if m := o.object("patternProperties"); m != nil {
			for _, p := range m.keys {
				if err := s.addRegexp(p); err != nil {
					return unsupported(o, "patternProperties", "%q: %v", p, err)
				}
			}
		}
	}
	return nil
}

func (s *Schema) addRegexp(pattern string) error {
	if s.regexps[pattern] != nil {
		return nil
	}
	e, err := newExpression(pattern)
	if err != nil {
		return err
	}
	s.regexps[pattern] = e
	return nil
}

// noLoader refuses to fetch schemas.
type noLoader struct{}

func (noLoader) Load(uri string) (any, error) {
	return nil, errors.New(uri + " is not in this schema, and nothing is fetched")
}

// compileValidators has the independent validator compile the whole and every schema in it.
func (s *Schema) compileValidators(raw []byte) *Error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return unsupported(nil, "schema", "no JSON: %v", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) { return newExpression(pattern) })
	if err := c.AddResource(rootURI, doc); err != nil {
		return unsupported(nil, "schema", "%v", err)
	}
	if s.root, err = c.Compile(rootURI); err != nil {
		return s.compileError(err)
	}
	for _, o := range s.doc.all {
		// A place that the validator does not take for a schema is left unchecked until the end.
		if v, err := c.Compile(rootURI + "#" + o.path); err == nil {
			s.checks[o] = v
			s.hard[o] = slices.ContainsFunc(hardKeywords, o.has)
		}
	}
	return nil
}

// Generate invents a value and returns it as compact JSON text, members in the order of the schema. The error is an
// *Error. Equal seeds give equal text.
func (s *Schema) Generate(seed uint64) ([]byte, error) {
	v, err := s.generate(seed)
	if err != nil {
		return nil, err
	}
	return appendJSON(nil, v), nil
}

// Validate reports whether a value, given as JSON text, fits; the error is an *Error.
func (s *Schema) Validate(text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return unsupported(nil, "schema", "no JSON: %v", err)
	}
	if err := s.root.Validate(v); err != nil {
		return validationError(err)
	}
	return nil
}
