package tokenize

// cl100k is the split pattern of cl100k_base:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
type cl100k struct{ *classTable }

func (t cl100k) next(s string, i int) int {
	c, n := t.at(s, i)
	switch {
	case c&clLetter != 0:
		return t.letters(s, i+n)
	case c&clNumber != 0:
		return t.digits(s, i+n)
	}
	if end := i + contraction(s, i); end > i {
		return end
	}
	after := i + n
	if after < len(s) && c&clNewline == 0 {
		d, m := t.at(s, after)
		if d&clLetter != 0 {
			return t.letters(s, after+m)
		}
		if s[i] == ' ' && d&clSymbol == 0 {
			return t.symbols(s, after+m, false)
		}
	}
	if c&clSpace != 0 {
		return t.spaces(s, i)
	}
	return t.symbols(s, after, false)
}

// letters finishes \p{L}+.
func (t cl100k) letters(s string, i int) int {
	for i < len(s) {
		c, n := t.at(s, i)
		if c&clLetter == 0 {
			break
		}
		i += n
	}
	return i
}
