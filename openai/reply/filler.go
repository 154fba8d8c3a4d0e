package reply

import (
	"fmt"
	"strings"

	"fakellm/internal/rng"
	"fakellm/tokenize"
)

// Filler writes readable English of an exact number of tokens. Every token is a word or a mark from a table, and every
// prefix of what it writes encodes to exactly the ids that it gave: words never merge over the space between them. So
// no tokenizer runs per answer.
type Filler struct {
	approx   bool
	words    [classStop + 1][]word
	start    [classStop + 1][]word // capitalised, at the start of a paragraph: no space in front
	upper    [classStop + 1][]word // capitalised, after a full stop
	breaks   word                  // a full stop and an empty line, one token
	pool     []word                // words that are all different: alternatives for Probs
	patterns []pattern
	byLength [len(sentences)][2]int // patterns[byLength[n][0]:byLength[n][1]] have n tokens
}

type word struct {
	text string
	id   uint32
}

type pattern []uint8

// NewFiller prepares the table for an encoding, once, in about 0.3 ms. It fails if a word is not one token.
func NewFiller(e *tokenize.Encoding) (*Filler, error) {
	f := &Filler{approx: e.Name() == tokenize.Approx}
	var err error
	one := func(text string) word {
		ids := e.AppendEncode(nil, text)
		if len(ids) != 1 && !f.approx && err == nil {
			err = fmt.Errorf("reply: filler %q has %d tokens in %s, want 1", text, len(ids), e.Name())
		}
		return word{text: text, id: ids[0]}
	}
	for class, list := range wordLists {
		for w := range strings.FieldsSeq(list) {
			title := strings.ToUpper(w[:1]) + w[1:]
			switch class {
			case classDet, classPrep, classOpen:
				f.start[class] = append(f.start[class], one(title))
				f.upper[class] = append(f.upper[class], one(" "+title))
			}
			if class != classOpen {
				f.words[class] = append(f.words[class], one(" "+w))
			}
		}
	}
	f.words[classComma] = []word{one(",")}
	f.words[classStop] = []word{one(".")}
	f.breaks = one(".\n\n")
	f.fillPool()
	for n, list := range sentences {
		f.byLength[n][0] = len(f.patterns)
		for _, s := range list {
			p := make(pattern, len(s))
			for i := range p {
				p[i] = classOf(s[i])
			}
			f.patterns = append(f.patterns, p)
		}
		f.byLength[n][1] = len(f.patterns)
	}
	return f, err
}

// fillPool collects the pool; a prime number of words has no stride that misses some.
func (f *Filler) fillPool() {
	const size = 211
	seen := map[uint32]bool{}
	for _, class := range [...]int{classNoun, classAdj, classTrans} {
		for _, w := range f.words[class] {
			if len(f.pool) < size && !seen[w.id] {
				seen[w.id] = true
				f.pool = append(f.pool, w)
			}
		}
	}
}

// text is what an answer says so far.
type text struct {
	text []byte
	ids  []uint32
	ends []uint32
}

func (t *text) add(w word) {
	t.text = append(t.text, w.text...)
	t.ids = append(t.ids, w.id)
	t.ends = append(t.ends, uint32(len(t.text)))
}

// grow makes room for n tokens of English.
func (t *text) grow(n int) {
	t.text = make([]byte, 0, len(t.text)+n*6)
	t.ids = make([]uint32, 0, n)
	t.ends = make([]uint32, 0, n)
}

// write appends the first n tokens of an answer planned to have total, n ≤ total. The answer is whole sentences; cut
// short it ends in the middle of one. O(n).
func (f *Filler) write(t *text, seed uint64, total, n int) {
	if f.approx {
		f.writeApprox(t, seed, n)
		return
	}
	w := writer{f: f, s: rng.SplitMix(seed), fresh: len(t.text) == 0}
	for stop := len(t.ids) + n; len(t.ids) < stop; {
		p := w.pattern(total)
		total -= len(p)
		w.sentence(t, p, stop-len(t.ids), total)
	}
}

// writeApprox writes words until there are n groups of bytes and cuts there.
func (f *Filler) writeApprox(t *text, seed uint64, n int) {
	const group = 4
	var long text
	long.grow(n)
	w := writer{f: f, s: rng.SplitMix(seed), fresh: len(t.text) == 0}
	for len(long.text) < n*group {
		w.sentence(&long, w.pattern(1<<30), 1<<30, 1<<30)
	}
	for i := range n {
		g := long.text[i*group:][:group]
		t.add(word{text: string(g), id: uint32(g[0]) | uint32(g[1])<<8 | uint32(g[2])<<16 | uint32(g[3])<<24})
	}
}

// writer is the state between sentences.
type writer struct {
	f     *Filler
	s     rng.SplitMix
	fresh bool // the next word starts a paragraph
	noun  int  // the last noun, not to be repeated at once
}

// below returns a number in [0, n).
func (w *writer) below(n int) int {
	return int((w.s.Next() >> 32) * uint64(n) >> 32)
}

// pattern chooses a sentence for an answer that still needs left tokens: what remains after it is nothing or enough for
// another sentence.
func (w *writer) pattern(left int) pattern {
	f := w.f
	if left < minSentence {
		return f.patterns[f.byLength[left][0]]
	}
	first := f.byLength[minSentence][0]
	p := f.patterns[first+w.below(len(f.patterns)-first)]
	if rest := left - len(p); rest == 0 || rest >= minSentence {
		return p
	}
	n := left
	if n >= len(sentences) {
		n = left / 2
	}
	r := f.byLength[n]
	return f.patterns[r[0]+w.below(r[1]-r[0])]
}

// sentence writes at most limit tokens of a sentence after which left tokens are to come.
func (w *writer) sentence(t *text, p pattern, limit, left int) {
	fresh := w.fresh
	w.fresh = false
	for i, class := range p[:min(len(p), limit)] {
		list := w.f.words[class]
		switch {
		case i == 0 && fresh:
			list = w.f.start[class]
		case i == 0:
			list = w.f.upper[class]
		case class == classStop && left > 0 && w.below(5) == 0:
			w.fresh = true
			t.add(w.f.breaks)
			continue
		}
		k := w.below(len(list))
		if class == classNoun {
			if k == w.noun {
				k = (k + 1) % len(list)
			}
			w.noun = k
		}
		t.add(list[k])
	}
}
