package script_test

import (
	"fmt"
	"strings"
	"testing"

	"fakellm/openai/reply/script"
)

// BenchmarkMatch tries a hundred mappings, with a regular expression each, of which the last one answers.
func BenchmarkMatch(b *testing.B) {
	var sb strings.Builder
	sb.WriteString("mappings:\n")
	for i := range 100 {
		fmt.Fprintf(&sb, "- request: {model: 'gpt-*', user: {matches: 'word%d$'}}\n", i)
		sb.WriteString("  response: {text: 'said {{.Group 0}}'}\n")
	}
	book := parse(b, sb.String())
	st := script.NewState(1, script.Limits{})
	q := user(strings.Repeat("lorem ipsum ", 200) + "word99")
	b.ReportAllocs()
	for b.Loop() {
		s, ok := book.Match(st, q)
		if !ok {
			b.Fatal("no match")
		}
		if _, err := s.Outcome(0); err != nil {
			b.Fatal(err)
		}
	}
}
