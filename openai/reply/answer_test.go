package reply

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fakellm/openai/reply/schema"
	"fakellm/tokenize"
)

var weather = Tool{
	Name: "get_weather", Description: "Current weather of a city.",
	Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,` +
		`"maximum":7}},"required":["city","days"],"additionalProperties":false}`),
}

var search = Tool{
	Name: "search_books", Description: "Find books.",
	Parameters: []byte(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
}

func answer(tb testing.TB, p *Planner, r *Request) *Plan {
	tb.Helper()
	plan, err := p.Answer(r)
	if err != nil {
		tb.Fatal(err)
	}
	return plan
}

// calledNames lists the tools that a plan calls.
func calledNames(p *Plan) []string {
	var names []string
	for _, s := range p.Segments {
		if s.Kind == ToolCall {
			names = append(names, s.Name)
		}
	}
	return names
}

func TestToolChoice(t *testing.T) {
	both := []Tool{weather, search}
	for _, tt := range []struct {
		why   string
		r     Request
		calls []string
	}{
		{"no tools, no call", Request{}, nil},
		{"auto calls in the first round", Request{Tools: []Tool{weather}}, []string{"get_weather"}},
		{"and answers in text after a result", Request{Tools: []Tool{weather}, ToolRounds: 1}, nil},
		{"none never calls", Request{Tools: both, Choice: ToolChoice{Mode: ToolsNone}}, nil},
		{
			"required calls in every round",
			Request{Tools: []Tool{weather}, ToolRounds: 9, Choice: ToolChoice{Mode: ToolsRequired}},
			[]string{"get_weather"},
		},
		{
			"named calls that one",
			Request{Tools: both, Choice: ToolChoice{Mode: ToolsNamed, Name: "search_books"}, Parallel: true},
			[]string{"search_books"},
		},
		{
			"only the allowed",
			Request{Tools: both, Choice: ToolChoice{Allowed: []string{"search_books"}}},
			[]string{"search_books"},
		},
		{"nothing allowed", Request{Tools: both, Choice: ToolChoice{Allowed: []string{}}}, nil},
		{
			"the tool that the user talks about",
			Request{Tools: both, User: "Which books did she write?"},
			[]string{"search_books"},
		},
		{
			"the tool that the user talks about",
			Request{Tools: both, User: "How is the weather in Oslo?"},
			[]string{"get_weather"},
		},
	} {
		p := planner(t, tokenize.O200kBase, Config{Length: Length{Kind: LengthFixed, Mean: 20}})
		tt.r.Limits = Limits{Room: lots}
		plan := answer(t, p, &tt.r)
		if diff := cmp.Diff(tt.calls, calledNames(plan)); diff != "" {
			t.Errorf("%s: %s", tt.why, diff)
		}
		want := FinishStop
		if tt.calls != nil {
			want = FinishToolCalls
		}
		if plan.FinishReason != want {
			t.Errorf("%s: finish reason %q, want %q", tt.why, plan.FinishReason, want)
		}
	}
}

// TestParallelCalls: some answers have several calls, each with an id of its own and arguments that fit.
func TestParallelCalls(t *testing.T) {
	p := planner(t, tokenize.O200kBase, Config{})
	s, err := schema.Compile(weather.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	ids := map[string]bool{}
	total := 0
	for seed := range int64(200) {
		plan := answer(t, p, &Request{Seed: seed, Tools: []Tool{weather}, Parallel: true, Limits: Limits{Room: lots}})
		seen[len(plan.Segments)] = true
		from := 0
		for _, seg := range plan.Segments {
			args := plan.Text[plan.offset(from):plan.offset(from+seg.Tokens)]
			if err := s.Validate([]byte(args)); err != nil {
				t.Errorf("arguments %s: %v", args, err)
			}
			ids[seg.ID] = true
			total++
			from += seg.Tokens
		}
	}
	if !seen[1] || !seen[2] || !seen[3] || len(seen) != 3 || len(ids) != total {
		t.Errorf("calls per answer %v, want 1 to 3; %d ids for %d calls", seen, len(ids), total)
	}
}

// TestCallsContinuePrompt: the history of a tool call continues the prompt with exactly the ids of the answer.
func TestCallsContinuePrompt(t *testing.T) {
	for _, name := range tokenize.Names() {
		e := encoding(t, name)
		p := planner(t, name, Config{})
		rapid.Check(t, func(t *rapid.T) {
			chat := tokenize.Chat{Messages: []tokenize.Message{{Role: "user", Content: rapid.String().Draw(t, "user")}}}
			prompt := e.AppendChat(nil, chat)
			plan, err := p.Answer(&Request{
				Prompt: prompt, Tools: []Tool{weather, search}, Parallel: true, Limits: Limits{Room: lots},
			})
			if err != nil {
				t.Fatal(err)
			}
			back := tokenize.Message{Role: "assistant"}
			from := 0
			for _, s := range plan.Segments {
				args := plan.Text[plan.offset(from):plan.offset(from+s.Tokens)]
				back.Calls = append(back.Calls, tokenize.Call{Name: s.Name, Arguments: args})
				from += s.Tokens
			}
			chat.Messages = append(chat.Messages, back)
			next := e.AppendChat(nil, chat)
			if want := slices.Concat(prompt, plan.IDs); !slices.Equal(next[:len(want)], want) {
				t.Fatalf("the next prompt does not begin with prompt and answer %q", plan.Text)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	p := planner(t, tokenize.Cl100kBase, Config{})
	raw := []byte(`{"type":"object","properties":{"n":{"type":"integer"},"who":{"type":"string"}},` +
		`"required":["n","who"]}`)
	for seed := range int64(20) {
		for _, f := range []Format{{Kind: FormatObject}, {Kind: FormatSchema, Schema: raw}} {
			plan := answer(t, p, &Request{Seed: seed, Format: f, Limits: Limits{Room: lots}})
			var v map[string]any
			if err := json.Unmarshal([]byte(plan.Text), &v); err != nil || plan.FinishReason != FinishStop {
				t.Errorf("%s: %q, %v", f.Kind, plan.Text, err)
			}
			cut := answer(t, p, &Request{Seed: seed, Format: f, Limits: Limits{Room: lots, Max: 5, HasMax: true}})
			if len(cut.IDs) != 5 || cut.FinishReason != FinishLength || !strings.HasPrefix(plan.Text, cut.Text) {
				t.Errorf("%s: cut to %q with %q", f.Kind, cut.Text, cut.FinishReason)
			}
		}
	}
	_, err := p.Answer(&Request{Format: Format{Kind: FormatSchema, Schema: []byte(`{"type":"string","pattern":"("}`)}})
	var e *schema.Error
	if !errors.As(err, &e) || e.Keyword != "pattern" {
		t.Errorf("error %v, want one that names pattern", err)
	}
	_, err = p.Answer(&Request{Tools: []Tool{{Name: "f", Parameters: []byte(`{"type":"x"}`)}}})
	if !errors.As(err, &e) || e.Keyword != "type" || !strings.Contains(err.Error(), `"f"`) {
		t.Errorf("error %v, want one that names the tool and type", err)
	}
}

func TestThinking(t *testing.T) {
	e := encoding(t, tokenize.O200kBase)
	p := planner(t, tokenize.O200kBase, Config{Length: Length{Kind: LengthFixed, Mean: 40}})
	for _, tt := range []struct {
		why        string
		effort     string
		l          Limits
		low, high  int // tokens thought
		content    int
		finish     string
		everything int // 0: thought and content
	}{
		{"none", "none", Limits{Room: lots}, 0, 0, 40, FinishStop, 40},
		{"low", "low", Limits{Room: lots}, 80, 120, 40, FinishStop, 0},
		{"high", "high", Limits{Room: lots}, 400, 600, 40, FinishStop, 0},
		{
			"the limit cuts the content", "low",
			Limits{Max: 121, HasMax: true, Room: lots},
			80, 120, -1,
			FinishLength, 121,
		},
		{"the limit cuts the thinking", "low", Limits{Max: 30, HasMax: true, Room: lots}, 30, 30, 0, FinishLength, 30},
		{"exactly so many", "low", exactly(300), 80, 120, -1, FinishLength, 300},
		{"at least so many", "low", Limits{Min: 300, Room: lots}, 80, 120, -1, FinishStop, 300},
	} {
		plan := answer(t, p, &Request{Effort: tt.effort, Limits: tt.l})
		if plan.Reasoning < tt.low || plan.Reasoning > tt.high || plan.FinishReason != tt.finish {
			t.Errorf("%s: %d thought, ends with %q", tt.why, plan.Reasoning, plan.FinishReason)
		}
		n := len(plan.IDs)
		if tt.everything > 0 && n != tt.everything || tt.content >= 0 && n != plan.Reasoning+tt.content {
			t.Errorf("%s: %d tokens, %d of them thought", tt.why, n, plan.Reasoning)
		}
		said := plan.Text[plan.offset(plan.Reasoning):]
		if got := e.AppendEncode(nil, said); !slices.Equal(got, plan.IDs[plan.Reasoning:]) {
			t.Errorf("%s: the content %q does not encode to its ids", tt.why, said)
		}
	}
}

func TestSay(t *testing.T) {
	p := planner(t, tokenize.O200kBase, Config{})
	free := Limits{Room: lots}
	for _, tt := range []struct {
		why      string
		parts    []Part
		r        Request
		text     string
		segments []Segment
		finish   string
	}{
		{
			"content",
			[]Part{{Text: "Good morning."}},
			Request{Limits: free},
			"Good morning.",
			[]Segment{{Tokens: 3}},
			FinishStop,
		},
		{"nothing", nil, Request{Limits: free}, "", nil, FinishStop},
		{
			"a refusal",
			[]Part{{Kind: Refusal, Text: "No."}},
			Request{Limits: free},
			"No.",
			[]Segment{{Kind: Refusal, Tokens: 2}},
			FinishStop,
		},
		{
			"content and a call: head of three tokens, then arguments",
			[]Part{{Text: "Wait."}, {Kind: ToolCall, ID: "call_1", Name: "look", Text: "{}"}},
			Request{Limits: free},
			"Wait.{}",
			[]Segment{{Tokens: 2}, {Kind: ToolCall, Tokens: 4, ID: "call_1", Name: "look"}},
			FinishToolCalls,
		},
		{
			"a limit in the head of the call",
			[]Part{{Text: "Wait."}, {Kind: ToolCall, ID: "call_1", Name: "look", Text: "{}"}},
			Request{Limits: Limits{Room: 3}},
			"Wait.",
			[]Segment{{Tokens: 2}, {Kind: ToolCall, Tokens: 1, ID: "call_1", Name: "look"}},
			FinishLength,
		},
		{
			"a stop string in the content ends before the call",
			[]Part{{Kind: Reasoning, Text: "Wait it"}, {Text: "Wait."}, {Kind: ToolCall, Name: "look", Text: "{}"}},
			Request{Limits: free, Stop: []string{"it"}},
			"Wait itWa",
			[]Segment{{Kind: Reasoning, Tokens: 2}, {Tokens: 1}},
			FinishStop,
		},
		{
			"a stop string in arguments is none",
			[]Part{{Kind: ToolCall, ID: "call_1", Name: "look", Text: "{}"}},
			Request{Limits: free, Stop: []string{"}"}},
			"{}",
			[]Segment{{Kind: ToolCall, Tokens: 4, ID: "call_1", Name: "look"}},
			FinishToolCalls,
		},
	} {
		plan := p.Say(&tt.r, tt.parts...)
		if plan.Text != tt.text || plan.FinishReason != tt.finish {
			t.Errorf("%s: %q ends with %q; want %q, %q", tt.why, plan.Text, plan.FinishReason, tt.text, tt.finish)
		}
		if diff := cmp.Diff(tt.segments, plan.Segments); diff != "" {
			t.Errorf("%s: %s", tt.why, diff)
		}
		total := 0
		for _, s := range plan.Segments {
			total += s.Tokens
		}
		if total != len(plan.IDs) || total != len(plan.Ends) {
			t.Errorf("%s: segments of %d tokens, %d ids, %d ends", tt.why, total, len(plan.IDs), len(plan.Ends))
		}
	}
	plan := p.Say(&Request{Limits: exactly(50)}, Part{Text: "Short."})
	if len(plan.IDs) != 50 || !strings.HasPrefix(plan.Text, "Short. ") {
		t.Errorf("a short text fills up to %d tokens: %q", len(plan.IDs), plan.Text)
	}
}

func TestPrediction(t *testing.T) {
	p := planner(t, tokenize.O200kBase, Config{})
	plan := answer(t, p, &Request{Prediction: "let x = 1;", Limits: Limits{Room: lots}})
	if plan.Text != "let x = 1;" || plan.Accepted != len(plan.IDs) {
		t.Errorf("%q, %d of %d accepted", plan.Text, plan.Accepted, len(plan.IDs))
	}
}

func TestProbs(t *testing.T) {
	for _, name := range tokenize.Names() {
		p := planner(t, name, Config{})
		plan := p.Plan(&Request{Limits: exactly(300)})
		q := p.Probs(&Request{}, plan.IDs, false)
		second := 0
		for i := range q.Len() {
			token, all := q.At(i, 20)
			sum, last, seen := 0.0, 0.0, map[string]bool{}
			for _, a := range all {
				sum += math.Exp(a.Logprob)
				if a.Logprob > last || seen[a.Token] {
					t.Fatalf("%s: position %d: %v is not falling or has a token twice", name, i, all)
				}
				last, seen[a.Token] = a.Logprob, true
			}
			if sum > 1 || !slices.Contains(all, token) {
				t.Fatalf("%s: position %d: sum %v, token %v among %v", name, i, sum, token, all)
			}
			if all[0] != token {
				second++
			}
			if few, three := q.At(i, 3); few != token || !slices.Equal(three, all[:3]) {
				t.Fatalf("%s: position %d: three %v are not the first of %v", name, i, three, all)
			}
		}
		if second == 0 || second > 60 {
			t.Errorf("%s: %d of 300 tokens are not the likeliest", name, second)
		}
		greedy := p.Probs(&Request{}, plan.IDs, true)
		for i := range greedy.Len() {
			if token, top := greedy.At(i, 1); top[0] != token {
				t.Fatalf("%s: a greedy choice is the likeliest", name)
			}
		}
	}
}

// TestLogprobsAreFinite: the likeliest token of about one position in 50,000 is so sure that what it leaves to the others
// once rounded to nothing. JSON has no word for the logarithm of that.
func TestLogprobsAreFinite(t *testing.T) {
	for _, rest := range []float64{surest, 1e-6, 0.65} {
		for n := range maxTop {
			if l := logprob(rest, n); math.IsInf(l, 0) || l > 0 {
				t.Errorf("rest %v, rank %d: %v", rest, n, l)
			}
		}
	}
	p := planner(t, tokenize.Names()[0], Config{})
	q := p.Probs(&Request{}, make([]uint32, 300_000), false)
	for i := range q.Len() {
		if _, top := q.At(i, 2); math.IsInf(top[0].Logprob+top[1].Logprob, 0) {
			t.Fatalf("position %d: %v", i, top)
		}
	}
}
