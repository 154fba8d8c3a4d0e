package tokenize

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is the set of properties of a rune that the split patterns ask for.
type class uint8

const (
	clUpper   class = 1 << iota // \p{Lu} \p{Lt}
	clLower                     // \p{Ll}
	clOther                     // \p{Lm} \p{Lo}
	clMark                      // \p{M}
	clNumber                    // \p{N}
	clSpace                     // \s, the White_Space property, newlines included
	clNewline                   // \r and \n

	clLetter = clUpper | clLower | clOther             // \p{L}
	clHead   = clUpper | clOther | clMark              // the first class of o200k_base's word
	clTail   = clLower | clOther | clMark              // its second class
	clSymbol = clLetter | clNumber | clSpace           // [^\s\p{L}\p{N}] is none of these
	clPrefix = clLetter | clNumber | clNewline         // [^\r\n\p{L}\p{N}] is none of these
	blockLen = 256                                     // runes per block of the table
	blocks   = (unicode.MaxRune + blockLen) / blockLen // blocks that cover every rune
)

// classTable is a two-level table; equal blocks are not shared except the empty one, number 0.
type classTable struct {
	index  [blocks]uint16
	blocks [][blockLen]class
}

// classes is built once, by the first encoding that loads, in under a millisecond, and takes about 160 kB.
var classes = sync.OnceValue(func() *classTable {
	t := &classTable{blocks: make([][blockLen]class, 1, 640)}
	for _, c := range []struct {
		set   *unicode.RangeTable
		class class
	}{
		{unicode.Lu, clUpper},
		{unicode.Lt, clUpper},
		{unicode.Ll, clLower},
		{unicode.Lm, clOther},
		{unicode.Lo, clOther},
		{unicode.M, clMark},
		{unicode.N, clNumber},
		{unicode.White_Space, clSpace},
	} {
		for _, r := range c.set.R16 {
			t.add(rune(r.Lo), rune(r.Hi), rune(r.Stride), c.class)
		}
		for _, r := range c.set.R32 {
			t.add(rune(r.Lo), rune(r.Hi), rune(r.Stride), c.class)
		}
	}
	t.add('\n', '\n', 1, clNewline)
	t.add('\r', '\r', 1, clNewline)
	return t
})

func (t *classTable) add(lo, hi, stride rune, c class) {
	for r := lo; r <= hi; r += stride {
		b := &t.index[r/blockLen]
		if *b == 0 {
			*b = uint16(len(t.blocks))
			t.blocks = append(t.blocks, [blockLen]class{})
		}
		t.blocks[*b][r%blockLen] |= c
	}
}

// at returns the class and the width in bytes of the rune that starts at s[i].
func (t *classTable) at(s string, i int) (class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return t.blocks[1][b], 1
	}
	return t.wide(s, i)
}

func (t *classTable) wide(s string, i int) (class, int) {
	r, n := utf8.DecodeRuneInString(s[i:])
	return t.blocks[t.index[r/blockLen]][r%blockLen], n
}
