package tokenize

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Names of the encodings.
const (
	O200kBase  = "o200k_base"
	Cl100kBase = "cl100k_base"
	// Approx is the cheap mode: four bytes are one token, whatever they say.
	Approx = "approx"
)

// Names lists the encodings that Get knows.
func Names() []string { return []string{O200kBase, Cl100kBase, Approx} }

// Encoding translates between text and token ids. It never changes after Get and is safe for concurrent use.
type Encoding struct {
	name    string
	vocab   *vocab // nil in the approx mode
	split   splitter
	special special
	pool    sync.Pool // of *merger, for long pieces
}

var (
	loadO200k = sync.OnceValues(func() (*Encoding, error) {
		return load(&Encoding{name: O200kBase, split: o200k{classes()}, special: o200kSpecial}, o200kFile)
	})
	loadCl100k = sync.OnceValues(func() (*Encoding, error) {
		return load(&Encoding{name: Cl100kBase, split: cl100k{classes()}, special: cl100kSpecial}, cl100kFile)
	})
	approx = &Encoding{name: Approx, special: approxSpecial}
)

// load completes e with its vocabulary; an error means that the binary was built from a damaged file.
func load(e *Encoding, file string) (*Encoding, error) {
	v, err := loadVocab(file)
	if err != nil {
		return nil, fmt.Errorf("tokenize: vocabulary %s: %w", e.name, err)
	}
	if v.size() != int(e.special.first) {
		return nil, fmt.Errorf("tokenize: vocabulary %s: %d tokens, want %d", e.name, v.size(), e.special.first)
	}
	e.vocab = v
	return e, nil
}

// Get returns the encoding called name, one of Names. The first call for a name loads its vocabulary: about 9 ms of
// processor time and 5 MB for o200k_base, half of that for cl100k_base; a server calls it in the background at start.
// An unknown name is an error.
func Get(name string) (*Encoding, error) {
	switch name {
	case O200kBase:
		return loadO200k()
	case Cl100kBase:
		return loadCl100k()
	case Approx:
		return approx, nil
	default:
		return nil, fmt.Errorf("tokenizer %q: want one of %s", name, strings.Join(Names(), ", "))
	}
}

// cl100kModels are the families to which OpenAI's own table (tiktoken's model.py) gives cl100k_base. A model belongs to
// a family when its name is the family's or goes on with a hyphen or, for fine-tuned ones, a colon.
var cl100kModels = []string{
	"gpt-4", "gpt-3.5-turbo", "gpt-3.5", "gpt-35-turbo", "ft:gpt-4", "ft:gpt-3.5-turbo", "davinci-002",
	"babbage-002", "ft:davinci-002", "ft:babbage-002", "text-embedding-ada-002", "text-embedding-3-small",
	"text-embedding-3-large",
}

// ForModel returns the name of the encoding that OpenAI's table gives for a model: cl100k_base for the gpt-4 and
// gpt-3.5 families and the embedding models of their time, o200k_base for gpt-4o, gpt-4.1, gpt-4.5, gpt-5, the o series
// and every model that the table does not know. An owner in front, as in "openai/gpt-4", is ignored.
func ForModel(model string) string {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, family := range cl100kModels {
		// What follows decides: gpt-4-turbo and gpt-4 are of the family, gpt-4o and gpt-4.1 are not.
		rest, ok := strings.CutPrefix(model, family)
		if ok && (rest == "" || rest[0] == '-' || rest[0] == ':') {
			return Cl100kBase
		}
	}
	return O200kBase
}

// Name is the name that Get was given.
func (e *Encoding) Name() string { return e.name }

// AppendEncode appends the ids of text to dst. It allocates only to grow dst, and once more for text that is not
// UTF-8 (see the package comment). Linear in the text; a single piece of n bytes, such as a run of one letter, costs
// O(n log n).
func (e *Encoding) AppendEncode(dst []uint32, text string) []uint32 {
	if e.vocab == nil {
		return appendApprox(dst, text)
	}
	if !utf8.ValidString(text) {
		text = validText(text)
	}
	for i := 0; i < len(text); {
		end := e.split.next(text, i)
		dst = e.vocab.appendPiece(dst, text[i:end], &e.pool)
		i = end
	}
	return dst
}

// Count returns the number of tokens of text: len(AppendEncode(nil, text)), without keeping them.
func (e *Encoding) Count(text string) int {
	if e.vocab == nil {
		return (len(text) + approxBytes - 1) / approxBytes
	}
	if !utf8.ValidString(text) {
		text = validText(text)
	}
	var buf [smallPiece]uint32
	n := 0
	for i := 0; i < len(text); {
		end := e.split.next(text, i)
		n += len(e.vocab.appendPiece(buf[:0], text[i:end], &e.pool))
		i = end
	}
	return n
}

// validText replaces every maximal ill-formed part of s by U+FFFD: a start byte with the continuation bytes that could
// still follow it is one part, any other stray byte is one.
func validText(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			i += illFormed(s[i:])
			b.WriteRune(utf8.RuneError)
			continue
		}
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String()
}

// illFormed returns the length of the maximal ill-formed part at the start of s, given that s starts with one.
func illFormed(s string) int {
	lo, hi, want := byte(0x80), byte(0xbf), 0
	switch c := s[0]; {
	case c >= 0xc2 && c <= 0xdf:
		want = 1
	case c >= 0xe0 && c <= 0xef:
		want = 2
		switch c {
		case 0xe0:
			lo = 0xa0
		case 0xed:
			hi = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		want = 3
		switch c {
		case 0xf0:
			lo = 0x90
		case 0xf4:
			hi = 0x8f
		}
	}
	n := 1
	for n <= want && n < len(s) && s[n] >= lo && s[n] <= hi {
		lo, hi = 0x80, 0xbf
		n++
	}
	return n
}
