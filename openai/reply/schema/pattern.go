package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// maxMatchTime bounds the engine that backtracks; it is far more than any honest pattern needs.
const maxMatchTime = 50 * time.Millisecond

// expression is a compiled "pattern". Go's engine matches it, in linear time, if it can read it; else, for look-around
// and back references, one that backtracks.
type expression struct {
	source string
	linear *regexp.Regexp
	full   *regexp2.Regexp
	tree   *syntax.Regexp // to write texts by, without look-around
	open   bool           // nothing fixes the end: more text may follow a match
}

func newExpression(pattern string) (*expression, error) {
	e := &expression{source: pattern}
	p := goPattern(pattern)
	var err error
	if e.linear, err = regexp.Compile(p); err != nil {
		// The plain syntax error is the better explanation if neither engine can read it.
		full, fullErr := regexp2.Compile(pattern, regexp2.ECMAScript|regexp2.Unicode)
		if fullErr != nil {
			return nil, err
		}
		full.MatchTimeout = maxMatchTime
		e.full = full
		p = withoutLookaround(p)
	}
	tree, treeErr := syntax.Parse(p, syntax.Perl)
	if treeErr != nil {
		return nil, treeErr
	}
	e.tree = tree
	e.open = !strings.Contains(tree.String(), `\z`) && !strings.Contains(p, "$")
	return e, nil
}

// MatchString reports whether s has a match. An engine that takes too long has found none.
func (e *expression) MatchString(s string) bool {
	ok, err := e.match(s)
	return ok && err == nil
}

func (e *expression) match(s string) (bool, error) {
	if e.linear != nil {
		return e.linear.MatchString(s), nil
	}
	return e.full.MatchString(s)
}

// matches reports whether s has a match of a pattern of the schema; it notes when that took too long.
func (g *generator) matches(pattern, s string) bool {
	e := g.s.regexps[pattern]
	if e == nil {
		return false
	}
	ok, err := e.match(s)
	g.slow = g.slow || err != nil
	return ok
}

// String is the pattern as written.
func (e *expression) String() string { return e.source }

// withoutLookaround drops all groups (?=…), (?!…), (?<=…) and (?<!…).
func withoutLookaround(p string) string {
	var b strings.Builder
	class := false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\' && i+1 < len(p):
			b.WriteString(p[i : i+2])
			i++
			continue
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(' && isLookaround(p[i:]):
			i = groupEnd(p, i)
			continue
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

func isLookaround(p string) bool {
	for _, open := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(p, open) {
			return true
		}
	}
	return false
}

// groupEnd returns where the parenthesis that closes the group at i is.
func groupEnd(p string, i int) int {
	depth, class := 0, false
	for ; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return i
}

// goPattern rewrites what ECMAScript, the language of "pattern", spells differently from Go: \uXXXX, \u{X} and \cX.
// Look-around and back references stay.
func goPattern(p string) string {
	if !strings.Contains(p, `\u`) && !strings.Contains(p, `\c`) {
		return p
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] != '\\' || i+1 == len(p) {
			b.WriteByte(p[i])
			continue
		}
		if r, n := escaped(p[i:]); n > 0 {
			fmt.Fprintf(&b, `\x{%x}`, r)
			i += n - 1
			continue
		}
		b.WriteString(p[i : i+2])
		i++
	}
	return b.String()
}

// escaped reads a \u or \c escape at the start of p, surrogate pairs included; n is its length, 0 for anything else.
func escaped(p string) (r rune, n int) {
	switch {
	case strings.HasPrefix(p, `\c`) && len(p) > 2 && p[2] < utf8.RuneSelf && unicode.IsLetter(rune(p[2])):
		return rune(p[2] & 31), 3
	case strings.HasPrefix(p, `\u{`):
		end := strings.IndexByte(p, '}')
		if v, err := strconv.ParseUint(p[3:max(end, 3)], 16, 21); err == nil {
			return rune(v), end + 1
		}
	case strings.HasPrefix(p, `\u`) && len(p) >= 6:
		v, err := strconv.ParseUint(p[2:6], 16, 16)
		if err != nil {
			return 0, 0
		}
		if v >= 0xd800 && v < 0xdc00 && len(p) >= 12 && p[6:8] == `\u` {
			if low, err := strconv.ParseUint(p[8:12], 16, 16); err == nil && low >= 0xdc00 && low < 0xe000 {
				return rune(0x10000 + (v-0xd800)<<10 + (low - 0xdc00)), 12
			}
		}
		return rune(v), 6
	}
	return 0, 0
}

// match writes a text for a pattern, of low to high code points if it can. The caller checks the result.
func (g *generator) match(pattern string, low, high int) (string, bool) {
	e := g.s.regexps[pattern]
	if e == nil {
		return "", false
	}
	grow := 3 // most repetitions beyond those demanded
	for range 30 {
		m := matcher{g: g, mixed: e.full != nil, grow: grow, limit: min(high, longestText) + 1000}
		m.write(e.tree)
		n := utf8.RuneCount(m.text)
		if g.chars += len(m.text) + m.steps; g.chars > maxChars {
			return "", false
		}
		switch {
		case m.failed || n > high:
			grow /= 2
		case n < low && e.open:
			return string(m.text) + g.words(low-n, high-n), true
		case n < low:
			grow = min(2*grow+low-n, longestText)
		case e.open && n < high && g.below(2) == 0:
			return string(m.text) + g.words(0, min(high-n, 12)), true
		default:
			return string(m.text), true
		}
	}
	return "", false
}

// joined writes one text for several patterns, as startsWith, includes and endsWith become: what is fixed to the
// beginning, what is free, and what is fixed to the end.
func (g *generator) joined(patterns []string, low, high int) (string, bool) {
	var parts [3]string
	for _, p := range patterns {
		s, ok := g.match(p, 0, high)
		if !ok {
			return "", false
		}
		place := 1
		switch e := g.s.regexps[p]; {
		case strings.HasPrefix(p, "^"):
			place = 0
		case !e.open:
			place = 2
		}
		if parts[place] != s {
			parts[place] += s
		}
	}
	n := utf8.RuneCountInString(parts[0] + parts[1] + parts[2])
	if n < low {
		parts[1] += g.words(low-n, low-n)
	}
	return parts[0] + parts[1] + parts[2], true
}

// matcher writes one text.
type matcher struct {
	g      *generator
	mixed  bool // any character may be what a look-ahead waits for
	text   []byte
	grow   int
	limit  int // of the text
	steps  int
	failed bool
}

func (m *matcher) write(re *syntax.Regexp) {
	if m.steps++; len(m.text) > 4*m.limit || m.steps > 8*m.limit {
		m.failed = true
	}
	if m.failed {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		m.text = append(m.text, string(re.Rune)...)
	case syntax.OpCharClass:
		m.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		m.any()
	case syntax.OpStar:
		m.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		m.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		m.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		m.repeat(re.Sub[0], re.Min, re.Max)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			m.write(sub)
		}
	case syntax.OpAlternate:
		m.write(re.Sub[m.g.below(len(re.Sub))])
	case syntax.OpCapture:
		m.write(re.Sub[0])
	case syntax.OpNoMatch:
		m.failed = true
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		// They take no text; whether they hold is found out at the end.
	}
}

// any writes a letter; for an expression with look-ahead, which may want some of each, also capitals, digits, marks.
func (m *matcher) any() {
	from := lowerLetters
	if m.mixed {
		from = plainChars + "!?#$%&*-_"
	}
	m.text = append(m.text, from[m.g.below(len(from))])
}

func (m *matcher) repeat(re *syntax.Regexp, low, high int) {
	extra := m.grow
	if high >= 0 {
		extra = min(extra, high-low)
	}
	for range low + m.g.below(extra+1) {
		m.write(re)
		if m.failed {
			return
		}
	}
}

const (
	lowerLetters = "abcdefghijklmnopqrstuvwxyz"
	plainChars   = lowerLetters + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	// manyRunes is the size of a class from which on it is not a choice of characters but "nearly any".
	manyRunes = 256
)

// class chooses a rune of a class given as ranges: a letter or digit if it has any, else something printable.
func (m *matcher) class(ranges []rune) {
	size := 0
	for i := 0; i < len(ranges); i += 2 {
		size += int(ranges[i+1]-ranges[i]) + 1
	}
	from := plainChars
	if size >= manyRunes && !m.mixed {
		from = lowerLetters
	}
	var options []byte
	for i := range len(from) {
		if inRanges(ranges, rune(from[i])) {
			options = append(options, from[i])
		}
	}
	for c := rune(' '); c <= '~' && len(options) == 0; c++ {
		if inRanges(ranges, c) {
			options = append(options, byte(c))
		}
	}
	if len(options) > 0 {
		m.text = append(m.text, options[m.g.below(len(options))])
		return
	}
	for i := 0; i < len(ranges); i += 2 {
		r := ranges[i] + rune(m.g.below(min(int(ranges[i+1]-ranges[i])+1, 64)))
		if utf8.ValidRune(r) {
			m.text = utf8.AppendRune(m.text, r)
			return
		}
	}
	m.failed = true
}

func inRanges(ranges []rune, r rune) bool {
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			return true
		}
	}
	return false
}
