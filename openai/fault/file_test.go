package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseRules(t *testing.T) {
	rules, err := ParseRules("f.yaml", []byte(`
faults:
  - name: flaky
    route: /v1/chat/*
    first: 2
    windows: [{from: 1s, to: 2m, period: 5m}]
    fault: status=503;retry-after=1
`))
	if err != nil {
		t.Fatal(err)
	}
	r := rules[0]
	if r.Name != "flaky" || r.First != 2 || r.Windows[0].To != 2*time.Minute || r.Plan[0].Kind != Status {
		t.Errorf("%+v", r)
	}
	text, err := FormatRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseRules("again", text)
	if diff := cmp.Diff(rules, again); diff != "" || err != nil {
		t.Errorf("rules do not read back: %v\n%s", err, diff)
	}
	for _, row := range []struct{ why, text, want string }{
		{"a typing error is an error", "faults: [{fualt: reset}]", "fualt"},
		{"a rule without a fault does nothing", "faults: [{name: a}]", "faults[0]: fault: missing"},
		{"a fault that does not exist", "faults: [{fault: explode}]", "explode"},
		{"a window that is no span", "faults: [{fault: reset, windows: [{to: soon}]}]", `windows[0].to: "soon"`},
		{"chance above one", "faults: [{fault: reset, probability: 2}]", "robability"},
		{"nothing where a rule belongs", "faults: [null]", "faults[0]: fault: missing"},
		{"not a list", "faults: 3", "f.yaml"},
	} {
		if _, err := ParseRules("f.yaml", []byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v does not say %s", row.why, err, row.want)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte("faults: [{fault: reset}]"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = ParseRules("f", data) })
}
