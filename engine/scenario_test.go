package engine_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"fakellm/engine"
	"fakellm/internal/enginetest"
)

// TestScenarios plays the scripts under testdata/scenario; -rewrite writes what they say now. The laws are checked
// after every command.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenario", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "play" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			s := enginetest.NewScenario((*engine.Engine).Audit)
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
				values := map[string]string{}
				for arg := range strings.FieldsSeq(rest) {
					key, value, _ := strings.Cut(arg, "=")
					values[key] = value
				}
				if said := s.Do(name, values); said != "\n" {
					out.WriteString(said)
				}
			}
			return out.String()
		})
	})
}
