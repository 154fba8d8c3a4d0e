package glob

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMatch holds Match against a regular expression made from the pattern.
func TestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab/*?")), 0, 8, -1).Draw(t, "pattern")
		s := rapid.StringOfN(rapid.RuneFrom([]rune("ab/")), 0, 10, -1).Draw(t, "s")
		expr := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		if want := regexp.MustCompile("^(?:" + expr + ")$").MatchString(s); Match(pattern, s) != want {
			t.Fatalf("Match(%q, %q) = %v", pattern, s, !want)
		}
	})
}
