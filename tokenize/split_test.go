package tokenize

import (
	"slices"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// The twin of the splitters: a backtracking matcher of the patterns as they are written, alternative by alternative. It
// knows sequences of greedy repeats of rune sets, the look-ahead (?!\S), and nothing else.
type repeat struct {
	set      func(rune) bool
	min, max int
}

type alternative struct {
	seq       []repeat
	lookahead bool // \s+(?!\S): the match must be followed by the end or white space
}

func isLetter(r rune) bool  { return unicode.Is(unicode.L, r) }
func isNumber(r rune) bool  { return unicode.Is(unicode.N, r) }
func isSpace(r rune) bool   { return unicode.Is(unicode.White_Space, r) }
func isNewline(r rune) bool { return r == '\r' || r == '\n' }
func isPrefix(r rune) bool  { return !isNewline(r) && !isLetter(r) && !isNumber(r) }
func isSymbol(r rune) bool  { return !isSpace(r) && !isLetter(r) && !isNumber(r) }
func isHead(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)
}

func isTail(r rune) bool {
	return unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M)
}

func fold(c rune) func(rune) bool {
	return func(r rune) bool {
		for f := unicode.SimpleFold(c); ; f = unicode.SimpleFold(f) {
			if f == r {
				return true
			}
			if f == c {
				return false
			}
		}
	}
}

const many = 1 << 30

// contractions spells (?i:'s|'t|'re|'ve|'m|'ll|'d) out as continuations.
func contractions() [][]repeat {
	var all [][]repeat
	for _, word := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		var seq []repeat
		for _, c := range word {
			seq = append(seq, repeat{fold(c), 1, 1})
		}
		all = append(all, seq)
	}
	return all
}

func tailAlternatives(slash bool) []alternative {
	end := isNewline
	if slash {
		end = func(r rune) bool { return isNewline(r) || r == '/' }
	}
	return []alternative{
		{seq: []repeat{{isNumber, 1, 3}}},
		{seq: []repeat{{func(r rune) bool { return r == ' ' }, 0, 1}, {isSymbol, 1, many}, {end, 0, many}}},
		{seq: []repeat{{isSpace, 0, many}, {isNewline, 1, many}}},
		{seq: []repeat{{isSpace, 1, many}}, lookahead: true},
		{seq: []repeat{{isSpace, 1, many}}},
	}
}

func cl100kTwin() []alternative {
	var all []alternative
	for _, c := range contractions() {
		all = append(all, alternative{seq: c})
	}
	all = append(all, alternative{seq: []repeat{{isPrefix, 0, 1}, {isLetter, 1, many}}})
	return append(all, tailAlternatives(false)...)
}

func o200kTwin() []alternative {
	var all []alternative
	for _, word := range [][]repeat{
		{{isPrefix, 0, 1}, {isHead, 0, many}, {isTail, 1, many}},
		{{isPrefix, 0, 1}, {isHead, 1, many}, {isTail, 0, many}},
	} {
		// The optional contraction is tried before going without it. Giving back part of the word to gain one is not
		// possible, for the apostrophe is in no class of the word.
		for _, c := range contractions() {
			all = append(all, alternative{seq: slices.Concat(word, c)})
		}
		all = append(all, alternative{seq: word})
	}
	return append(all, tailAlternatives(true)...)
}

// match returns the end of the first way, in backtracking order, to match seq at i, or -1.
func match(s []rune, i int, seq []repeat, lookahead bool) int {
	if len(seq) == 0 {
		if lookahead && i < len(s) && !isSpace(s[i]) {
			return -1
		}
		return i
	}
	n := 0
	for n < seq[0].max && i+n < len(s) && seq[0].set(s[i+n]) {
		n++
	}
	for ; n >= seq[0].min; n-- {
		if end := match(s, i+n, seq[1:], lookahead); end >= 0 {
			return end
		}
	}
	return -1
}

func twinSplit(text string, alternatives []alternative) []string {
	s := []rune(text)
	var pieces []string
	for i := 0; i < len(s); {
		end := -1
		for _, a := range alternatives {
			if end = match(s, i, a.seq, a.lookahead); end >= 0 {
				break
			}
		}
		pieces = append(pieces, string(s[i:end]))
		i = end
	}
	return pieces
}

func split(text string, sp splitter) []string {
	var pieces []string
	for i := 0; i < len(text); {
		end := sp.next(text, i)
		pieces = append(pieces, text[i:end])
		i = end
	}
	return pieces
}

func TestSplitTwin(t *testing.T) {
	for _, tt := range []struct {
		name string
		sp   splitter
		twin []alternative
	}{
		{"cl100k", cl100k{classes()}, cl100kTwin()},
		{"o200k", o200k{classes()}, o200kTwin()},
	} {
		check := func(t *rapid.T, text string) {
			if got, want := split(text, tt.sp), twinSplit(text, tt.twin); !slices.Equal(got, want) {
				t.Fatalf("%s: %q: got %q, want %q", tt.name, text, got, want)
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { check(t, mixed().Draw(t, "mixed")) })
			rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "any")) })
		})
	}
}

// FuzzSplit looks for texts on which the splitters and their twins differ.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"a\n \nb", "HelloWorld's", "x\u0301 日本ABC", "'Re 12345 // \r\n"} {
		f.Add(s)
	}
	a, b := cl100kTwin(), o200kTwin()
	f.Fuzz(func(t *testing.T, text string) {
		text = validText(text)
		if got, want := split(text, cl100k{classes()}), twinSplit(text, a); !slices.Equal(got, want) {
			t.Fatalf("cl100k: %q: got %q, want %q", text, got, want)
		}
		if got, want := split(text, o200k{classes()}), twinSplit(text, b); !slices.Equal(got, want) {
			t.Fatalf("o200k: %q: got %q, want %q", text, got, want)
		}
	})
}

func TestClasses(t *testing.T) {
	table := classes()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue // no text has surrogates
		}
		s := string(r)
		c, n := table.at(s, 0)
		if n != len(s) || c&clLetter != 0 != isLetter(r) || c&clNumber != 0 != isNumber(r) ||
			c&clSpace != 0 != isSpace(r) || c&clNewline != 0 != isNewline(r) || c&clHead != 0 != isHead(r) || c&clTail != 0 != isTail(r) {
			t.Fatalf("%U: class %b, %d bytes", r, c, n)
		}
	}
}
