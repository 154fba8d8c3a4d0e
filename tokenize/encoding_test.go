package tokenize

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"
)

func TestForModel(t *testing.T) {
	for _, tt := range []struct{ model, want, why string }{
		{"gpt-4", Cl100kBase, "the family's own name"},
		{"gpt-4-turbo-2024-04-09", Cl100kBase, "the family goes on with a hyphen"},
		{"gpt-4-0314", Cl100kBase, "a dated model"},
		{"gpt-3.5-turbo", Cl100kBase, "gpt-3.5"},
		{"gpt-35-turbo-16k", Cl100kBase, "Azure's spelling"},
		{"ft:gpt-4:acme::1", Cl100kBase, "a fine-tuned model goes on with a colon"},
		{"text-embedding-3-small", Cl100kBase, "embeddings"},
		{"openai/gpt-4", Cl100kBase, "an owner in front is ignored"},
		{"GPT-4", Cl100kBase, "case is ignored"},
		{"gpt-4o", O200kBase, "not of the gpt-4 family"},
		{"gpt-4o-mini-2024-07-18", O200kBase, "nor this"},
		{"gpt-4.1-nano", O200kBase, "nor this"},
		{"chatgpt-4o-latest", O200kBase, "chatgpt"},
		{"gpt-5.1", O200kBase, "newer"},
		{"o1", O200kBase, "the o series"},
		{"o3-mini", O200kBase, "the o series"},
		{"gpt-oss-120b", O200kBase, "open weights"},
		{"meta-llama/Llama-3.1-8B-Instruct", O200kBase, "unknown"},
		{"", O200kBase, "nothing"},
	} {
		if got := ForModel(tt.model); got != tt.want {
			t.Errorf("ForModel(%q) = %s, want %s: %s", tt.model, got, tt.want, tt.why)
		}
	}
}

func TestGet(t *testing.T) {
	for _, name := range Names() {
		if e := mustGet(t, name); e.Name() != name {
			t.Errorf("Get(%q) is called %q", name, e.Name())
		}
	}
	if _, err := Get("p50k_base"); err == nil || !strings.Contains(err.Error(), `"p50k_base"`) {
		t.Errorf("Get of an unknown name: error %v, want one that names it", err)
	}
}

func TestValidText(t *testing.T) {
	for _, tt := range []struct{ in, want, why string }{
		{"a\xffb", "a\uFFFDb", "a byte that starts nothing"},
		{"\xe4\xbd", "\uFFFD", "a truncated character is one part"},
		{"\xe4\xbdA", "\uFFFDA", "and ends before what follows"},
		{"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD", "a surrogate: its second byte cannot follow the first"},
		{"\xc0\xaf", "\uFFFD\uFFFD", "an overlong form"},
		{"\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD", "beyond U+10FFFF"},
		{"\xf0\x9f\x98\xf0\x9f\x98\x80", "\uFFFD😀", "truncated, then whole"},
	} {
		if got := validText(tt.in); got != tt.want {
			t.Errorf("validText(%q) = %q, want %q: %s", tt.in, got, tt.want, tt.why)
		}
	}
}

// mixed draws text in which the classes of the patterns meet in every order.
func mixed() *rapid.Generator[string] {
	atom := rapid.SampledFrom([]string{
		" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u0085", "a", "b", "A", "B", "é", "ʰ", "ǅ", "日", "本", "\u0301", "1",
		"²", "٣", "'", "'s", "'LL", "ſ", ".", "!", "/", "-", "😀", "\u200d", "\x00", "the", " of", "Hello", "\u20dd",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(atom, 0, 40).Draw(t, "atoms"), "")
	})
}

// TestOtherModule compares with the module that the vocabularies come from, a second implementation of everything.
func TestOtherModule(t *testing.T) {
	for _, name := range []string{O200kBase, Cl100kBase} {
		codec, err := tokenizer.Get(tokenizer.Encoding(name))
		if err != nil {
			t.Fatal(err)
		}
		e := mustGet(t, name)
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.OneOf(mixed(), rapid.String()).Draw(t, "text")
			if strings.Contains(text, "ſ") || !utf8.ValidString(text) {
				t.Skip("the module folds case without Unicode")
			}
			want, _, err := codec.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			got := e.AppendEncode(nil, text)
			if len(got) != len(want) {
				t.Fatalf("%s: %q: got %v, want %v", name, text, got, want)
			}
			for i := range got {
				if uint(got[i]) != want[i] {
					t.Fatalf("%s: %q: got %v, want %v", name, text, got, want)
				}
			}
		})
	}
}

// TestMergers compares the two ways of merging on pieces that either may see.
func TestMergers(t *testing.T) {
	e := mustGet(t, O200kBase)
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.RuneFrom([]rune("abcdefstионэ中文字한글-= "))
		piece := rapid.StringOfN(runes, 1, -1, smallPiece).Draw(t, "piece")
		small := e.vocab.appendSmall(nil, piece)
		long := new(merger).appendMerged(nil, piece, e.vocab)
		if e.Decode(small) != piece || e.Decode(long) != piece || len(small) != len(long) {
			t.Fatalf("%q: small %v, long %v", piece, small, long)
		}
		for i := range small {
			if small[i] != long[i] {
				t.Fatalf("%q: small %v, long %v", piece, small, long)
			}
		}
	})
}

// FuzzRoundTrip: decoding what was encoded gives the text back, ill-formed parts replaced, whole and in pieces.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{
		"", "Hello, world!", "a\n \nb", "日本語 ABC", "👩‍👩‍👧‍👦", "\xff\xe4\xbd", "x\x00y", "it's 123456",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{O200kBase, Cl100kBase} {
			e := mustGet(t, name)
			ids := e.AppendEncode(nil, text)
			want := validText(text)
			if got := e.Decode(ids); got != want {
				t.Fatalf("%s: decoded %q, want %q", name, got, want)
			}
			checkPieces(t, e, ids, want)
		}
		if e := mustGet(t, Approx); utf8.ValidString(text) && !strings.Contains(text, "\x00") {
			ids := e.AppendEncode(nil, text)
			if got := e.Decode(ids); got != text || len(ids) != e.Count(text) {
				t.Fatalf("approx: decoded %q, want %q; %d ids, count %d", got, text, len(ids), e.Count(text))
			}
			checkPieces(t, e, ids, text)
		}
	})
}

// checkPieces wants every prefix of the pieces to be text and all of them to be want.
func checkPieces(t *testing.T, e *Encoding, ids []uint32, want string) {
	t.Helper()
	text, ends := e.AppendPieces(nil, nil, ids)
	if string(text) != want || len(ends) != len(ids) {
		t.Fatalf("%s: pieces say %q with %d ends, want %q with %d", e.Name(), text, len(ends), want, len(ids))
	}
	last := uint32(0)
	for _, end := range ends {
		if end < last || !utf8.Valid(text[last:end]) {
			t.Fatalf("%s: piece %q is not text", e.Name(), text[last:end])
		}
		last = end
	}
}
