package reply

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fakellm/tokenize"
)

func encoding(tb testing.TB, name string) *tokenize.Encoding {
	tb.Helper()
	e, err := tokenize.Get(name)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func planner(tb testing.TB, name string, c Config) *Planner {
	tb.Helper()
	p, err := New(encoding(tb, name), c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

const lots = 1 << 20

// exactly asks for n tokens, as test clients do.
func exactly(n int) Limits { return Limits{Max: n, HasMax: true, IgnoreEOS: true, Room: lots} }

// checkPlan wants a plan to be consistent with itself and its text to encode to its ids.
func checkPlan(t interface{ Fatalf(string, ...any) }, e *tokenize.Encoding, p *Plan) {
	if len(p.Ends) != len(p.IDs) {
		t.Fatalf("%d ends for %d ids", len(p.Ends), len(p.IDs))
	}
	last := uint32(0)
	for i, end := range p.Ends {
		if end < last || !utf8.ValidString(p.Piece(i)) {
			t.Fatalf("piece %d ends at %d after %d: %q", i, end, last, p.Text)
		}
		last = end
	}
	if int(last) != len(p.Text) {
		t.Fatalf("the last piece ends at %d of %d bytes", last, len(p.Text))
	}
	if got := e.AppendEncode(nil, p.Text); !slices.Equal(got, p.IDs) {
		t.Fatalf("the text encodes to %v, the plan has %v: %q", got, p.IDs, p.Text)
	}
}

// TestExactLength is the promise of the filler: N tokens asked for, N tokens counted, in every encoding.
func TestExactLength(t *testing.T) {
	for _, name := range tokenize.Names() {
		e := encoding(t, name)
		p := planner(t, name, Config{})
		for n := 1; n <= 2000; n++ {
			plan := p.Plan(&Request{Prompt: []uint32{uint32(n)}, Limits: exactly(n)})
			if len(plan.IDs) != n || plan.FinishReason != FinishLength {
				t.Fatalf("%s: %d tokens with %q, want %d with length", name, len(plan.IDs), plan.FinishReason, n)
			}
			checkPlan(t, e, plan)
		}
	}
}

// TestPrefixes: a lower limit cuts the same answer, and every prefix encodes to its ids.
func TestPrefixes(t *testing.T) {
	for _, name := range []string{tokenize.O200kBase, tokenize.Cl100kBase} {
		e := encoding(t, name)
		p := planner(t, name, Config{Length: Length{Kind: LengthFixed, Mean: 150}})
		whole := p.Plan(&Request{Limits: Limits{Room: lots}})
		if !strings.HasSuffix(whole.Text, ".") {
			t.Errorf("%s: an answer that ends by itself ends in a full stop, not %q", name, whole.Text)
		}
		for n := 1; n < len(whole.IDs); n++ {
			cut := p.Plan(&Request{Limits: Limits{Max: n, HasMax: true, Room: lots}})
			if !slices.Equal(cut.IDs, whole.IDs[:n]) || cut.FinishReason != FinishLength {
				t.Fatalf("%s: limit %d: %q is not the beginning of %q", name, n, cut.Text, whole.Text)
			}
			checkPlan(t, e, cut)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		why    string
		l      Limits
		n      int
		finish string
	}{
		{"no limit: the planned length", Limits{Room: 500}, 50, FinishStop},
		{"a limit above the plan changes nothing", Limits{Max: 51, HasMax: true, Room: 500}, 50, FinishStop},
		{"a limit equal to the plan does not cut", Limits{Max: 50, HasMax: true, Room: 500}, 50, FinishStop},
		{"a limit below the plan cuts", Limits{Max: 49, HasMax: true, Room: 500}, 49, FinishLength},
		{"an explicit 0 is no token", Limits{HasMax: true, Room: 500}, 0, FinishLength},
		{"the context cuts like a limit", Limits{Room: 20}, 20, FinishLength},
		{"the smaller of limit and context counts", Limits{Max: 30, HasMax: true, Room: 20}, 20, FinishLength},
		{"no room", Limits{}, 0, FinishLength},
		{"min_tokens raises the plan", Limits{Min: 80, Room: 500}, 80, FinishStop},
		{"min_tokens below the plan changes nothing", Limits{Min: 10, Room: 500}, 50, FinishStop},
		{
			"min_tokens equal to the limit: exactly that",
			Limits{Min: 70, Max: 70, HasMax: true, Room: 500},
			70,
			FinishStop,
		},
		{"the limit wins over min_tokens", Limits{Min: 90, Max: 70, HasMax: true, Room: 500}, 70, FinishLength},
		{
			"ignore_eos goes on to the limit",
			Limits{IgnoreEOS: true, Max: 120, HasMax: true, Room: 500},
			120,
			FinishLength,
		},
		{"without a limit, to the end of the context", Limits{IgnoreEOS: true, Room: 500}, 500, FinishLength},
	} {
		p := planner(t, tokenize.O200kBase, Config{Length: Length{Kind: LengthFixed, Mean: 50}})
		plan := p.Plan(&Request{Limits: tt.l})
		if len(plan.IDs) != tt.n || plan.FinishReason != tt.finish {
			t.Errorf("%s: %d tokens and %q, want %d and %q", tt.why, len(plan.IDs), plan.FinishReason, tt.n, tt.finish)
		}
	}
}

// TestSameRequest: an answer depends on the request and nothing else.
func TestSameRequest(t *testing.T) {
	p := planner(t, tokenize.O200kBase, Config{Length: Length{Sigma: 0.5}})
	base := Request{Prompt: []uint32{1, 2, 3}, Limits: Limits{Room: lots}}
	first := p.Plan(&base)
	if diff := cmp.Diff(first, p.Plan(&base)); diff != "" {
		t.Error("the same request has two answers", diff)
	}
	for why, change := range map[string]func(*Request){
		"the prompt": func(r *Request) { r.Prompt = []uint32{1, 2, 4} },
		"the seed":   func(r *Request) { r.Seed = 1 },
		"the sample": func(r *Request) { r.Sample = 1 },
	} {
		r := base
		change(&r)
		if p.Plan(&r).Text == first.Text {
			t.Errorf("%s does not change the answer", why)
		}
	}
	if planner(t, tokenize.O200kBase, Config{Seed: 1}).Plan(&base).Text == first.Text {
		t.Error("the server's seed does not change the answer")
	}
}

func TestEcho(t *testing.T) {
	for _, name := range []string{tokenize.O200kBase, tokenize.Cl100kBase} {
		e := encoding(t, name)
		p := planner(t, name, Config{Mode: ModeEcho})
		rapid.Check(t, func(t *rapid.T) {
			user := rapid.StringN(1, 80, -1).Draw(t, "user")
			own := e.Count(user)
			whole := p.Plan(&Request{User: user, Limits: Limits{Room: lots}})
			if whole.Text != user || whole.FinishReason != FinishStop {
				t.Fatalf("%q came back as %q", user, whole.Text)
			}
			n := rapid.IntRange(1, own+40).Draw(t, "limit")
			plan := p.Plan(&Request{User: user, Limits: exactly(n)})
			if len(plan.IDs) != n {
				t.Fatalf("%d tokens, want %d", len(plan.IDs), n)
			}
			if n >= own && !strings.HasPrefix(plan.Text, user) {
				t.Fatalf("%q does not begin with %q", plan.Text, user)
			}
			checkPlan(t, e, plan)
		})
	}
}

func TestStop(t *testing.T) {
	// The echo makes the content; its tokens are shown with bars.
	const user = "One two three. Four five six! One two." // One| two| three|.| Four| five| six|!| One| two|.
	for _, tt := range []struct {
		why  string
		stop []string
		l    Limits
		keep bool
		text string
		n    int
		hit  string
	}{
		{"no stop string in it", []string{"seven", ""}, Limits{}, false, user, 11, ""},
		{"a whole token", []string{" Four"}, Limits{}, false, "One two three.", 5, " Four"},
		{"inside a token", []string{"hre"}, Limits{}, false, "One two t", 3, "hre"},
		{"spanning tokens: those before say less", []string{"ee. Fo"}, Limits{}, false, "One two thr", 5, "ee. Fo"},
		{
			"the earliest end of several",
			[]string{"six!", "five", "ve s"},
			Limits{},
			false, "One two three. Four ",
			6, "five",
		},
		{
			"with the same end the one that begins first",
			[]string{"ive", "five"},
			Limits{},
			false,
			"One two three. Four ", 6, "five",
		},
		{"at the very beginning nothing is said", []string{"One"}, Limits{}, false, "", 1, "One"},
		{
			"at the very end it is still stop",
			[]string{"two."},
			Limits{Max: 11, HasMax: true},
			false,
			user[:len(user)-4], 11, "two.",
		},
		{"a limit before it", []string{"five"}, Limits{Max: 4, HasMax: true}, false, "One two three.", 4, ""},
		{
			"a limit in the middle of it",
			[]string{"ee. Fo"},
			Limits{Max: 4, HasMax: true},
			false, "One two three.",
			4, "",
		},
		{"kept on request", []string{"ee. Fo"}, Limits{}, true, "One two three. Fo", 5, "ee. Fo"},
		{
			"min_tokens protects what is complete within it",
			[]string{" two"},
			Limits{Min: 2},
			false,
			"One two three. Four five six! One", 10, " two",
		},
		{"but not what is completed later", []string{"two thr"}, Limits{Min: 2}, false, "One ", 3, "two thr"},
	} {
		p := planner(t, tokenize.O200kBase, Config{Mode: ModeEcho})
		tt.l.Room = lots
		plan := p.Plan(&Request{User: user, Stop: tt.stop, KeepStop: tt.keep, Limits: tt.l})
		if plan.Text != tt.text || len(plan.IDs) != tt.n || plan.StopString != tt.hit {
			t.Errorf("%s: %q, %d tokens, stopped by %q; want %q, %d, %q", tt.why,
				plan.Text, len(plan.IDs), plan.StopString, tt.text, tt.n, tt.hit)
		}
		want := FinishStop
		if tt.l.HasMax && tt.hit == "" {
			want = FinishLength
		}
		if plan.FinishReason != want {
			t.Errorf("%s: finish reason %q, want %q", tt.why, plan.FinishReason, want)
		}
	}
}

// TestStopTwin compares with looking at the text after every token, as an engine does.
func TestStopTwin(t *testing.T) {
	p := planner(t, tokenize.O200kBase, Config{Length: Length{Kind: LengthFixed, Mean: 60}})
	rapid.Check(t, func(t *rapid.T) {
		r := Request{
			Seed:   rapid.Int64().Draw(t, "seed"),
			Limits: Limits{Room: lots, Min: rapid.IntRange(0, 30).Draw(t, "min")},
		}
		whole := p.Plan(&r)
		for range rapid.IntRange(1, 3).Draw(t, "stops") {
			i := rapid.IntRange(0, len(whole.Text)-1).Draw(t, "from")
			r.Stop = append(r.Stop, whole.Text[i:min(len(whole.Text), i+rapid.IntRange(1, 12).Draw(t, "length"))])
		}
		cut := p.Plan(&r)
		for n := r.Limits.Min + 1; n <= len(whole.IDs); n++ {
			said := whole.Text[:whole.Ends[n-1]]
			protected := 0
			if r.Limits.Min > 0 {
				protected = int(whole.Ends[r.Limits.Min-1])
			}
			for _, s := range r.Stop {
				if i := strings.Index(said[max(0, protected-len(s)+1):], s); i >= 0 {
					if len(cut.IDs) != n || !strings.HasPrefix(whole.Text, cut.Text) || len(cut.Text) >= len(said) {
						t.Fatalf("stop %q: cut after %d tokens as %q, want after %d", r.Stop, len(cut.IDs), cut.Text, n)
					}
					return
				}
			}
		}
		if len(cut.IDs) != len(whole.IDs) {
			t.Fatalf("stop %q cut although it never appears", r.Stop)
		}
	})
}
