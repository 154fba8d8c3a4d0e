package workload

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fakellm/engine"
)

func TestInstant(t *testing.T) {
	for _, c := range []struct {
		why  string
		ms   float64
		want engine.Time
	}{
		{"whole milliseconds", 20, 20_000_000},
		{"on the grid, though the float is a little above", 0.1 + 0.2, 300_000},
		{"on the grid of a long run", 3_541_234.567891, 3_541_234_567_891},
		{"between two nanoseconds: it has missed the first", 14.95449235281393, 14_954_493},
		{"a fraction of a nanosecond after an instant", 10.0000001, 10_000_001},
		{"zero", 0, 0},
	} {
		if got := Instant(c.ms); got != c.want {
			t.Errorf("%s: Instant(%v) = %d, want %d", c.why, c.ms, got, c.want)
		}
	}
}

// sessions builds a load of sessions written as "start: turn turn …", a turn being prompt[+delay].
func sessions(t *testing.T, text ...string) *Load {
	t.Helper()
	l := &Load{Source: "test", File: true}
	for i, s := range text {
		head, tail, _ := strings.Cut(s, ":")
		session := Session{First: int32(len(l.Turns)), Line: i + 1, Start: math.NaN()}
		if head != "" {
			if _, err := fmt.Sscan(head, &session.Start); err != nil {
				t.Fatal(err)
			}
		}
		for turn := range strings.FieldsSeq(tail) {
			prompt, delay, _ := strings.Cut(turn, "+")
			var out Turn
			if _, err := fmt.Sscan(prompt, &out.Prompt); err != nil {
				t.Fatal(err)
			}
			if delay != "" {
				if _, err := fmt.Sscan(delay, &out.Delay); err != nil {
					t.Fatal(err)
				}
			}
			l.Turns = append(l.Turns, out)
			session.Count++
		}
		l.Sessions = append(l.Sessions, session)
	}
	return l
}

// play serves every request in took ms, one world per request, and returns "arrival:prompt" in the order of arrival.
func play(t *testing.T, l *Load, a Arrivals, took float64, ends map[int]engine.End) string {
	t.Helper()
	var out []string
	var running []Release
	f, err := NewFeed(l, a, func(r Release) any {
		out = append(out, fmt.Sprintf("%g:%d", r.Arrival, r.Request.PromptTokens))
		running = append(running, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for {
		at, ok := f.Next()
		if len(running) > 0 && (!ok || engine.Time((running[0].Arrival+took)*1e6) <= at) {
			r := running[0]
			running = running[1:]
			end, special := ends[r.Request.PromptTokens]
			if !special {
				end = engine.Completed
			}
			ms := r.Arrival + took
			f.Ended(r.Session, r.Turn, Instant(ms), ms, end, 0)
			continue
		}
		if !ok {
			break
		}
		f.Take()
	}
	if f.Released() != len(out) {
		t.Errorf("released %d, counted %d", len(out), f.Released())
	}
	return strings.Join(out, " ")
}

func TestFeed(t *testing.T) {
	for _, c := range []struct {
		why      string
		sessions []string
		arrivals Arrivals
		ends     map[int]engine.End
		want     string
	}{
		{
			"by time, ties by file, the first at 0",
			[]string{"30:1", "10:2", "30:3", "-10:4"},
			Arrivals{},
			nil,
			"0:4 20:2 40:1 40:3",
		},
		{"the speed-up divides starts and delays", []string{"0:1 2+100", "30:3"}, Arrivals{Speedup: 2}, nil, "0:1 15:3 60:2"},
		{"the next turn follows at once without a delay", []string{"0:1 2"}, Arrivals{}, nil, "0:1 10:2"},
		{
			"a closed loop counts sessions and ignores times",
			[]string{"900:1", "5:2", "7:3"},
			Arrivals{Concurrency: 2},
			nil,
			"0:1 0:2 10:3",
		},
		{
			"a session keeps its slot while it thinks, undivided",
			[]string{":1 2+100", ":3"},
			Arrivals{Concurrency: 1, Speedup: 2},
			nil, "0:1 110:2 120:3",
		},
		{
			"a failed turn ends its session",
			[]string{"0:1 2", "1:3"},
			Arrivals{},
			map[int]engine.End{1: engine.Failed},
			"0:1 1:3",
		},
		{"a rejected one does not", []string{"0:1 2+5"}, Arrivals{}, map[int]engine.End{1: engine.Rejected}, "0:1 15:2"},
		{
			"a failed session gives its slot away",
			[]string{":1 2", ":3"},
			Arrivals{Concurrency: 1},
			map[int]engine.End{1: engine.Cancelled},
			"0:1 10:3",
		},
	} {
		if got := play(t, sessions(t, c.sessions...), c.arrivals, 10, c.ends); got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
}

func TestFeedRefuses(t *testing.T) {
	const want = "test:2: timestamp: missing on the first row of a session"
	if _, err := NewFeed(sessions(t, "5:1", ":2"), Arrivals{}, nil); err == nil || err.Error() != want {
		t.Errorf("a session without a start in an open loop: %v", err)
	}
	for _, a := range []Arrivals{{Concurrency: -1}, {Speedup: -1}, {Speedup: math.NaN()}, {Speedup: math.Inf(1)}} {
		if _, err := NewFeed(sessions(t, "5:1"), a, nil); err == nil {
			t.Errorf("%+v: accepted", a)
		}
	}
}

func TestSyntheticArrivals(t *testing.T) {
	// Source: spec simulation-harness §2.2, runs of the reference: seed 42, 10 requests per second.
	load, err := Synthetic{Prompt: 10, Output: 1, Sessions: 3, Turns: 1, Block: 4, Rate: 10, Seed: 42}.Load()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0, 74.77246176406965, 153.01953951913882} {
		if got := load.Sessions[i].Start; got != want {
			t.Errorf("arrival %d at %v, want %v", i, got, want)
		}
	}
	if load.Named {
		t.Error("single requests without prefixes are named")
	}
}

func TestSyntheticPrompts(t *testing.T) {
	load, err := Synthetic{
		Prompt: 10, Output: 1, Sessions: 4, Turns: 2, Block: 4, Interval: 5, SharedRatio: 0.5, Groups: 1, Delay: 3,
	}.Load()
	if err != nil {
		t.Fatal(err)
	}
	first := load.Turns[0].Content
	for i, turn := range load.Turns {
		a, _ := first.Local(0, 4)
		b, _ := turn.Content.Local(0, 4)
		if a != b {
			t.Errorf("turn %d does not begin with the group's prefix", i)
		}
		c, _ := first.Local(2, 2)
		d, _ := turn.Content.Local(4, 2)
		if i > 0 && c == d {
			t.Errorf("turn %d shares more than the prefix", i)
		}
		if want := float64(i%2) * 3; turn.Delay != want {
			t.Errorf("turn %d waits %v, want %v", i, turn.Delay, want)
		}
	}
	if !load.Named || load.Sessions[3].Name != "session_3" || load.Sessions[3].Start != 15 {
		t.Errorf("sessions %+v", load.Sessions)
	}
}

func TestSyntheticRefusesEveryProblem(t *testing.T) {
	_, err := Synthetic{Rate: 1, Interval: 1, SharedRatio: 2, Groups: -1, Delay: -1}.Load()
	for _, field := range []string{
		"input_tokens", "output_tokens", "request_count", "turns_per_session", "block_size", "request_rate",
		"shared_prefix_ratio",
		"num_prefix_groups", "inter_turn_delay_ms",
	} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named in %v", field, err)
		}
	}
}
