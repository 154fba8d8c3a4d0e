package engine_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"fakellm/internal/enginetest"
)

// TestGoldens plays loads of the reference simulator (shared/goldens, ai-dynamo-runtime 1.6.1; the committed ones are
// copies without the summary) and compares every request. FAKELLM_GOLDENS adds a folder of files, or a glob.
func TestGoldens(t *testing.T) {
	files, _ := filepath.Glob("testdata/golden/*.json")
	if extra := os.Getenv("FAKELLM_GOLDENS"); extra != "" {
		more, err := filepath.Glob(extra)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, runs := range []bool{false, true} {
				g, err := enginetest.ParseGolden(text)
				if err != nil || len(g.Want) == 0 {
					t.Skip("not a plain load: ", err)
				}
				got, rec, err := g.Answers(runs)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range rec.Problems {
					t.Error(p)
				}
				compareAnswers(t, g.Want, got, runs)
			}
		})
	}
}

// compareAnswers ignores the order of rows: the reference lists them as they end.
func compareAnswers(t *testing.T, want, got []enginetest.GoldenAnswer, runs bool) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("runs %v: %d rows, want %d", runs, len(got), len(want))
	}
	order := func(rows []enginetest.GoldenAnswer) func(i, j int) bool {
		key := func(a enginetest.GoldenAnswer) string {
			first := -1.0
			if a.First != nil {
				first = *a.First
			}
			return fmt.Sprintf("%014.3f %08d %08d %014.3f %014.3f", a.Arrival, a.Input, a.Output, first, a.Terminal)
		}
		return func(i, j int) bool { return key(rows[i]) < key(rows[j]) }
	}
	sort.Slice(want, order(want))
	sort.Slice(got, order(got))
	bad := 0
	for i := range want {
		if !sameAnswer(want[i], got[i]) {
			if bad++; bad <= 3 {
				w, _ := json.Marshal(want[i])
				g, _ := json.Marshal(got[i])
				t.Errorf("runs %v: row %d\nwant %s\n got %s", runs, i, w, g)
			}
		}
	}
	if bad > 3 {
		t.Errorf("runs %v: %d rows differ", runs, bad)
	}
}

// sameAnswer allows 1e-6 ms: the reference adds floating milliseconds.
func sameAnswer(a, b enginetest.GoldenAnswer) bool {
	near := func(x, y *float64) bool {
		return (x == nil) == (y == nil) && (x == nil || math.Abs(*x-*y) <= 1e-6)
	}
	return near(&a.Arrival, &b.Arrival) && near(a.Admit, b.Admit) && near(a.First, b.First) && near(a.Last, b.Last) &&
		near(&a.Terminal, &b.Terminal) && a.Input == b.Input && a.Output == b.Output && a.Reused == b.Reused &&
		a.Admits == b.Admits && a.Status == b.Status
}
