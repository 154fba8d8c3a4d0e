package tokenize

// o200k is the split pattern of o200k_base, with H = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], T = [\p{Ll}\p{Lm}\p{Lo}\p{M}] and
// C = (?i:'s|'t|'re|'ve|'m|'ll|'d):
//
//	[^\r\n\p{L}\p{N}]?H*T+C?|[^\r\n\p{L}\p{N}]?H+T*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
type o200k struct{ *classTable }

func (t o200k) next(s string, i int) int {
	c, n := t.at(s, i)
	after := i + n
	switch {
	case c&clLetter != 0:
		end, _ := t.word(s, i)
		return end + contraction(s, end)
	case c&clNumber != 0:
		return t.digits(s, after)
	}
	if c&clNewline == 0 {
		if end := t.prefixed(s, after, c); end > 0 {
			return end + contraction(s, end)
		}
		if s[i] == ' ' && after < len(s) {
			if d, m := t.at(s, after); d&clSymbol == 0 {
				return t.symbols(s, after+m, true)
			}
		}
	}
	if c&clSpace != 0 {
		return t.spaces(s, i)
	}
	return t.symbols(s, after, true)
}

// prefixed matches a word that may start with the rune of class c, neither letter nor number nor newline, that ends at
// after; 0 means no word. That rune may itself be a mark, which is also part of H and T: H*T+ is tried with the
// rune as prefix, then as part of the word, before H+T* is.
func (t o200k) prefixed(s string, after int, c class) int {
	end, tail := t.word(s, after)
	switch {
	case end > after && tail:
		return end
	case c&clMark != 0:
		return after
	case end > after:
		return end
	default:
		return 0
	}
}

// word matches H*T+ at i or, failing that, H+; tail tells which. It returns i when neither matches. H is greedy and
// gives back only what T needs: after capitals without a T behind them the match ends at the last rune that is both.
func (t o200k) word(s string, i int) (end int, tail bool) {
	both := 0 // end of the last rune so far that is in H and in T
	for i < len(s) {
		c, n := t.at(s, i)
		if c&clHead == 0 {
			if c&clTail == 0 {
				break
			}
			return t.tail(s, i+n), true
		}
		i += n
		if c&clTail != 0 {
			both = i
		}
	}
	if both > 0 {
		return both, true
	}
	return i, false
}

// tail finishes T+.
func (t o200k) tail(s string, i int) int {
	for i < len(s) {
		c, n := t.at(s, i)
		if c&clTail == 0 {
			break
		}
		i += n
	}
	return i
}
