package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"text/template"

	"fakellm/internal/rng"
)

// MaxOutput bounds what one template may write, in bytes.
const MaxOutput = 1 << 20

// scope is what templates see. There is no clock in it: answers depend on the request, the state and the seed alone.
type scope struct {
	// User is the last user message, System all system messages, Assistant the last assistant message.
	User, System, Assistant string
	// ToolResult is the newest fresh tool result, ToolName the call it answers.
	ToolResult, ToolName string
	Model, Session       string
	// Turn counts assistant messages so far, Rounds answered tool rounds since the last user message, Count the matches of
	// this mapping (1 for the first), Sample is the number of the choice, from 0.
	Turn, Rounds, Count, Sample int
	Seed                        uint64
	// Groups and Named are the groups of the first regular expression that matched; Groups[0] is the whole match.
	Groups []string
	Named  map[string]string
	// Messages are the whole conversation, Tools the offered names.
	Messages []Message
	Tools    []string

	view *view
	rand *rand.Rand
	args string
}

// ToolArgs are the decoded arguments of the call that the newest tool result answers; nil if there is none.
func (s *scope) ToolArgs() any {
	var v any
	if json.Unmarshal([]byte(s.args), &v) != nil {
		return nil
	}
	return v
}

// Group is a capture group by number, empty if there is none.
func (s *scope) Group(i int) string {
	if i < 0 || i >= len(s.Groups) {
		return ""
	}
	return s.Groups[i]
}

// Body is the first value a path finds in the request body, empty if there is none.
func (s *scope) Body(path string) (string, error) {
	steps, err := parsePath(path)
	if err != nil {
		return "", err
	}
	if found := s.view.found(steps); len(found) > 0 {
		return found[0], nil
	}
	return "", nil
}

// Header is the first value of a request header.
func (s *scope) Header(name string) string {
	if list := s.view.header(name); len(list) > 0 {
		return list[0]
	}
	return ""
}

// Pick chooses one of its arguments by the seed.
func (s *scope) Pick(list ...string) (string, error) {
	if len(list) == 0 {
		return "", errors.New("pick: nothing to pick from")
	}
	return list[s.rand.IntN(len(list))], nil
}

// Rand is a number from lo up to and including hi by the seed.
func (s *scope) Rand(lo, hi int) (int, error) {
	if hi < lo || hi-lo < 0 || hi-lo+1 <= 0 {
		return 0, fmt.Errorf("rand: no number from %d to %d", lo, hi)
	}
	return lo + s.rand.IntN(hi-lo+1), nil
}

// functions are all that templates may call beside the built-ins.
func functions() template.FuncMap {
	return template.FuncMap{
		"json":     toJSON,
		"upper":    strings.ToUpper,
		"lower":    strings.ToLower,
		"trim":     strings.TrimSpace,
		"contains": func(sub, s string) bool { return strings.Contains(s, sub) },
		"replace":  func(old, with, s string) string { return strings.ReplaceAll(s, old, with) },
		"split":    func(sep, s string) []string { return strings.Split(s, sep) },
		"join":     func(sep string, list []string) string { return strings.Join(list, sep) },
		"fields":   strings.Fields,
		"truncate": truncate,
		"default":  defaultTo,
		"repeat":   repeat,
		"add":      func(a, b int) int { return a + b },
		"sub":      func(a, b int) int { return a - b },
		"mul":      func(a, b int) int { return a * b },
		"printf":   printf,
	}
}

func toJSON(v any) (string, error) {
	b, err := marshal(v)
	return string(b), err
}

// truncate keeps the first n characters.
func truncate(n int, s string) string {
	r := []rune(s)
	return string(r[:min(max(n, 0), len(r))])
}

func defaultTo(def string, v any) any {
	if v == nil || v == "" {
		return def
	}
	return v
}

func repeat(n int, s string) (string, error) {
	if n < 0 || n*len(s) > MaxOutput || n > MaxOutput {
		return "", fmt.Errorf("repeat: %d times %d bytes is more than %d", n, len(s), MaxOutput)
	}
	return strings.Repeat(s, n), nil
}

var wide = regexp.MustCompile(`%[^a-zA-Z%]*([0-9]{4,}|\*)`)

// printf is the built-in one without widths that could fill the memory.
func printf(format string, args ...any) (string, error) {
	if wide.MatchString(format) {
		return "", fmt.Errorf("printf: width in %q is too large", clip(format))
	}
	return fmt.Sprintf(format, args...), nil
}

// text is a string that is said as it is, or a template.
type phrase struct {
	plain string
	tmpl  *template.Template
}

// compilePhrase parses a template if s has one; raw strings never do.
func compilePhrase(field, s string, raw bool) (phrase, error) {
	if raw || !strings.Contains(s, "{{") {
		return phrase{plain: s}, nil
	}
	t, err := template.New(field).Option("missingkey=zero").Funcs(functions()).Parse(s)
	if err != nil {
		return phrase{}, fmt.Errorf("%s: %s", field, strings.TrimPrefix(err.Error(), "template: "))
	}
	p := phrase{tmpl: t}
	if name := p.unknownName(); name != "" {
		return phrase{}, fmt.Errorf("%s: templates know no .%s (they know .User, .System, .Assistant, .ToolResult, .ToolName, "+
			".ToolArgs, .Model, .Session, .Turn, .Rounds, .Count, .Sample, .Seed, .Group, .Groups, .Named, .Messages, .Tools, "+
			".Body, .Header, .Pick, .Rand)", field, name)
	}
	return p, nil
}

var unknownField = regexp.MustCompile(`can't evaluate field (\w+) in type \*script\.scope`)

// unknownName tries the phrase on an empty request and returns a name that no request can give it. Other errors of the
// trial do not count: a real request may have what the empty one lacks.
func (p phrase) unknownName() string {
	empty := &Request{}
	sc := &scope{view: newView(empty), rand: rng.New(0, "script/trial"), Named: map[string]string{}}
	if _, err := p.render(sc); err != nil {
		if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
			return m[1]
		}
	}
	return ""
}

// render says the phrase.
func (p phrase) render(s *scope) (string, error) {
	if p.tmpl == nil {
		return p.plain, nil
	}
	var w limited
	if err := p.tmpl.Execute(&w, s); err != nil {
		return "", err
	}
	return strings.ToValidUTF8(w.b.String(), "\uFFFD"), nil
}

// limited is a writer that refuses to grow beyond MaxOutput.
type limited struct{ b strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if l.b.Len()+len(p) > MaxOutput {
		return 0, fmt.Errorf("a template may write at most %d bytes", MaxOutput)
	}
	return l.b.Write(p)
}
