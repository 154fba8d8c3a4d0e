package schema

// The cost of a schema is how many levels of values the shallowest value that fits it must have, as far as that follows
// from its structure: 1 for a scalar, one more than the deepest required part for objects and arrays. It is infinite
// for a schema that demands itself for ever. Costs are found by iterating to the least fixed point.
const infinite = maxDepth + 1

type costs map[*object]int

// measure computes all costs. It goes over the schemas from inside out and back, so that chains of references in either
// order settle in a few rounds.
func (d *document) measure() costs {
	c := make(costs, len(d.all))
	for _, o := range d.all {
		c[o] = infinite
	}
	for changed, inward := true, false; changed; inward = !inward {
		changed = false
		for i, o := range d.all {
			if !inward {
				o = d.all[len(d.all)-1-i]
			}
			if n := d.costOf(o, c); n < c[o] {
				c[o], changed = n, true
			}
		}
	}
	return c
}

func (c costs) of(v any) int {
	switch v := v.(type) {
	case *object:
		if n, ok := c[v]; ok {
			return n
		}
		return 1
	case bool:
		if !v {
			return infinite
		}
	}
	return 1
}

// costOf is the cost of one schema, given those of the others.
func (d *document) costOf(o *object, c costs) int {
	if o.has("const") || o.has("enum") {
		return 1
	}
	cost := 1
	raise := func(n int) { cost = min(max(cost, n), infinite) }
	for _, k := range []string{"$ref", "$dynamicRef"} {
		if o.has(k) {
			raise(c.of(d.resolve(o, k)))
		}
	}
	for _, e := range o.list("allOf") {
		raise(c.of(e))
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if list := o.list(k); len(list) > 0 {
			best := infinite
			for _, e := range list {
				best = min(best, c.of(e))
			}
			raise(best)
		}
	}
	t := typesOf(o)
	if t&^(typeObject|typeArray) != 0 {
		return cost // a scalar will do
	}
	if t == typeObject {
		props := o.object("properties")
		for _, name := range o.list("required") {
			if key, ok := name.(string); ok && props != nil && props.has(key) {
				raise(1 + c.of(props.m[key]))
			}
		}
	}
	if t == typeArray {
		if n := o.count("minItems"); n > 0 {
			if _, isList := o.m["items"].([]any); !isList && n > len(o.list("prefixItems")) && o.has("items") {
				raise(1 + c.of(o.m["items"]))
			}
			for i, e := range o.list("prefixItems") {
				if i < n {
					raise(1 + c.of(e))
				}
			}
		}
		if o.has("contains") && (!o.has("minContains") || o.count("minContains") > 0) {
			raise(1 + c.of(o.m["contains"]))
		}
	}
	return cost
}

// count reads a keyword that is a small number, 0 if absent.
func (o *object) count(key string) int {
	r := rat(o.m[key])
	if r == nil || !r.IsInt() || !r.Num().IsInt64() {
		return 0
	}
	return int(min(max(r.Num().Int64(), 0), 1<<30))
}

// endless names the keyword for which v, of infinite cost, has no finite value: the one that demands a false schema, or
// the one that leads back to a schema that is demanded already.
func (d *document) endless(v any, c costs, from *object, keyword string, above map[*object]bool) *Error {
	o, ok := v.(*object)
	if !ok {
		return impossible(from, keyword, "false allows no value")
	}
	if above[o] {
		return impossible(from, keyword, "demands itself without end")
	}
	above[o] = true
	for _, k := range []string{"$ref", "$dynamicRef"} {
		if o.has(k) {
			if target := d.resolve(o, k); c.of(target) >= infinite {
				return d.endless(target, c, o, k, above)
			}
		}
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		finite, last := 0, any(nil)
		for _, e := range o.list(k) {
			if c.of(e) >= infinite {
				last = e
			} else {
				finite++
			}
		}
		if last != nil && (finite == 0 || k == "allOf" || k == "prefixItems") {
			return d.endless(last, c, o, k, above)
		}
	}
	if props := o.object("properties"); props != nil {
		for _, name := range o.list("required") {
			if key, ok := name.(string); ok && props.has(key) && c.of(props.m[key]) >= infinite {
				return d.endless(props.m[key], c, o, "properties", above)
			}
		}
	}
	for _, k := range []string{"items", "contains"} {
		if v, ok := o.m[k]; ok && c.of(v) >= infinite {
			return d.endless(v, c, o, k, above)
		}
	}
	return impossible(o, "type", "demands itself without end")
}
