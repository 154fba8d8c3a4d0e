package schema

// arrayShape is what the schemas say about an array's length and places.
type arrayShape struct {
	low, high int
	prefix    int // places that have a schema of their own
	unique    bool
	contains  []*object // schemas with the keyword contains
	by        *object
}

const manyItems = 1 << 30

func (sp *spec) arrayShape() arrayShape {
	a := arrayShape{high: manyItems, by: sp.objects[0]}
	closed, open := manyItems, false
	for _, o := range sp.objects {
		if o.has("minItems") {
			if n := o.count("minItems"); n > a.low {
				a.low, a.by = n, o
			}
		}
		if o.has("maxItems") {
			a.high = min(a.high, o.count("maxItems"))
		}
		a.unique = a.unique || o.m["uniqueItems"] == true
		if o.has("contains") {
			a.contains = append(a.contains, o)
		}
		prefix := len(o.prefixItems())
		a.prefix = max(a.prefix, prefix)
		rest, ok := o.rest()
		if ok && rest == false {
			closed = min(closed, prefix)
		}
		open = open || ok && rest != false
	}
	for _, o := range sp.objects {
		if o.m["unevaluatedItems"] == false && !open && len(a.contains) == 0 {
			closed = min(closed, a.prefix)
		}
	}
	a.high = min(a.high, closed)
	return a
}

// prefixItems is the list of the first items, under its name or its name in earlier drafts.
func (o *object) prefixItems() []any {
	if list, ok := o.m["items"].([]any); ok {
		return list
	}
	return o.list("prefixItems")
}

// rest is the schema of the items after the prefix.
func (o *object) rest() (any, bool) {
	v, ok := o.m["items"]
	if _, isList := v.([]any); isList {
		v, ok = o.m["additionalItems"]
	}
	return v, ok
}

// item returns the schemas that apply at place i.
func (sp *spec) item(i int) []any {
	var all []any
	for _, o := range sp.objects {
		if prefix := o.prefixItems(); i < len(prefix) {
			all = append(all, prefix[i])
		} else if rest, ok := o.rest(); ok {
			all = append(all, rest)
		}
	}
	if len(all) == 0 {
		for _, o := range sp.objects {
			if v, ok := o.m["unevaluatedItems"]; ok && v != false {
				all = append(all, v)
			}
		}
	}
	return all
}

// array makes an array: the demanded number of items and, where there is depth, a few more.
func (g *generator) array(sp *spec) (any, *Error) {
	a := sp.arrayShape()
	needs := containsNeeds(a.contains)
	low := max(a.low, len(needs))
	if low > a.high {
		return nil, impossible(a.by, "minItems", "at least %d items are wanted, at most %d allowed", low, a.high)
	}
	n := low
	if !g.tight() {
		n += g.below(4)
		if n == 0 && g.below(4) > 0 {
			n = 1
		}
		if g.try < 4 {
			n = max(n, a.prefix)
		}
	}
	n = min(n, a.high)
	if n > maxWork {
		return nil, impossible(a.by, "minItems", "more than %d items are not made", maxWork)
	}
	// The places that hold what "contains" wants are the last ones at first, and others in later tries.
	first := n - len(needs)
	if g.try%2 == 1 {
		first = 0
	}
	list := make([]any, 0, min(n, 64))
	seen := map[string]bool{}
	g.depth++
	defer func() { g.depth-- }()
	for i := range n {
		schemas := sp.item(i)
		if j := i - first; j >= 0 && j < len(needs) {
			schemas = append(schemas, needs[j].m["contains"])
		}
		v, err := g.item(schemas, a, seen)
		if err != nil {
			if i >= low {
				break // the item was not demanded
			}
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// item makes one item, other than those seen if items are unique.
func (g *generator) item(schemas []any, a arrayShape, seen map[string]bool) (any, *Error) {
	for range 40 {
		v, err := g.value(schemas, a.by, "items")
		if err != nil || !a.unique {
			return v, err
		}
		if key := canonical(v); !seen[key] {
			seen[key] = true
			return v, nil
		}
	}
	return nil, impossible(a.by, "uniqueItems", "no further item found that differs from the others")
}

// containsNeeds lists, once per item wanted, the schemas whose "contains" wants it.
func containsNeeds(contains []*object) []*object {
	var needs []*object
	for _, o := range contains {
		n := 1
		if o.has("minContains") {
			n = o.count("minContains")
		}
		for range min(n, maxWork) {
			needs = append(needs, o)
		}
	}
	return needs
}
