package schema

import (
	"slices"
	"strconv"
	"strings"
)

// objectShape is what the schemas say about an object's members.
type objectShape struct {
	low, high int
	props     []string // declared names, in the order of the schemas
	required  []string
	by        *object
	bounded   *object // has maxProperties
}

func (sp *spec) objectShape() objectShape {
	s := objectShape{high: manyItems, by: sp.objects[0]}
	for _, o := range sp.objects {
		if n := o.count("minProperties"); n > s.low {
			s.low, s.by = n, o
		}
		if o.has("maxProperties") {
			if n := o.count("maxProperties"); n < s.high {
				s.high, s.bounded = n, o
			}
		}
		if p := o.object("properties"); p != nil {
			for _, name := range p.keys {
				if !slices.Contains(s.props, name) {
					s.props = append(s.props, name)
				}
			}
		}
		for _, name := range o.list("required") {
			if name, ok := name.(string); ok && !slices.Contains(s.required, name) {
				s.required = append(s.required, name)
			}
		}
	}
	return s
}

// member returns the schemas that apply to a member; ok is false if one of them allows no value.
func (g *generator) member(sp *spec, name string) (all []any, ok bool) {
	covered := false
	for _, o := range sp.objects {
		mine := false
		if p := o.object("properties"); p != nil {
			if v, ok := p.m[name]; ok {
				all, mine = append(all, v), true
			}
		}
		if p := o.object("patternProperties"); p != nil {
			for _, pattern := range p.keys {
				if g.matches(pattern, name) {
					all, mine = append(all, p.m[pattern]), true
				}
			}
		}
		if v, ok := o.m["additionalProperties"]; ok && !mine {
			all, mine = append(all, v), true
		}
		covered = covered || mine
	}
	if !covered {
		for _, o := range sp.objects {
			if v, ok := o.m["unevaluatedProperties"]; ok {
				all = append(all, v)
			}
		}
	}
	for _, v := range all {
		if g.s.cost.of(v) >= infinite {
			return all, false
		}
	}
	return all, true
}

// dependents returns what the presence of a name demands: other names, and schemas for the object.
func (sp *spec) dependents(name string) (names []string, schemas []any, by *object) {
	for _, o := range sp.objects {
		for _, k := range []string{"dependentRequired", "dependencies", "dependentSchemas"} {
			m := o.object(k)
			if m == nil || !m.has(name) {
				continue
			}
			if list, ok := m.m[name].([]any); ok {
				for _, n := range list {
					if n, ok := n.(string); ok {
						names = append(names, n)
					}
				}
			} else {
				schemas, by = append(schemas, m.m[name]), o
			}
		}
	}
	return names, schemas, by
}

// object makes an object: what is required, most of what is optional where there is depth, and further members only if
// the schema has a place for them or the number of members demands them.
func (g *generator) object(sp *spec) (any, *Error) {
	wanted, shape, err := g.members(sp)
	if err != nil {
		return nil, err
	}
	out := newObject()
	g.depth++
	defer func() { g.depth-- }()
	for _, name := range shape.props {
		if err := g.fill(sp, out, name, wanted[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range shape.required {
		if !slices.Contains(shape.props, name) {
			if err := g.fill(sp, out, name, demanded); err != nil {
				return nil, err
			}
		}
	}
	return out, g.extras(sp, shape, out)
}

// want says how much a member is wanted.
type want uint8

const (
	unwanted want = iota
	optional
	demanded
)

// members decides which declared members the object gets, closing over what they depend on.
func (g *generator) members(sp *spec) (map[string]want, objectShape, *Error) {
	wanted := map[string]want{}
	drawn := map[string]bool{}
	for {
		shape := sp.objectShape()
		for _, name := range shape.required {
			wanted[name] = demanded
		}
		count := len(shape.required)
		if count > shape.high {
			return nil, shape, impossible(shape.bounded, "maxProperties", "%d members are required", count)
		}
		for _, name := range shape.props {
			if wanted[name] == unwanted && !drawn[name] {
				drawn[name] = true
				if g.wantsOptional(sp, name) {
					wanted[name] = optional
				}
			}
			if wanted[name] == optional {
				if count++; count > shape.high {
					wanted[name] = unwanted
					count--
				}
			}
		}
		before := len(sp.objects)
		again, err := g.depend(sp, shape, wanted)
		if err != nil {
			return nil, shape, err
		}
		if !again && len(sp.objects) == before {
			return wanted, shape, nil
		}
	}
}

// depend adds what the wanted members demand; again says that the decision has to be looked at once more.
func (g *generator) depend(sp *spec, shape objectShape, wanted map[string]want) (again bool, err *Error) {
	for _, name := range slices.Concat(shape.required, shape.props) {
		if wanted[name] == unwanted {
			continue
		}
		names, schemas, by := sp.dependents(name)
		for _, n := range names {
			if wanted[n] != demanded {
				if _, ok := g.member(sp, n); !ok && wanted[name] == optional {
					wanted[name], again = unwanted, true // cannot have what it needs
					break
				}
				wanted[n], again = demanded, true
				if !slices.Contains(shape.props, n) && !slices.Contains(shape.required, n) {
					sp.objects = append(sp.objects, &object{
						keys: []string{"required"}, m: map[string]any{"required": []any{n}}, path: pathOf(by),
					})
				}
			}
		}
		for _, s := range schemas {
			if wanted[name] != unwanted {
				if err := g.flatten(sp, s, by, "dependentSchemas"); err != nil {
					return false, err
				}
			}
		}
	}
	return again, nil
}

// wantsOptional decides whether an optional member is made.
func (g *generator) wantsOptional(sp *spec, name string) bool {
	if slices.Contains(sp.avoid, name) || g.tight() {
		return false
	}
	schemas, ok := g.member(sp, name)
	if !ok || g.below(5) == 0 {
		return false
	}
	for _, v := range schemas {
		if g.depth+g.s.cost.of(v) > 2*tightDepth {
			return false
		}
	}
	return true
}

// fill makes one member; an optional one that cannot be made is left out.
func (g *generator) fill(sp *spec, out *object, name string, w want) *Error {
	if w == unwanted || out.has(name) {
		return nil
	}
	schemas, ok := g.member(sp, name)
	if g.slow {
		return unsupported(sp.objects[0], "patternProperties", "takes too long to match")
	}
	if !ok && w == optional {
		return nil
	}
	if !ok {
		return g.blame(sp, name)
	}
	hint := g.hint
	g.hint = name
	v, err := g.value(schemas, sp.objects[0], "properties")
	g.hint = hint
	switch {
	case err == nil:
		out.set(name, v)
	case w == demanded || !err.Unsatisfiable:
		return err
	}
	return nil
}

// blame names the keyword because of which a demanded member can have no value.
func (g *generator) blame(sp *spec, name string) *Error {
	for _, o := range sp.objects {
		if p := o.object("properties"); p != nil && p.has(name) {
			if g.s.cost.of(p.m[name]) >= infinite {
				return impossible(o, "properties", "%q is required and can have no value", name)
			}
			continue
		}
		for _, k := range []string{"patternProperties", "additionalProperties", "unevaluatedProperties"} {
			if v, ok := o.m[k]; ok && (k == "patternProperties" || g.s.cost.of(v) >= infinite) {
				return impossible(o, k, "%q is required and not allowed", name)
			}
		}
	}
	return impossible(sp.objects[0], "required", "%q is required and can have no value", name)
}

// extras adds members beyond the decided ones: up to the least number, and a few for an object that is a map.
func (g *generator) extras(sp *spec, shape objectShape, out *object) *Error {
	goal := shape.low
	if len(shape.props) == 0 && !g.tight() && sp.isMap() {
		goal = max(goal, 1+g.below(3))
	}
	if g.try >= tries/2 && !g.tight() {
		goal = max(goal, len(out.keys)+g.below(2)) // perhaps some "not" wants more
	}
	goal = min(goal, shape.high)
	if goal > maxWork {
		return impossible(shape.by, "minProperties", "more than %d members are not made", maxWork)
	}
	for _, name := range shape.props {
		if len(out.keys) < goal && !slices.Contains(sp.avoid, name) {
			if err := g.fill(sp, out, name, optional); err != nil {
				return err
			}
		}
	}
	for misses := 0; len(out.keys) < goal && misses < 60; {
		name, ok := g.name(sp, len(out.keys)+misses)
		before := len(out.keys)
		if ok && !slices.Contains(sp.avoid, name) {
			if err := g.fill(sp, out, name, optional); err != nil {
				return err
			}
		}
		if len(out.keys) == before {
			misses++
		}
	}
	if len(out.keys) < shape.low {
		return impossible(shape.by, "minProperties", "no more than %d members found, %d wanted",
			len(out.keys), shape.low)
	}
	return nil
}

// isMap says that the schemas describe members by something else than their names.
func (sp *spec) isMap() bool {
	for _, o := range sp.objects {
		for _, k := range []string{"additionalProperties", "unevaluatedProperties"} {
			if _, ok := o.m[k].(*object); ok {
				return true
			}
		}
		if o.object("patternProperties") != nil || o.has("propertyNames") {
			return true
		}
	}
	return false
}

// name invents the name of a further member: for a pattern, if there is one, and fitting propertyNames.
func (g *generator) name(sp *spec, n int) (string, bool) {
	var schemas []any
	var patterns []string
	for _, o := range sp.objects {
		if v, ok := o.m["propertyNames"]; ok {
			schemas = append(schemas, v)
		}
		if p := o.object("patternProperties"); p != nil {
			patterns = append(patterns, p.keys...)
		}
	}
	if len(patterns) > 0 && (len(schemas) == 0 || n%2 == 0) {
		return g.match(patterns[n%len(patterns)], 0, manyItems)
	}
	if len(schemas) > 0 {
		v, err := g.value(append(schemas, nameSchema), sp.objects[0], "propertyNames")
		s, ok := v.(string)
		return s, err == nil && ok
	}
	name := strings.ToLower(mapKeys[g.below(len(mapKeys))])
	if n >= 4 {
		name += "_" + strconv.Itoa(n)
	}
	return name, true
}

// nameSchema restricts what propertyNames describes to what a name can be.
var nameSchema = &object{keys: []string{"type"}, m: map[string]any{"type": "string"}}
