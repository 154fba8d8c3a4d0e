package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fakellm/internal/glob"
)

// leaf is one compiled condition.
type leaf struct {
	what  string
	holds func(v *view, c *captures) bool
}

// condition is a compiled Condition: all leaves must hold.
type condition []leaf

func (c condition) match(v *view, caps *captures) bool {
	for i := range c {
		if !c[i].holds(v, caps) {
			return false
		}
	}
	return true
}

func (c condition) describe() string {
	parts := make([]string, len(c))
	for i := range c {
		parts[i] = c[i].what
	}
	return strings.Join(parts, " and ")
}

// compiler collects leaves and problems.
type compiler struct {
	leaves condition
	errs   []error
}

func (c *compiler) fail(field string, err error) {
	c.errs = append(c.errs, fmt.Errorf("%s: %w", field, err))
}

// text adds a leaf for a pattern over a string that may be absent.
func (c *compiler) text(field string, t *Text, get func(v *view) (s string, present bool)) {
	c.pattern(field, t, func(p pattern, v *view, caps *captures) bool {
		s, present := get(v)
		return p.match(s, present, caps)
	})
}

// texts adds a leaf for a pattern over what get returns, one of which must match; none means absent.
func (c *compiler) texts(field string, t *Text, get func(v *view) []string) {
	c.pattern(field, t, func(p pattern, v *view, caps *captures) bool { return p.matchAny(get(v), caps) })
}

func (c *compiler) pattern(field string, t *Text, holds func(p pattern, v *view, caps *captures) bool) {
	if t == nil {
		return
	}
	p, err := t.compile(false)
	if err != nil {
		c.fail(field, err)
		return
	}
	c.leaves = append(c.leaves, leaf{
		what:  field + " " + p.describe(),
		holds: func(v *view, caps *captures) bool { return holds(p, v, caps) },
	})
}

func (c *compiler) count(field string, r *Range, get func(v *view) int) {
	if r == nil {
		return
	}
	lo, hi := r.Min, r.Max
	switch {
	case lo == nil && hi == nil:
		c.fail(field, fmt.Errorf("neither min nor max given"))
		return
	case lo != nil && hi != nil && *lo > *hi:
		c.fail(field, fmt.Errorf("min %d is above max %d", *lo, *hi))
		return
	}
	c.leaves = append(c.leaves, leaf{what: field + " " + r.describe(), holds: func(v *view, _ *captures) bool {
		n := get(v)
		return (lo == nil || n >= *lo) && (hi == nil || n <= *hi)
	}})
}

func (r Range) describe() string {
	switch {
	case r.Max == nil:
		return fmt.Sprintf("at least %d", *r.Min)
	case r.Min == nil:
		return fmt.Sprintf("at most %d", *r.Max)
	case *r.Min == *r.Max:
		return fmt.Sprintf("is %d", *r.Min)
	default:
		return fmt.Sprintf("from %d to %d", *r.Min, *r.Max)
	}
}

// compile prepares a Condition and returns every problem with its path.
func (q Condition) compile() (condition, []error) {
	var c compiler
	c.text("route", q.Route, func(v *view) (string, bool) { return v.Route, true })
	c.text("model", globbed(q.Model), func(v *view) (string, bool) { return v.Model, v.Model != "" })
	c.text("user", q.User, func(v *view) (string, bool) { return v.user, v.hasUser })
	c.text("system", q.System, func(v *view) (string, bool) { return v.system, v.hasSystem })
	c.text("assistant", q.Assistant, func(v *view) (string, bool) { return v.assistant, v.hasAssistant })
	c.texts("anyMessage", q.AnyMessage, func(v *view) []string { return v.all })
	c.texts("toolResult", q.ToolResult, func(v *view) []string { return v.results })
	c.texts("toolCallId", q.ToolCallID, func(v *view) []string { return v.resultIDs })
	c.text("session", q.Session, func(v *view) (string, bool) { return v.Session, v.Session != "" })
	if q.HasToolResults != nil {
		want := *q.HasToolResults
		c.leaves = append(c.leaves, leaf{
			what:  fmt.Sprintf("hasToolResults %v", want),
			holds: func(v *view, _ *captures) bool { return len(v.results) > 0 == want },
		})
	}
	c.count("turn", q.Turn, func(v *view) int { return v.turn })
	c.count("toolRounds", q.ToolRounds, func(v *view) int { return v.rounds })
	c.count("toolCount", q.ToolCount, func(v *view) int { return len(v.Tools) })
	for _, role := range slices.Sorted(maps.Keys(q.MessageCounts)) {
		r := q.MessageCounts[role]
		c.count("messageCounts."+role, &r, func(v *view) int { return v.counts[role] })
	}
	for _, name := range q.Tools {
		c.leaves = append(c.leaves, leaf{what: fmt.Sprintf("tools offer %q", name), holds: func(v *view, _ *captures) bool {
			return slices.ContainsFunc(v.Tools, func(t string) bool { return glob.Match(name, t) })
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		t := q.Headers[name]
		c.texts("headers."+name, &t, func(v *view) []string { return v.header(name) })
	}
	c.paths(q.Body)
	c.nested(q)
	return c.leaves, c.errs
}

func (c *compiler) paths(body map[string]Text) {
	for _, p := range slices.Sorted(maps.Keys(body)) {
		steps, err := parsePath(p)
		if err != nil {
			c.fail("body", err)
			continue
		}
		t := body[p]
		c.texts("body."+p, &t, func(v *view) []string { return v.found(steps) })
	}
}

func (c *compiler) nested(q Condition) {
	sub := func(field string, q Condition) condition {
		out, errs := q.compile()
		for _, err := range errs {
			c.errs = append(c.errs, fmt.Errorf("%s.%w", field, err))
		}
		if len(out) == 0 && len(errs) == 0 {
			c.fail(field, fmt.Errorf("no condition given"))
		}
		return out
	}
	for i := range q.And {
		c.leaves = append(c.leaves, sub(fmt.Sprintf("and[%d]", i), q.And[i])...)
	}
	if q.Or != nil {
		branches := make([]condition, len(q.Or))
		names := make([]string, len(q.Or))
		for i := range q.Or {
			branches[i] = sub(fmt.Sprintf("or[%d]", i), q.Or[i])
			names[i] = branches[i].describe()
		}
		c.leaves = append(c.leaves, leaf{
			what: "or(" + strings.Join(names, "; ") + ")",
			holds: func(v *view, caps *captures) bool {
				return slices.ContainsFunc(branches, func(b condition) bool { return b.match(v, caps) })
			},
		})
	}
	if q.Not != nil {
		b := sub("not", *q.Not)
		c.leaves = append(c.leaves, leaf{
			what:  "not(" + b.describe() + ")",
			holds: func(v *view, _ *captures) bool { return !b.match(v, nil) },
		})
	}
}

// globbed makes a plain model name with * or ? a glob: no model is called that.
func globbed(t *Text) *Text {
	if t == nil || t.EqualTo == nil || !strings.ContainsAny(*t.EqualTo, "*?") {
		return t
	}
	g := *t
	g.EqualTo, g.Glob = nil, t.EqualTo
	return &g
}
