package assembly

import (
	"testing"

	"fakellm/config"
)

// TestRehearsal: what is loaded before the server listens is what the served models need, and a whole answer passes.
func TestRehearsal(t *testing.T) {
	for _, tokenizer := range []string{"auto", "approx", "cl100k_base"} {
		c := config.Default()
		c.Tokenizer, c.ServedModelName = tokenizer, []string{"gpt-4\"turbo", "o3"}
		p, err := planner(&c)
		if err != nil {
			t.Fatal(err)
		}
		if err := preload(p, &c)(); err != nil {
			t.Errorf("%s: %v", tokenizer, err)
		}
		if err := rehearse(p, c.ServedModelName[0]); err != nil {
			t.Errorf("%s: %v", tokenizer, err)
		}
	}
}
