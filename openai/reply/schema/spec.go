package schema

import (
	"slices"
	"strings"
)

// typeSet is a set of JSON types. A number is an integer or a fraction: "number" is both.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBool
	typeInteger
	typeFraction
	typeString
	typeArray
	typeObject

	typeNumber = typeInteger | typeFraction
	allTypes   = 1<<7 - 1
)

func typeNamed(v any) typeSet {
	switch v {
	case "null":
		return typeNull
	case "boolean":
		return typeBool
	case "integer":
		return typeInteger
	case "number":
		return typeNumber
	case "string":
		return typeString
	case "array":
		return typeArray
	case "object":
		return typeObject
	}
	return 0
}

// typesOf are the types that the keyword type of o allows.
func typesOf(o *object) typeSet {
	switch t := o.m["type"].(type) {
	case string:
		return typeNamed(t)
	case []any:
		var set typeSet
		for _, e := range t {
			set |= typeNamed(e)
		}
		return set
	}
	return allTypes
}

// spec is the conjunction of all schemas that apply to one value.
type spec struct {
	objects []*object
	types   typeSet
	avoid   []string // optional properties that a "not" forbids
	chosen  bool     // flatten chose among alternatives, another choice may do better
	check   bool     // some schema has hard keywords
}

// flatten adds a schema and everything it says about the same value: references, allOf, one alternative of anyOf and
// oneOf, and of if, then and else.
func (g *generator) flatten(sp *spec, v any, from *object, keyword string) *Error {
	o, ok := v.(*object)
	if !ok {
		if v == false {
			return impossible(from, keyword, "allows no value")
		}
		return nil
	}
	if slices.Contains(sp.objects, o) {
		return nil // a reference in a circle says nothing new
	}
	sp.objects = append(sp.objects, o)
	if sp.types &= typesOf(o); sp.types == 0 {
		return impossible(o, "type", "no type is left that all schemas allow")
	}
	if g.s.hard[o] {
		sp.check = true
	}
	for _, k := range []string{"$ref", "$dynamicRef"} {
		if o.has(k) {
			if err := g.flatten(sp, g.s.doc.resolve(o, k), o, k); err != nil {
				return err
			}
		}
	}
	for _, e := range o.list("allOf") {
		if err := g.flatten(sp, e, o, "allOf"); err != nil {
			return err
		}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if list := o.list(k); len(list) > 0 {
			if err := g.choose(sp, o, k, list); err != nil {
				return err
			}
		}
	}
	if n, ok := o.m["not"]; ok {
		if err := sp.forbid(o, n); err != nil {
			return err
		}
	}
	return g.condition(sp, o)
}

// choose flattens one of several alternatives: the shallowest where depth is short, else any, null rarely. Tries after
// the first go round them.
func (g *generator) choose(sp *spec, o *object, keyword string, list []any) *Error {
	type option struct {
		schema any
		null   bool
	}
	var options []option
	best := infinite
	for _, e := range list {
		alt, isObject := e.(*object)
		cost := g.s.cost.of(e)
		if cost >= infinite || isObject && typesOf(alt)&sp.types == 0 {
			continue
		}
		if g.tight() && cost > best {
			continue
		}
		if g.tight() && cost < best {
			best, options = cost, options[:0]
		}
		options = append(options, option{e, isObject && typesOf(alt) == typeNull})
	}
	if len(options) == 0 {
		return impossible(o, keyword, "no alternative fits the other keywords")
	}
	sp.chosen = sp.chosen || len(options) > 1
	i := g.turn(len(options))
	if options[i].null && g.try == 0 && g.below(4) > 0 {
		i = (i + 1) % len(options)
	}
	return g.flatten(sp, options[i].schema, o, keyword)
}

// condition takes the side of "then" or of "else". The check finds out whether the value is on that side.
func (g *generator) condition(sp *spec, o *object) *Error {
	cond, ok := o.m["if"]
	if !ok || !o.has("then") && !o.has("else") {
		return nil
	}
	sp.chosen = true
	if g.turn(2) == 0 {
		if err := g.flatten(sp, cond, o, "if"); err != nil {
			return err
		}
		if then, ok := o.m["then"]; ok {
			return g.flatten(sp, then, o, "then")
		}
		return nil
	}
	if other, ok := o.m["else"]; ok {
		return g.flatten(sp, other, o, "else")
	}
	return nil
}

// forbid uses what a "not" says plainly; the check does the rest.
func (sp *spec) forbid(o *object, not any) *Error {
	if not == true {
		return impossible(o, "not", "true allows no value")
	}
	n, ok := not.(*object)
	if !ok {
		return nil
	}
	switch {
	case len(n.keys) == 0:
		return impossible(o, "not", "{} allows no value")
	case len(n.keys) == 1 && n.has("type"):
		t := typesOf(n)
		if t == typeInteger {
			return nil // a fraction is still possible
		}
		if sp.types &^= t; sp.types == 0 {
			return impossible(o, "not", "no type is left")
		}
	case len(n.keys) == 1 && n.has("required"):
		if list := n.list("required"); len(list) > 0 {
			if name, ok := list[0].(string); ok {
				sp.avoid = append(sp.avoid, name)
			}
		}
	case len(n.keys) == 1 && n.has("anyOf"):
		for _, e := range n.list("anyOf") {
			if err := sp.forbid(o, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// keywordTypes says for which type a keyword speaks; a schema that says no type means the type of its keywords.
var keywordTypes = []struct {
	t        typeSet
	keywords string
}{
	{typeObject, "properties required additionalProperties patternProperties propertyNames minProperties " +
		"maxProperties dependentRequired dependentSchemas dependencies unevaluatedProperties"},
	{typeArray, "items prefixItems contains minItems maxItems uniqueItems unevaluatedItems additionalItems"},
	{typeString, "pattern format minLength maxLength contentEncoding contentMediaType"},
	{typeNumber, "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"},
}

// preferred narrows the types to those that the schemas talk about.
func (sp *spec) preferred() typeSet {
	if sp.types == allTypes || sp.types&(sp.types-1) != 0 && sp.types != typeNumber {
		typed := false
		var talked typeSet
		for _, o := range sp.objects {
			typed = typed || o.has("type")
			for _, k := range keywordTypes {
				if sp.types&k.t != 0 && slices.ContainsFunc(strings.Fields(k.keywords), o.has) {
					talked |= k.t & sp.types
				}
			}
		}
		if !typed && talked != 0 {
			return talked
		}
		if !typed && sp.types&typeString != 0 {
			return typeString
		}
	}
	return sp.types
}
