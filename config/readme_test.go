package config

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the settings table into the README")

// TestREADME keeps the README's table of settings equal to the settings.
func TestREADME(t *testing.T) {
	const path, from, to = "../README.md", "<!-- settings -->\n", "<!-- /settings -->"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), from)
	old, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal("the README has lost the marks around its settings table")
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(head+from+Table()+to+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != Table() {
		t.Error("the README's settings table is stale: go test ./config -run README -rewrite")
	}
}
