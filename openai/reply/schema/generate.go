package schema

import (
	"encoding/json"

	"fakellm/internal/rng"
)

const (
	wholeTries = 4    // of the whole value
	tries      = 24   // of one value with a choice or a check
	tightDepth = 5    // levels from which on only what is demanded is made
	tightSize  = 250  // values from which on likewise
	maxWork    = 4000 // values made in all, failed ones included
)

// generator makes one value.
type generator struct {
	s     *Schema
	rnd   rng.SplitMix
	depth int // levels above the present value
	try   int // number of the present value's try
	base  int // a random number that is constant over the tries of a value
	size  int // values made
	work  int // values begun, and tries of texts
	chars int // bytes of text written
	slow  bool
	hint  string
}

func (s *Schema) generate(seed uint64) (any, *Error) {
	var first *Error
	for try := range wholeTries {
		g := generator{s: s, rnd: rng.SplitMix(seed + uint64(try)*0x632be59bd9b4e019)}
		v, err := g.value([]any{s.doc.root}, nil, "schema")
		if err == nil {
			if invalid := s.root.Validate(plain(v)); invalid != nil {
				err = validationError(invalid)
			} else {
				return v, nil
			}
		}
		if first == nil {
			first = err
		}
		if !err.Unsatisfiable {
			break
		}
	}
	return nil, first
}

// below returns a random number in [0, n).
func (g *generator) below(n int) int { return int((g.rnd.Next() >> 32) * uint64(n) >> 32) }

// turn chooses one of n alternatives: at random, but going round over the first tries of a value.
func (g *generator) turn(n int) int {
	if g.try >= 2*n {
		return g.below(n)
	}
	return (g.base + g.try) % n
}

// tight says that only what is demanded may be made.
func (g *generator) tight() bool { return g.depth >= tightDepth || g.size >= tightSize }

// value makes a value that fits all of the schemas; from and keyword are where they come from.
func (g *generator) value(schemas []any, from *object, keyword string) (any, *Error) {
	outer, outerBase := g.try, g.base
	defer func() { g.try, g.base = outer, outerBase }()
	g.base = g.below(1 << 20)
	var worst *Error
	for g.try = 0; g.try < tries; g.try++ {
		if g.work++; g.work > maxWork || g.depth > maxDepth {
			if worst == nil {
				worst = impossible(from, keyword, "no value found in %d tries", maxWork)
			}
			return nil, worst
		}
		sp := spec{types: allTypes}
		v, err := g.attempt(&sp, schemas, from, keyword)
		if err == nil {
			g.size++
			return v, nil
		}
		if worst == nil || !err.Unsatisfiable {
			worst = err
		}
		if !sp.chosen && !sp.check || !err.Unsatisfiable {
			break
		}
	}
	return nil, worst
}

func (g *generator) attempt(sp *spec, schemas []any, from *object, keyword string) (any, *Error) {
	for _, s := range schemas {
		if err := g.flatten(sp, s, from, keyword); err != nil {
			return nil, err
		}
	}
	if len(sp.objects) == 0 {
		sp.objects = append(sp.objects, anything)
	}
	v, err := g.make(sp)
	if err != nil || !sp.check {
		return v, err
	}
	return v, g.verify(sp, v)
}

// anything stands for true where the makers want an object.
var anything = newObject()

// verify has the validator look at a value, once for every schema with hard keywords.
func (g *generator) verify(sp *spec, v any) *Error {
	p := plain(v)
	for _, o := range sp.objects {
		if g.s.hard[o] {
			if err := g.s.checks[o].Validate(p); err != nil {
				return validationError(err)
			}
		}
	}
	return nil
}

// fits has the validator say whether a value that was not made for the schemas fits them all.
func (g *generator) fits(sp *spec, v any) bool {
	p := plain(v)
	for _, o := range sp.objects {
		if c := g.s.checks[o]; c != nil && c.Validate(p) != nil {
			return false
		}
	}
	return true
}

func (g *generator) make(sp *spec) (any, *Error) {
	for _, o := range sp.objects {
		if o.has("const") || o.has("enum") {
			return g.listed(sp)
		}
	}
	switch g.typ(sp) {
	case typeNull:
		return nil, nil
	case typeBool:
		return g.below(2) == 0, nil
	case typeInteger:
		return g.number(sp, true)
	case typeFraction:
		return g.number(sp, false)
	case typeString:
		return g.text(sp)
	case typeArray:
		return g.array(sp)
	default:
		return g.object(sp)
	}
}

// typ chooses the type: null rarely, an integer only where fractions are not allowed, and a scalar if depth is short.
func (g *generator) typ(sp *spec) typeSet {
	set := sp.preferred()
	if set != sp.types {
		sp.chosen = true
		if g.try >= tries/2 {
			set = sp.types // what the schemas do not talk about may be all that is left
		}
	}
	if g.tight() {
		if scalar := sp.types &^ (typeArray | typeObject); scalar != 0 {
			set = scalar
		}
	}
	if set&typeFraction != 0 {
		set &^= typeInteger
	}
	if set&typeNull != 0 && set != typeNull && g.try == 0 && g.below(4) > 0 {
		set &^= typeNull
	}
	var options [8]typeSet
	n := 0
	for t := typeNull; t <= typeObject; t <<= 1 {
		if set&t != 0 {
			options[n] = t
			n++
		}
	}
	if n > 1 {
		sp.chosen = true
	}
	return options[g.turn(n)]
}

// listed takes a value that every const and enum has and the other keywords allow.
func (g *generator) listed(sp *spec) (any, *Error) {
	var values []any
	var by *object
	keyword := ""
	for _, o := range sp.objects {
		for _, k := range []string{"const", "enum"} {
			v, ok := o.m[k]
			if !ok {
				continue
			}
			list, isList := v.([]any)
			if k == "const" {
				list, isList = []any{v}, true
			}
			if !isList {
				return nil, unsupported(o, k, "must be an array")
			}
			if by == nil {
				values = list
			} else {
				values = common(values, list)
			}
			by, keyword = o, k
		}
	}
	start := g.below(max(len(values), 1))
	for i := range values {
		v := values[(start+i)%len(values)]
		if typeOf(v)&sp.types == 0 {
			continue
		}
		if v == nil && g.try == 0 && len(values) > 1 && g.below(4) > 0 {
			continue
		}
		if g.fits(sp, v) {
			return v, nil
		}
	}
	return nil, impossible(by, keyword, "no listed value fits the other keywords")
}

// common returns the values of a that are also in b.
func common(a, b []any) []any {
	in := make(map[string]bool, len(b))
	for _, v := range b {
		in[canonical(v)] = true
	}
	var both []any
	for _, v := range a {
		if in[canonical(v)] {
			both = append(both, v)
		}
	}
	return both
}

func typeOf(v any) typeSet {
	switch v := v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBool
	case string:
		return typeString
	case []any:
		return typeArray
	case json.Number:
		if r := rat(v); r != nil && r.IsInt() {
			return typeInteger
		}
		return typeFraction
	default:
		return typeObject
	}
}
