package schema

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// goPattern rewrites what ECMAScript, the language of "pattern", spells differently from Go: \uXXXX, \u{X} and \cX.
// Look-around and back references stay and make the pattern unsupported.
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
	re, err := syntax.Parse(goPattern(pattern), syntax.Perl)
	if err != nil {
		return "", false
	}
	grow := 3 // most repetitions beyond those demanded
	for range 30 {
		m := matcher{g: g, grow: grow, limit: min(high, longestText)*2 + 64}
		m.write(re)
		n := utf8.RuneCount(m.text)
		switch {
		case m.failed || n > high:
			grow /= 2
			continue
		case n < low:
			grow = min(2*grow+low-n, longestText)
			if pad, ok := g.pad(re, m.text, low-n); ok {
				return pad, true
			}
			continue
		}
		return string(m.text), true
	}
	return "", false
}

// pad lengthens a text whose pattern has no end: what follows a match is free.
func (g *generator) pad(re *syntax.Regexp, text []byte, n int) (string, bool) {
	if strings.Contains(re.String(), `\z`) || strings.Contains(re.String(), "$") {
		return "", false
	}
	return string(text) + g.words(n, n), true
}

// matcher writes one text.
type matcher struct {
	g      *generator
	text   []byte
	grow   int
	limit  int
	failed bool
}

func (m *matcher) write(re *syntax.Regexp) {
	if len(m.text) > 4*m.limit {
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
		m.text = append(m.text, byte('a'+m.g.below(26)))
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
	}
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
	if size >= manyRunes {
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
