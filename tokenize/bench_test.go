//go:build unix

package tokenize

import (
	"strings"
	"testing"
)

// BenchmarkEncode reports the time per 100 kB of text; the arena for the ids is reused, so every allocation counts.
func BenchmarkEncode(b *testing.B) {
	for _, name := range []string{O200kBase, Cl100kBase, Approx} {
		e := mustGet(b, name)
		for _, text := range benchTexts(b) {
			b.Run(name+"/"+text.name, func(b *testing.B) {
				ids := e.AppendEncode(nil, text.text)
				b.ReportAllocs()
				b.SetBytes(int64(len(text.text)))
				start := cpuTime(b)
				for b.Loop() {
					ids = e.AppendEncode(ids[:0], text.text)
				}
				perByte := float64(cpuTime(b)-start) / float64(b.N) / float64(len(text.text))
				b.ReportMetric(perByte*100_000/1000, "cpu-µs/100kB")
				b.ReportMetric(float64(len(ids)), "tokens")
			})
		}
	}
}

// BenchmarkLoad is the cost of the first Get of each vocabulary.
func BenchmarkLoad(b *testing.B) {
	for name, file := range map[string]string{O200kBase: o200kFile, Cl100kBase: cl100kFile} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := loadVocab(file); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type benchText struct{ name, text string }

// benchTexts are about 100 kB each, made of texts that are in the repository.
func benchTexts(tb testing.TB) []benchText {
	fill := func(s string) string { return strings.Repeat(s, 100_000/len(s)+1)[:100_000/len(s)*len(s)] }
	return []benchText{
		{"english", fill(readFile(tb, "../LICENSE"))},
		{"markdown", fill(readFile(tb, "testdata/sample.md"))},
		{"code", fill(readFile(tb, "encoding.go") + readFile(tb, "merge.go") + readFile(tb, "vocab.go"))},
		{"cjk", fill(readFile(tb, "testdata/sample-cjk.txt"))},
		{"one-letter", strings.Repeat("a", 100_000)},
		{"spaces", strings.Repeat(" ", 100_000)},
	}
}
