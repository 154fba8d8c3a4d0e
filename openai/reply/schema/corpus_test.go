package schema

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// corpusLine is a schema of a testdata/*.jsonl file.
type corpusLine struct {
	File   string          `json:"file"`
	Case   string          `json:"case"`
	Schema json.RawMessage `json:"schema"`
}

func corpus(tb testing.TB, name string) []corpusLine {
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

func TestProbe(t *testing.T) {
	made, refused := 0, 0
	for _, l := range corpus(t, "suite.jsonl") {
		s, err := Compile(l.Schema)
		if err == nil {
			for seed := range uint64(5) {
				if _, err = s.Generate(seed); err != nil {
					break
				}
			}
		}
		if err == nil {
			made++
			continue
		}
		refused++
		var e *Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		t.Logf("%s: %s: %v %v\n    %.300s", l.File, l.Case, e.Unsatisfiable, err, l.Schema)
	}
	t.Logf("%d made, %d refused", made, refused)
}
