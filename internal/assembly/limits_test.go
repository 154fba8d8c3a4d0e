package assembly_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"fakellm/config"
	"fakellm/internal/assembly"
)

// TestLimitSettings: limits of models are read alike from flags, environment and file, and every bad one is named.
func TestLimitSettings(t *testing.T) {
	flags := pflag.NewFlagSet("t", pflag.ContinueOnError)
	config.AddFlags(flags, config.Fields())
	if err := flags.Parse([]string{"--limit", "gpt-4*=1/2", "--limit=o3=3"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("limit: ['gpt-4*=1/2', o3=3]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for why, src := range map[string]config.Source{
		"flags":       {Flags: flags},
		"environment": {Environ: []string{"FAKELLM_LIMIT=gpt-4*=1/2, o3=3"}},
		"file":        {File: file},
	} {
		c, err := config.Load(src)
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		if !slices.Equal(c.Limit, []string{"gpt-4*=1/2", "o3=3"}) {
			t.Errorf("%s: %q", why, c.Limit)
		}
		if err := assembly.Check(&c); err != nil {
			t.Errorf("%s: %v", why, err)
		}
	}
	bad, err := assembly.Settings([]string{"limit=gpt-4o, o3=x/1"})
	if err != nil {
		t.Fatal(err)
	}
	err = assembly.Check(&bad)
	for _, want := range []string{`limit: "gpt-4o": no model or no limit`, `limit: "o3=x/1": "x" is no whole number`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s in it", err, want)
		}
	}
}
