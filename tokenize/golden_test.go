package tokenize

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// goldenCase is a line of testdata/golden.json, made by OpenAI's tiktoken (testdata/gen.mjs).
type goldenCase struct {
	Text   *string         `json:"text"`
	Base64 []byte          `json:"base64"`
	Times  int             `json:"times"`
	File   string          `json:"file"`
	Cl100k json.RawMessage `json:"cl100k_base"`
	O200k  json.RawMessage `json:"o200k_base"`
}

func (c goldenCase) input(t *testing.T) string {
	t.Helper()
	switch {
	case c.File != "":
		return readFile(t, "testdata/"+c.File)
	case c.Times > 0:
		return strings.Repeat(*c.Text, c.Times)
	case c.Text != nil:
		return *c.Text
	default:
		return string(c.Base64)
	}
}

func TestGolden(t *testing.T) {
	var cases []goldenCase
	if err := json.Unmarshal([]byte(readFile(t, "testdata/golden.json")), &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 200 {
		t.Fatalf("%d golden texts, want at least 200", len(cases))
	}
	for _, name := range []string{Cl100kBase, O200kBase} {
		e := mustGet(t, name)
		for _, c := range cases {
			text := c.input(t)
			want := c.Cl100k
			if name == O200kBase {
				want = c.O200k
			}
			got := e.AppendEncode(nil, text)
			if n := e.Count(text); n != len(got) {
				t.Errorf("%s: Count(%.60q) = %d, want %d", name, text, n, len(got))
			}
			checkIDs(t, name, text, got, want)
			if decoded := e.Decode(got); utf8.ValidString(text) && decoded != text {
				t.Errorf("%s: decoded %.60q, want %.60q", name, decoded, text)
			}
		}
	}
}

// checkIDs compares with a golden: a list of ids, or for long texts their number and hash.
func checkIDs(t *testing.T, name, text string, got []uint32, want json.RawMessage) {
	t.Helper()
	if want[0] == '[' {
		var ids []uint32
		if err := json.Unmarshal(want, &ids); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%s: %.80q: got %v, want %v", name, text, got, ids)
		}
		return
	}
	var sum struct {
		N   int    `json:"n"`
		FNV uint32 `json:"fnv"`
	}
	if err := json.Unmarshal(want, &sum); err != nil {
		t.Fatal(err)
	}
	h := fnv.New32a()
	for _, id := range got {
		h.Write(binary.LittleEndian.AppendUint32(nil, id))
	}
	if len(got) != sum.N || h.Sum32() != sum.FNV {
		t.Errorf("%s: %.20q…: %d ids with hash %d, want %d with %d", name, text, len(got), h.Sum32(), sum.N, sum.FNV)
	}
}

func mustGet(tb testing.TB, name string) *Encoding {
	tb.Helper()
	e, err := Get(name)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func readFile(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}
