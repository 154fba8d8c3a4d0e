package openai

import (
	"bufio"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fakellm/openai/reply/script"
)

// scriptOf is a book in force.
func scriptOf(t testing.TB, yaml string) *Script {
	t.Helper()
	b, err := script.Parse("test", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return NewScript(b, 1)
}

// arrivals asks for a stream and lists, in milliseconds since the request, when its content came.
func arrivals(t *testing.T, r *rig, body string) (at []int64, done int64) {
	t.Helper()
	start := time.Now()
	resp := r.post(t, chatPath, body)
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		now := time.Since(start)
		if now%time.Millisecond != 0 {
			t.Errorf("%v is no whole millisecond", now)
		}
		switch line := lines.Text(); {
		case strings.Contains(line, `"content":"`) && !strings.Contains(line, `"role"`):
			at = append(at, now.Milliseconds())
		case line == "data: [DONE]":
			done = now.Milliseconds()
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return at, done
}

// TestTiming: the instants of a mapping hold on the wire, exactly, over an engine that makes a token every 10 ms. One
// shared writer serves all of it, and an answer beside keeps the engine's time.
func TestTiming(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	for _, tc := range []struct {
		why, timing string
		want        []int64
	}{
		{"nothing wanted: the engine's", "{}", []int64{10, 20, 30, 40}},
		{"a late first token, then the engine's gaps", "{ttftMs: 500}", []int64{500, 510, 520, 530}},
		{"the engine's first token, then wide gaps", "{itlMs: 100}", []int64{10, 110, 210, 310}},
		{"both", "{ttftMs: 25, itlMs: 50}", []int64{25, 75, 125, 175}},
		{"what is not made cannot leave", "{ttftMs: 0, itlMs: 0}", []int64{10, 20, 30, 40}},
		{"all at once, when the last is wanted", "{ttftMs: 300, itlMs: 0}", []int64{300, 300, 300, 300}},
		{"gaps below the engine's hold until what is made has left", "{ttftMs: 20, itlMs: 7}", []int64{20, 27, 34, 41}},
		{"and there the engine's instants stand", "{ttftMs: 12, itlMs: 2}", []int64{12, 20, 30, 40}},
		{"parts of a millisecond are kept", "{ttftMs: 500.5, itlMs: 0.5}", nil},
		{"an hour", "{ttftMs: 3600000, itlMs: 60000}", []int64{3600000, 3660000, 3720000, 3780000}},
	} {
		synctest.Test(t, func(t *testing.T) {
			book := scriptOf(t, `{mappings: [{request: {user: hello there}, response: {text: "one two three four", timing: `+tc.timing+`}}]}`)
			r := newRig(t, Options{Script: book, Writers: 1}, &pacer{gap: 10 * time.Millisecond}, planner)
			if tc.want == nil {
				start := time.Now()
				r.ask(t, chatPath, hello)
				if took := time.Since(start); took != 502*time.Millisecond {
					t.Errorf("%s: %v, want 502ms", tc.why, took)
				}
				return
			}
			var beside sync.WaitGroup
			beside.Go(func() {
				at, _ := arrivals(t, r, `{"model":"m","stream":true,"max_tokens":5,"ignore_eos":true,"messages":[{"role":"user","content":"other"}]}`)
				if !slices.Equal(at, []int64{10, 20, 30, 40, 50}) {
					t.Errorf("%s: the answer beside came at %v", tc.why, at)
				}
			})
			at, done := arrivals(t, r, streaming(hello, ""))
			if !slices.Equal(at, tc.want) || done != tc.want[3] {
				t.Errorf("%s: tokens at %v, end at %d, want %v", tc.why, at, done, tc.want)
			}
			beside.Wait()
			// The engine's own time is over: a slow answer holds no slot.
			if n := r.pacer.openTickets(); n != 0 {
				t.Errorf("%s: %d open in the engine", tc.why, n)
			}
			start := time.Now()
			r.ask(t, chatPath, hello)
			if took := time.Since(start).Milliseconds(); took != tc.want[3] {
				t.Errorf("%s: as a whole it came after %d ms, want %d", tc.why, took, tc.want[3])
			}
		})
	}
}

// TestTimingOfOne: choices and answers of a plan each have their own tempo.
func TestTimingOfOne(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	synctest.Test(t, func(t *testing.T) {
		book := scriptOf(t, `{mappings: [{responses: [{text: one two, timing: {ttftMs: 100}}, {text: one two}]}]}`)
		r := newRig(t, Options{Script: book}, &pacer{gap: 10 * time.Millisecond}, planner)
		for _, want := range [][]int64{{100, 110}, {10, 20}} {
			if at, _ := arrivals(t, r, streaming(hello, "")); !slices.Equal(at, want) {
				t.Errorf("tokens at %v, want %v", at, want)
			}
		}
		resp, body := r.ask(t, chatPath, hello)
		if resp.StatusCode != 200 {
			t.Fatal(body)
		}
	})
}

// TestTimingEnds: a client that leaves frees the slot at once and what is held back goes with it; a failure of the
// engine is told when it comes.
func TestTimingEnds(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	const book = `{mappings: [{response: {text: one two three four, timing: {ttftMs: 25, itlMs: 1000}}}]}`
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{gap: 10 * time.Millisecond}
		r := newRig(t, Options{Script: scriptOf(t, book)}, p, planner)
		resp := r.post(t, chatPath, streaming(hello, `,"max_tokens":300,"ignore_eos":true`))
		time.Sleep(500 * time.Millisecond)
		_ = resp.Body.Close()
		synctest.Wait()
		time.Sleep(20 * time.Millisecond)
		if p.cancelled != 1 || r.Counters().Aborted != 1 || r.Counters().Streams != 0 {
			t.Errorf("%d cancelled, %+v", p.cancelled, r.Counters())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{gap: 10 * time.Millisecond, spoil: func(_ Job, p *Progress) {
			if p.Tokens == 3 {
				p.End, p.Why = Failed, "on purpose"
			}
		}}
		r := newRig(t, Options{Script: scriptOf(t, book)}, p, planner)
		start := time.Now()
		_, body := r.ask(t, chatPath, streaming(hello, ""))
		if took := time.Since(start); took != 30*time.Millisecond || !strings.Contains(body, "on purpose") {
			t.Errorf("after %v: %s", took, body)
		}
	})
}

// TestTempoReports: what a held-back answer says of itself are the instants at which its tokens leave, never before the
// engine has made them; when it is cancelled nobody is woken any more.
func TestTempoReports(t *testing.T) {
	zero, hour := 0.0, 3.6e6
	for _, tc := range []struct {
		why             string
		ttft, itl       *float64
		tokens          int
		first, last, at time.Duration
	}{
		{"sooner than possible", &zero, &zero, 3, 10, 30, 35},
		{"the first alone", &hour, nil, 0, 0, 0, 35},
		{"the first alone, later", &hour, nil, 3, 3_600_000, 3_600_020, 3_600_030},
		{"gaps alone", nil, &hour, 1, 10, 10, 3_600_009},
		{"gaps alone, later", nil, &hour, 2, 10, 3_600_010, 3_600_010},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			p := &pacer{gap: 10 * time.Millisecond}
			a := &answer{srv: &Server{backend: p}, since: start}
			woken := 0
			ticket, err := a.enter(Job{OutputTokens: 3}, &script.Timing{TTFTMs: tc.ttft, ITLMs: tc.itl}, func() { woken++ })
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(tc.at * time.Millisecond)
			got := ticket.Progress()
			since := func(at time.Time) time.Duration {
				if at.IsZero() {
					return 0
				}
				return at.Sub(start) / time.Millisecond
			}
			if got.Tokens != tc.tokens || since(got.FirstToken) != tc.first || since(got.LastToken) != tc.last ||
				tc.tokens > 0 && got.Due != got.LastToken || (got.End == Completed) != (tc.tokens == 3) {
				t.Errorf("%s: after %d ms: %+v, first %d, last %d", tc.why, tc.at, got, since(got.FirstToken), since(got.LastToken))
			}
			ticket.Cancel()
			before := woken
			time.Sleep(10 * time.Hour)
			if woken != before {
				t.Errorf("%s: woken %d times after the end", tc.why, woken-before)
			}
		})
	}
}
