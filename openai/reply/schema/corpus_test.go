package schema

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/*.refused anew")

// corpusLine is a schema of a testdata/*.jsonl file.
type corpusLine struct {
	File   string          `json:"file"`
	Case   string          `json:"case"`
	Schema json.RawMessage `json:"schema"`
}

func readCorpus(tb testing.TB, name string) []corpusLine {
	tb.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	var lines []corpusLine
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var l corpusLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			tb.Fatalf("%s: %v: %s", name, err, s.Text())
		}
		lines = append(lines, l)
	}
	return lines
}

// TestCorpus makes values for every schema of the corpora, twice over several seeds. Each must fit, in the opinion of a
// validator that was compiled apart, or an error must name a keyword. Which schemas are refused, and why, is golden
// (-rewrite): suite.jsonl are the schemas of the JSON Schema Test Suite for draft 2020-12 (licence beside it),
// sdk.jsonl those that pydantic 2.13, zod 4 and zod-to-json-schema emitted for models of our own, and hand-written
// ones.
func TestCorpus(t *testing.T) {
	for _, tt := range []struct {
		name string
		made int
	}{
		{"suite", 423},
		{"sdk", 160},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made := 0
			var refused strings.Builder
			for _, l := range readCorpus(t, tt.name+".jsonl") {
				err := makeSome(t, l)
				if err == nil {
					made++
					continue
				}
				var e *Error
				if !errors.As(err, &e) || e.Keyword == "" {
					t.Fatalf("%s, %s: error %v names no keyword", l.File, l.Case, err)
				}
				fmt.Fprintf(&refused, "%s | %s | unsatisfiable %v | %v\n", l.File, l.Case, e.Unsatisfiable, err)
			}
			if made != tt.made {
				t.Errorf("values made for %d schemas, want %d", made, tt.made)
			}
			golden := "testdata/" + tt.name + ".refused"
			if *rewrite {
				if err := os.WriteFile(golden, []byte(refused.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), refused.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// makeSome makes values from several seeds and has each checked.
func makeSome(t *testing.T, l corpusLine) error {
	t.Helper()
	s, err := Compile(l.Schema)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(l.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(func(p string) (jsonschema.Regexp, error) { return newExpression(p) })
	if err := c.AddResource("mem:///other.json", doc); err != nil {
		t.Fatal(err)
	}
	check, err := c.Compile("mem:///other.json")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(6) {
		text, err := s.Generate(seed)
		if err != nil {
			return err
		}
		again, err := s.Generate(seed)
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s, %s: seed %d gives %s and %s", l.File, l.Case, seed, text, again)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s, %s: %s: %v", l.File, l.Case, text, err)
		}
		if err := check.Validate(v); err != nil {
			t.Errorf("%s, %s: %s does not fit: %v", l.File, l.Case, text, err)
		}
		if err := s.Validate(text); err != nil {
			t.Errorf("%s, %s: %s does not fit: %v", l.File, l.Case, text, err)
		}
	}
	return nil
}

// FuzzGenerate: no schema makes the generator panic or run on, and what it makes fits.
func FuzzGenerate(f *testing.F) {
	for _, name := range []string{"suite.jsonl", "sdk.jsonl"} {
		for _, l := range readCorpus(f, name) {
			f.Add([]byte(l.Schema), uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		s, err := Compile(raw)
		if err != nil {
			return
		}
		text, err := s.Generate(seed)
		if err != nil {
			return
		}
		if err := s.Validate(text); err != nil {
			t.Fatalf("%s: %s: %v", raw, text, err)
		}
	})
}

func BenchmarkGenerate(b *testing.B) {
	for _, name := range []string{"calendar event", "query_db", "expression", "wide recursion"} {
		for _, l := range readCorpus(b, "sdk.jsonl") {
			if l.Case != name {
				continue
			}
			b.Run(strings.ReplaceAll(name, " ", "-")+"/compile", func(b *testing.B) {
				for b.Loop() {
					if _, err := Compile(l.Schema); err != nil {
						b.Fatal(err)
					}
				}
			})
			s, err := Compile(l.Schema)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(strings.ReplaceAll(name, " ", "-")+"/generate", func(b *testing.B) {
				for seed := uint64(0); b.Loop(); seed++ {
					if _, err := s.Generate(seed); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
