package tokenize

import "unicode/utf8"

// splitter cuts text into the pieces that are merged apart from each other. next returns the end of the piece that
// starts at i < len(s); s is valid UTF-8. Both patterns are total: every rune starts some piece.
type splitter interface {
	next(s string, i int) int
}

// spaces finishes a piece that starts at s[i] with white space and that no earlier alternative took:
//
//	\s*[\r\n]+ | \s+(?!\S) | \s+
//
// That is: up to the last newline of the run if it has one; else the run less its last rune, which belongs to what
// follows; else, at the end of the text or when there is only that rune, the whole run.
func (t *classTable) spaces(s string, i int) int {
	end, newline, last := i, 0, i
	for end < len(s) {
		c, n := t.at(s, end)
		if c&clSpace == 0 {
			break
		}
		last = end
		end += n
		if c&clNewline != 0 {
			newline = end
		}
	}
	switch {
	case newline > 0:
		return newline
	case end == len(s) || last == i:
		return end
	default:
		return last
	}
}

// symbols finishes a piece [^\s\p{L}\p{N}]+[\r\n]* whose first rune ended at i; slash also lets slashes into the tail.
func (t *classTable) symbols(s string, i int, slash bool) int {
	for i < len(s) {
		c, n := t.at(s, i)
		if c&clSymbol != 0 {
			break
		}
		i += n
	}
	for i < len(s) && (s[i] == '\n' || s[i] == '\r' || slash && s[i] == '/') {
		i++
	}
	return i
}

// digits finishes a piece \p{N}{1,3} whose first rune ended at i.
func (t *classTable) digits(s string, i int) int {
	for range 2 {
		if i == len(s) {
			break
		}
		c, n := t.at(s, i)
		if c&clNumber == 0 {
			break
		}
		i += n
	}
	return i
}

// contraction returns the length of (?i:'s|'t|'re|'ve|'m|'ll|'d) at s[i], or 0. Case folding is Unicode's, in which
// U+017F, the long s, is an s.
func contraction(s string, i int) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return 0
	}
	second := byte(0)
	if i+2 < len(s) {
		second = s[i+2] | 0x20
	}
	switch s[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if second == 'e' {
			return 3
		}
	case 'l':
		if second == 'l' {
			return 3
		}
	}
	if r, n := utf8.DecodeRuneInString(s[i+1:]); r == 'ſ' {
		return 1 + n
	}
	return 0
}
