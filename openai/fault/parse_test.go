package fault_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fakellm/openai/fault"
)

func TestParse(t *testing.T) {
	yes := true
	status := func(e fault.Failure) fault.Plan {
		return fault.Plan{{Kind: fault.Status, At: fault.Unset, Failure: e}}
	}
	for _, tc := range []struct {
		text string
		want fault.Plan
	}{
		{"", nil},
		{"none", nil},
		{"status=503", status(fault.Failure{Status: 503})},
		{"STATUS = 429 ; Retry-After = 2;retry-after-ms=1500", status(fault.Failure{
			Status: 429, RetryAfter: 2 * time.Second, RetryAfterExact: 1500 * time.Millisecond,
		})},
		{`status=500;should-retry=true;message="a;b, \"c\" \\"`, status(fault.Failure{
			Status: 500, ShouldRetry: &yes, Message: `a;b, "c" \`,
		})},
		{"hang, hang=1.5", fault.Plan{
			{Kind: fault.Hang, At: fault.Unset},
			{Kind: fault.Hang, At: fault.Unset, For: 1500 * time.Millisecond},
		}},
		{"stall=2m;at=3", fault.Plan{{Kind: fault.Stall, At: 3, For: 2 * time.Minute}}},
		{"drip=20ms;bytes=4;at=0", fault.Plan{{Kind: fault.Drip, At: 0, For: 20 * time.Millisecond, Bytes: 4}}},
	} {
		got, err := fault.Parse(tc.text)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q: %s", tc.text, diff)
		}
	}
	for text, want := range map[string]string{
		"boom":                   `unknown kind, known are status, hang`,
		"status":                 "fault status: a status is missing, as in status=503",
		"status=200":             `fault status: "200" is no whole number from 400 to 599`,
		"status=abc":             `fault status: "abc" is no whole number from 400 to 599`,
		"status=600":             `fault status: "600" is no whole number from 400 to 599`,
		"reset;when=3":           `fault reset: unknown parameter "when", known are at`,
		"no-done;at=3":           `unknown parameter "at", known are none`,
		"reset=3":                `unknown parameter ""`,
		"reset;at=-1":            `at: "-1" is no whole number`,
		"reset;at=1;at=2":        `parameter "at" is repeated`,
		"reset;at=":              `parameter "at" has no value`,
		"stall":                  "fault stall: a duration is missing",
		"stall=NaN":              `fault stall: "NaN" is no duration above 0 and up to 24h0m0s`,
		"stall=25h":              `fault stall: "25h" is no duration`,
		"stall=-1s":              `fault stall: "-1s" is no duration`,
		"drip=0s":                `fault drip: "0s" is no duration above 0`,
		"hang=0s":                `fault hang: "0s" is no duration above 0 and up to 24h0m0s; hang alone never ends`,
		`status=400;message="x`:  "quote not closed",
		"reset,":                 `fault "": unknown kind`,
		"status=429;of=cookies":  `"cookies" is neither requests nor tokens`,
		"status=429;message=a\n": "",
	} {
		if _, err := fault.Parse(text); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q in it", text, err, want)
		}
	}
	if _, err := fault.Parse(strings.Repeat("no-done,", 17)); err == nil {
		t.Error("too many faults must be refused")
	}
}

// FuzzParse: what is accepted is written and read back the same; nothing panics.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"status=429;retry-after=2;should-retry=true;of=tokens;limit=3", "hang", "stall=2s;at=3, reset;at=9",
		`error;message="a, \"b\"";at=1`, "drip=1ms;bytes=3", "truncate;bytes=1", "no-done,double-done",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := fault.Parse(s)
		if err != nil {
			return
		}
		q, err := fault.Parse(p.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", s, p, err)
		}
		if diff := cmp.Diff(p, q); diff != "" {
			t.Fatalf("%q became %q: %s", s, p, diff)
		}
		for i := range p {
			_ = p[i].Failure.Body()
		}
	})
}
