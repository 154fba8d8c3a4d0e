package fault_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fakellm/openai/fault"
)

func plan(t testing.TB, text string) fault.Plan {
	t.Helper()
	p, err := fault.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// acts is x for each request that gets the plan and . for each that does not.
func acts(t testing.TB, r fault.Rule, n int, facts func(i int) fault.Facts, at func(i int) time.Duration) string {
	t.Helper()
	r.Plan = plan(t, "status=503")
	s, err := fault.NewSet([]fault.Rule{r})
	if err != nil {
		t.Fatal(err)
	}
	c := fault.NewCounters(7, 0)
	var sb strings.Builder
	for i := range n {
		if p, _ := s.Choose(at(i), facts(i), c); p != nil {
			sb.WriteByte('x')
		} else {
			sb.WriteByte('.')
		}
	}
	return sb.String()
}

func TestRules(t *testing.T) {
	one, no := 1, false
	seconds := func(i int) time.Duration { return time.Duration(i) * time.Second }
	same := func(int) fault.Facts {
		return fault.Facts{Model: "meta/llama", Route: "/v1/chat/completions", Stream: true}
	}
	turns := func(i int) fault.Facts { return fault.Facts{Session: fmt.Sprint(i % 2)} }
	window := func(from, to, period time.Duration) []fault.Window {
		return []fault.Window{{From: from * time.Second, To: to * time.Second, Period: period * time.Second}}
	}
	retries := func(i int) fault.Facts { return fault.Facts{Retry: i} }
	for _, tc := range []struct {
		why   string
		rule  fault.Rule
		facts func(int) fault.Facts
		want  string
	}{
		{"always", fault.Rule{}, same, "xxxxxxxx"},
		{"the first three", fault.Rule{First: 3}, same, "xxx....."},
		{"every third", fault.Rule{Every: 3}, same, "..x..x.."},
		{"the first and then every second", fault.Rule{First: 1, Every: 2}, same, "x.x.x.x."},
		{"the first of each session", fault.Rule{First: 1, PerSession: true}, turns, "xx......"},
		{"the first of all sessions", fault.Rule{First: 1}, turns, "x......."},
		{"an outage from second 2 to 4", fault.Rule{Windows: window(2, 4, 0)}, same, "..xx...."},
		{"one second of every three", fault.Rule{Windows: window(0, 1, 3)}, same, "x..x..x."},
		{"counting starts in the window", fault.Rule{First: 1, Windows: window(5, 99, 0)}, same, ".....x.."},
		{"a glob over slashes", fault.Rule{Model: "meta*"}, same, "xxxxxxxx"},
		{"another model", fault.Rule{Model: "gpt*"}, same, "........"},
		{"not for streams", fault.Rule{Stream: &no}, same, "........"},
		{"not after the first retry", fault.Rule{MaxRetry: &one}, retries, "xx......"},
	} {
		if got := acts(t, tc.rule, len(tc.want), tc.facts, seconds); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.why, got, tc.want)
		}
	}
	half := fault.Rule{Name: "half", Probability: 0.25}
	got := acts(t, half, 4000, same, seconds)
	// 4000 draws of p=1/4: sd 27, so 1000±140 is five of them.
	if n := strings.Count(got, "x"); n < 860 || n > 1140 {
		t.Errorf("a quarter of 4000 is not %d", n)
	}
	if got != acts(t, half, 4000, same, seconds) {
		t.Error("equal seeds must act equally")
	}
}

// TestStreamOnlyRules: a rule whose fault means nothing outside streams leaves whole answers to the next, uncounted.
func TestStreamOnlyRules(t *testing.T) {
	s, err := fault.NewSet([]fault.Rule{
		{Name: "done", First: 1, Plan: plan(t, "stall=1s, no-done")},
		{Name: "twice", First: 1, Plan: plan(t, "double-done")},
		{Name: "any", Plan: plan(t, "error")},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := fault.NewCounters(1, 0)
	var got []string
	for _, stream := range []bool{false, true, false, true, true} {
		_, name := s.Choose(0, fault.Facts{Stream: stream}, c)
		got = append(got, name)
	}
	if strings.Join(got, ",") != "any,done,any,twice,any" {
		t.Errorf("got %v", got)
	}
	no := false
	if _, err := fault.NewSet([]fault.Rule{{Stream: &no, Plan: plan(t, "no-done")}}); err == nil || !strings.Contains(err.Error(), "no-done") {
		t.Errorf("a rule that can never act: %v", err)
	}
}

// TestFirstRuleWins: later rules do not count what an earlier one took.
func TestFirstRuleWins(t *testing.T) {
	s, err := fault.NewSet([]fault.Rule{
		{Name: "a", First: 2, Plan: plan(t, "status=500")}, {Name: "b", First: 1, Plan: plan(t, "reset")},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := fault.NewCounters(1, 0)
	var got []string
	for range 4 {
		_, name := s.Choose(0, fault.Facts{}, c)
		got = append(got, name)
	}
	if strings.Join(got, ",") != "a,a,b," {
		t.Errorf("got %v", got)
	}
	c.Reset()
	if _, name := s.Choose(0, fault.Facts{}, c); name != "a" {
		t.Errorf("after a reset: got %q, want a", name)
	}
}

// TestCountersAreBounded: a flood of sessions shares one count instead of filling the memory, and is not let through.
func TestCountersAreBounded(t *testing.T) {
	s, err := fault.NewSet([]fault.Rule{{First: 1, PerSession: true, Plan: plan(t, "reset")}})
	if err != nil {
		t.Fatal(err)
	}
	c, n := fault.NewCounters(1, 10), 0
	for i := range 1000 {
		if p, _ := s.Choose(0, fault.Facts{Session: fmt.Sprint(i)}, c); p != nil {
			n++
		}
	}
	if n != 11 {
		t.Errorf("%d acted, want ten sessions and one for all others", n)
	}
}

func TestValidate(t *testing.T) {
	_, err := fault.NewSet([]fault.Rule{{Plan: plan(t, "reset")}, {
		First: -1, Every: -2, Probability: 1.5, Windows: []fault.Window{{From: 2, To: 1}},
		Plan: fault.Plan{{Kind: "x"}},
	}})
	for _, want := range []string{
		"faults[1].first: -1", "faults[1].every: -2", "faults[1].probability: 1.5", "faults[1].windows[0]",
		"faults[1].plan[0]: fault \"x\"",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
