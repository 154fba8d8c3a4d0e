package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"fakellm/internal/glob"
)

// captures are the groups of the first regular expression that matched while a mapping was tried.
type captures struct {
	set    bool
	groups []string
	named  map[string]string
}

// take keeps groups unless an earlier expression already gave some.
func (c *captures) take(re *regexp.Regexp, groups []string) {
	if c == nil || c.set {
		return
	}
	c.set, c.groups = true, groups
	c.named = make(map[string]string)
	for i, name := range re.SubexpNames() {
		if name != "" {
			c.named[name] = groups[i]
		}
	}
}

// pattern is a compiled Text.
type pattern struct {
	tests []test
	// absent is nil when presence was not asked about.
	absent *bool
}

// test is one operator. onAbsent is its verdict when there is nothing to test: negative operators hold.
type test struct {
	what     string
	onAbsent bool
	holds    func(s string, c *captures) bool
}

// compile prepares a Text; fold is inherited case insensitivity.
func (t Text) compile(fold bool) (pattern, error) {
	fold = fold || t.CaseInsensitive
	p := pattern{absent: t.Absent}
	lower := func(s string) string {
		if fold {
			return strings.ToLower(s)
		}
		return s
	}
	plain := func(op string, arg *string, negative bool, holds func(s, arg string) bool) {
		if arg == nil {
			return
		}
		want := lower(*arg)
		p.tests = append(p.tests, test{
			what: fmt.Sprintf("%s %q", op, clip(*arg)), onAbsent: negative,
			holds: func(s string, _ *captures) bool { return holds(lower(s), want) != negative },
		})
	}
	plain("equalTo", t.EqualTo, false, func(s, arg string) bool { return s == arg })
	plain("contains", t.Contains, false, strings.Contains)
	plain("doesNotContain", t.DoesNotContain, true, strings.Contains)
	plain("glob", t.Glob, false, func(s, pattern string) bool { return glob.Match(pattern, s) })
	if err := p.expression("matches", t.Matches, fold, false); err != nil {
		return p, err
	}
	if err := p.expression("doesNotMatch", t.DoesNotMatch, fold, true); err != nil {
		return p, err
	}
	p.number("atLeast", t.AtLeast, func(v, arg float64) bool { return v >= arg })
	p.number("atMost", t.AtMost, func(v, arg float64) bool { return v <= arg })
	if err := p.combine(t, fold); err != nil {
		return p, err
	}
	if len(p.tests) == 0 && p.absent == nil {
		return p, fmt.Errorf("no operator given")
	}
	return p, nil
}

// maxRegexp bounds the source of one expression in bytes: RE2 is linear in text times program.
const maxRegexp = 4096

func (p *pattern) expression(op string, arg *string, fold, negative bool) error {
	if arg == nil {
		return nil
	}
	if len(*arg) > maxRegexp {
		return fmt.Errorf("%s: %d bytes, the limit is %d", op, len(*arg), maxRegexp)
	}
	src := *arg
	if fold {
		src = "(?i)" + src
	}
	re, err := regexp.Compile(src)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	p.tests = append(p.tests, test{
		what: fmt.Sprintf("%s %q", op, clip(*arg)), onAbsent: negative,
		holds: func(s string, c *captures) bool {
			if negative {
				return !re.MatchString(s)
			}
			groups := re.FindStringSubmatch(s)
			if groups == nil {
				return false
			}
			c.take(re, groups)
			return true
		},
	})
	return nil
}

func (p *pattern) number(op string, arg *float64, holds func(v, arg float64) bool) {
	if arg == nil {
		return
	}
	want := *arg
	p.tests = append(p.tests, test{
		what: fmt.Sprintf("%s %v", op, want),
		holds: func(s string, _ *captures) bool {
			v, err := strconv.ParseFloat(s, 64)
			return err == nil && holds(v, want)
		},
	})
}

func (p *pattern) combine(t Text, fold bool) error {
	sub := func(list []Text, op string) ([]pattern, error) {
		out := make([]pattern, len(list))
		for i := range list {
			var err error
			if out[i], err = list[i].compile(fold); err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", op, i, err)
			}
		}
		return out, nil
	}
	all, err := sub(t.And, "and")
	if err != nil {
		return err
	}
	for _, q := range all {
		p.tests = append(p.tests, q.tests...)
	}
	one, err := sub(t.Or, "or")
	if err != nil {
		return err
	}
	if t.Or != nil {
		p.tests = append(p.tests, test{what: "or(" + describeAll(one) + ")", holds: func(s string, c *captures) bool {
			for _, q := range one {
				if q.match(s, true, c) {
					return true
				}
			}
			return false
		}})
	}
	if t.Not != nil {
		q, err := t.Not.compile(fold)
		if err != nil {
			return fmt.Errorf("not: %w", err)
		}
		p.tests = append(p.tests, test{
			what: "not(" + q.describe() + ")", onAbsent: true,
			holds: func(s string, _ *captures) bool { return !q.match(s, true, nil) },
		})
	}
	return nil
}

// match reports whether every operator holds. Groups go to c, which may be nil.
func (p pattern) match(s string, present bool, c *captures) bool {
	if p.absent != nil && *p.absent == present {
		return false
	}
	for _, t := range p.tests {
		if !present {
			if !t.onAbsent {
				return false
			}
			continue
		}
		if !t.holds(s, c) {
			return false
		}
	}
	return true
}

// matchAny reports whether one of the strings matches; none at all counts as absent.
func (p pattern) matchAny(list []string, c *captures) bool {
	if len(list) == 0 {
		return p.match("", false, c)
	}
	for _, s := range list {
		if p.match(s, true, c) {
			return true
		}
	}
	return false
}

func (p pattern) describe() string {
	var parts []string
	if p.absent != nil {
		parts = append(parts, fmt.Sprintf("absent %v", *p.absent))
	}
	for _, t := range p.tests {
		parts = append(parts, t.what)
	}
	return strings.Join(parts, " and ")
}

func describeAll(list []pattern) string {
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = p.describe()
	}
	return strings.Join(parts, ", ")
}
