package schema

import (
	"net/url"
	"strconv"
	"strings"
)

// rootURI is the base of a schema that has no $id.
const rootURI = "mem:///schema.json"

// document is a parsed schema with everything that a reference can name.
type document struct {
	root      any
	resources map[string]*object // by URI without fragment
	anchors   map[string]*object // by URI#anchor, dynamic ones included
	dynamic   map[string]*object // the outermost of each dynamic anchor, by name
	all       []*object          // every schema, outer before inner
	targets   map[reference]any  // what every reference names
}

// reference is a $ref or $dynamicRef of a schema.
type reference struct {
	from    *object
	keyword string
}

// Members of a schema that hold schemas: one, a list, or one per name.
var (
	oneSchema = []string{
		"additionalProperties", "unevaluatedProperties", "propertyNames", "items", "additionalItems",
		"unevaluatedItems", "contains", "not", "if", "then", "else", "contentSchema",
	}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemaMaps  = []string{
		"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions",
	}
)

func newDocument(root any) *document {
	d := &document{
		root: root, resources: map[string]*object{}, anchors: map[string]*object{}, dynamic: map[string]*object{},
		targets: map[reference]any{},
	}
	if o, ok := root.(*object); ok {
		d.resources[rootURI] = o
	}
	d.walk(root, "", rootURI)
	return d
}

// walk registers a schema and those inside it.
func (d *document) walk(v any, path, base string) {
	o, ok := v.(*object)
	if !ok || o.base != "" {
		return
	}
	if id := o.text("$id"); id != "" && !strings.HasPrefix(id, "#") {
		base = strings.TrimSuffix(resolveURI(base, id), "#")
		if d.resources[base] == nil {
			d.resources[base] = o
		}
	}
	o.path, o.base = path, base
	d.all = append(d.all, o)
	if a := o.text("$anchor"); a != "" {
		d.anchors[base+"#"+a] = o
	}
	if a := o.text("$dynamicAnchor"); a != "" {
		d.anchors[base+"#"+a] = o
		if d.dynamic[a] == nil {
			d.dynamic[a] = o
		}
	}
	for _, k := range oneSchema {
		d.walk(o.m[k], path+"/"+k, base)
	}
	for _, k := range schemaLists {
		for i, e := range o.list(k) {
			d.walk(e, path+"/"+k+"/"+strconv.Itoa(i), base)
		}
	}
	for _, k := range schemaMaps {
		if m := o.object(k); m != nil {
			for _, name := range m.keys {
				d.walk(m.m[name], path+"/"+k+"/"+escapePointer(name), base)
			}
		}
	}
}

func escapePointer(s string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(s))
}

func resolveURI(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	r, err := url.Parse(ref)
	if err != nil {
		return ref
	}
	return b.ResolveReference(r).String()
}

// resolve returns the schema that a $ref or $dynamicRef of o names; every one has been found before.
func (d *document) resolve(o *object, keyword string) any { return d.targets[reference{o, keyword}] }

// find looks for the schema that a $ref or $dynamicRef of o names.
func (d *document) find(o *object, keyword string) (any, *Error) {
	ref, ok := o.m[keyword].(string)
	if !ok {
		return nil, unsupported(o, keyword, "must be a string")
	}
	uri, fragment, _ := strings.Cut(resolveURI(o.base, ref), "#")
	resource := d.resources[uri]
	if resource == nil {
		if strings.HasPrefix(ref, "#") && o.base == rootURI {
			return d.root, nil
		}
		return nil, unsupported(o, keyword, "%q is not in this schema, and nothing is fetched", ref)
	}
	switch {
	case fragment == "":
		return resource, nil
	case strings.HasPrefix(fragment, "/"):
		v, ok := d.pointer(resource, fragment)
		if !ok {
			return nil, unsupported(o, keyword, "%q points to nothing", ref)
		}
		return v, nil
	}
	target := d.anchors[uri+"#"+fragment]
	if target == nil {
		return nil, unsupported(o, keyword, "%q names no anchor", ref)
	}
	if keyword == "$dynamicRef" && target.text("$dynamicAnchor") == fragment {
		return d.dynamic[fragment], nil
	}
	return target, nil
}

// pointer follows a JSON pointer, percent-encoded as in a fragment. A schema that it finds outside of the known places
// is registered.
func (d *document) pointer(at *object, fragment string) (any, bool) {
	var v any = at
	path, base := at.path, at.base
	for step := range strings.SplitSeq(fragment[1:], "/") {
		if s, err := url.PathUnescape(step); err == nil {
			step = s
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch c := v.(type) {
		case *object:
			if c.base != "" {
				base = c.base
			}
			e, ok := c.m[step]
			if !ok {
				return nil, false
			}
			v = e
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
		path += "/" + escapePointer(step)
	}
	switch v.(type) {
	case bool, *object:
		d.walk(v, path, base)
		return v, true
	}
	return nil, false
}
