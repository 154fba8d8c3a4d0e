package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fakellm/openai/reply/script"
)

// parse is Parse of what must be good.
func parse(t testing.TB, text string) *script.Book {
	t.Helper()
	b, err := script.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// say is the answer of the first choice in a short form.
func say(t testing.TB, b *script.Book, st *script.State, q *script.Request) string {
	t.Helper()
	s, ok := b.Match(st, q)
	if !ok {
		return "no match"
	}
	o, err := s.Outcome(0)
	if err != nil {
		return "error: " + err.Error()
	}
	return short(o)
}

func short(o script.Outcome) string {
	var parts []string
	if o.Error != nil {
		parts = append(parts, fmt.Sprintf("status %d %s", o.Error.Status, o.Error.Code))
	}
	if o.Text != nil {
		parts = append(parts, *o.Text)
	}
	for _, c := range o.Calls {
		parts = append(parts, c.Name+c.Arguments)
	}
	return strings.Join(parts, " ")
}

func user(text string) *script.Request {
	return &script.Request{Route: "chat", Model: "gpt-4o", Messages: []script.Message{{Role: "user", Text: text}}}
}

// agent is a conversation in which one tool has answered.
func agent(results ...string) *script.Request {
	q := user("weather in Paris")
	q.Tools = []string{"get_weather", "search"}
	for i, r := range results {
		id := fmt.Sprint("call_", i)
		q.Messages = append(
			q.Messages,
			script.Message{Role: "assistant", Calls: []script.Call{
				{ID: id, Name: "get_weather", Arguments: `{"city":"Paris"}`},
			}},
			script.Message{Role: "tool", Text: r, CallID: id},
		)
	}
	return q
}

func TestConditions(t *testing.T) {
	system := user("hi")
	system.Messages = append([]script.Message{{Role: "developer", Text: "be brief"}}, system.Messages...)
	header := user("hi")
	header.Header = map[string][]string{"X-Team": {"red", "blue"}}
	body := user("hi")
	body.Body = []byte(`{"a":{"b":[{"c":1},{"c":"two"}]},"temperature":0.5,"n":null}`)
	session := user("hi")
	session.Session = "s1"
	asked := agent("sunny")
	asked.Messages = append(asked.Messages, script.Message{Role: "user", Text: "thanks"})
	for _, tc := range []struct {
		why, request string
		q            *script.Request
		want         bool
	}{
		{"an empty condition always holds", `{}`, user("x"), true},
		{"short form is equality of the whole text", `{user: hi}`, user("hi"), true},
		{"equality is not containment", `{user: hi}`, user("hi there"), false},
		{"contains", `{user: {contains: there}}`, user("hi there"), true},
		{"case matters unless told", `{user: {contains: THERE}}`, user("hi there"), false},
		{"case folded", `{user: {contains: THERE, caseInsensitive: true}}`, user("hi there"), true},
		{"regex not found", `{user: {matches: '^there'}}`, user("hi there"), false},
		{"regex found", `{user: {matches: 'th.re$'}}`, user("hi there"), true},
		{"doesNotMatch", `{user: {doesNotMatch: '^x'}}`, user("hi"), true},
		{"all operators must hold", `{user: {contains: hi, doesNotContain: there}}`, user("hi there"), false},
		{"or of texts", `{user: {or: [{equalTo: a}, {equalTo: b}]}}`, user("b"), true},
		{"not of a text", `{user: {not: {equalTo: b}}}`, user("b"), false},
		{"model glob in short form", `{model: 'gpt-*'}`, user("x"), true},
		{"model glob covers all of the name", `{model: 'gpt-?'}`, user("x"), false},
		{"model regex", `{model: {matches: '^gpt-4'}}`, user("x"), true},
		{"developer counts as system", `{system: {contains: brief}}`, system, true},
		{"no system message is absent", `{system: {absent: true}}`, user("x"), true},
		{"absent false asks for one", `{system: {absent: false}}`, user("x"), false},
		{"a positive operator fails on what is absent", `{system: {contains: ''}}`, user("x"), false},
		{"a negative operator holds on what is absent", `{system: {doesNotContain: x}}`, user("x"), true},
		{"any message", `{anyMessage: be brief}`, system, true},
		{"turn counts assistant messages", `{turn: 0}`, user("x"), true},
		{"turn after a tool round", `{turn: {min: 1}}`, agent("sunny"), true},
		{"roles are counted", `{messageCounts: {user: 1, tool: {max: 0}}}`, user("x"), true},
		{"roles are counted, too many", `{messageCounts: {tool: {max: 0}}}`, agent("a"), false},
		{"fresh tool results", `{hasToolResults: true}`, agent("sunny"), true},
		{"a new user message makes results stale", `{hasToolResults: true}`, asked, false},
		{"stale call ids do not match", `{toolCallId: call_0}`, asked, false},
		{"fresh call id", `{toolCallId: call_0}`, agent("sunny"), true},
		{"only the newest round is fresh", `{toolCallId: call_0}`, agent("sunny", "rain"), false},
		{"tool result payload", `{toolResult: {contains: sun}}`, agent("sunny"), true},
		{"rounds since the user spoke", `{toolRounds: 2}`, agent("a", "b"), true},
		{"rounds start over", `{toolRounds: 0}`, asked, true},
		{"all tools must be offered", `{tools: [get_*, search]}`, agent(), true},
		{"a tool is missing", `{tools: [get_weather, delete]}`, agent(), false},
		{"number of tools", `{toolCount: 2}`, agent(), true},
		{"a header in any case, any value", `{headers: {x-team: blue}}`, header, true},
		{"missing header", `{headers: {x-team: {absent: true}}}`, header, false},
		{"path to a number", `{body: {'$.a.b[0].c': 1}}`, body, true},
		{"path from the end", `{body: {'$.a.b[-1].c': two}}`, body, true},
		{"path to any element", `{body: {'$.a.b[*].c': two}}`, body, true},
		{"path with a quoted name", `{body: {"$['a'].b[0]": '{"c":1}'}}`, body, true},
		{"path to nothing is absent", `{body: {'$.a.x': {absent: true}}}`, body, true},
		{"null is there", `{body: {'$.n': {absent: false}}}`, body, true},
		{"numbers compare", `{body: {'$.temperature': {atLeast: 0.5, atMost: 1}}}`, body, true},
		{"a word is no number", `{body: {'$.a.b[1].c': {atLeast: 0}}}`, body, false},
		{"a broken body has nothing", `{body: {'$.a': {absent: true}}}`, user("x"), true},
		{"session", `{session: s1}`, session, true},
		{"no session is absent", `{session: {absent: true}}`, user("x"), true},
		{"and", `{and: [{user: hi}, {turn: 0}]}`, user("hi"), true},
		{"or", `{or: [{user: no}, {turn: 0}]}`, user("hi"), true},
		{"not", `{not: {user: hi}}`, user("hi"), false},
		{"route", `{route: completions}`, user("hi"), false},
	} {
		b := parse(t, "mappings:\n- request: "+tc.request+"\n  response: {text: ok}\n")
		st := script.NewState(1, script.Limits{})
		if _, got := b.Match(st, tc.q); got != tc.want {
			t.Errorf("%s: request %s: match %v, want %v", tc.why, tc.request, got, tc.want)
		}
		near := b.NearMisses(st, tc.q, 1)
		if (near[0].Distance == 0) != tc.want {
			t.Errorf("%s: the explanation disagrees: %+v", tc.why, near[0])
		}
	}
}

func TestOrder(t *testing.T) {
	b := parse(t, `
mappings:
- {name: first, request: {user: {contains: a}}, response: {text: first}}
- {name: second, request: {user: {contains: a}}, response: {text: second}}
- {name: urgent, priority: 1, request: {user: {contains: ab}}, response: {text: urgent}}
- {name: rest, priority: 9, request: {}, response: {text: rest}}
`)
	st := script.NewState(1, script.Limits{})
	for in, want := range map[string]string{"a": "first", "ab": "urgent", "x": "rest"} {
		if got := say(t, b, st, user(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestSequences(t *testing.T) {
	const text = `
mappings:
- request: {user: seq}
  exhausted: %s
  responses: [{error: {status: 503}}, {text: one}, {text: two}]
- request: {}
  response: {text: later}
`
	for exhausted, want := range map[string]string{
		"repeat": "status 503 |one|two|two", "error": "status 503 |one|two|status 500 script_exhausted",
		"next": "status 503 |one|two|later",
	} {
		b, st := parse(t, fmt.Sprintf(text, exhausted)), script.NewState(1, script.Limits{})
		var got []string
		for range 4 {
			got = append(got, say(t, b, st, user("seq")))
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s: got %s, want %s", exhausted, s, want)
		}
		other := user("seq")
		other.Session = "other"
		if s := say(t, b, st, other); s != "status 503 " {
			t.Errorf("%s: another session starts over, got %s", exhausted, s)
		}
	}
	global := parse(t, "mappings:\n- {request: {}, scope: global, responses: [{text: a}, {text: b}]}\n")
	st := script.NewState(1, script.Limits{})
	one, two := user("x"), user("x")
	one.Session, two.Session = "1", "2"
	if got := say(t, global, st, one) + say(t, global, st, two); got != "ab" {
		t.Errorf("global scope counts over sessions: got %s", got)
	}
}

func TestPlanEndsAgentLoop(t *testing.T) {
	b := parse(t, `
mappings:
- request: {user: {matches: 'weather in (?P<city>\w+)'}, tools: [get_weather]}
  steps:
  - toolCalls: [{name: get_weather, arguments: {city: '{{.Named.city}}', days: 2}}]
  - toolCalls: [{name: search, arguments: '{"q": {{json .ToolResult}}}'}]
  - text: "{{.ToolName}} for {{.ToolArgs.city}}: {{.ToolResult}}"
`)
	st := script.NewState(1, script.Limits{})
	for _, tc := range []struct {
		q    *script.Request
		want string
	}{
		{agent(), `get_weather{"city":"Paris","days":2}`},
		{agent(), `get_weather{"city":"Paris","days":2}`}, // a retry gets the same step
		{agent(`a "b"`), `search{"q": "a \"b\""}`},
		{agent("a", "sunny"), `get_weather for Paris: sunny`},
		{agent("a", "b", "c"), `get_weather for Paris: c`}, // beyond the end the last step repeats
	} {
		if got := say(t, b, st, tc.q); got != tc.want {
			t.Errorf("after %d messages: got %s, want %s", len(tc.q.Messages), got, tc.want)
		}
	}
}

func TestScenarios(t *testing.T) {
	b := parse(t, `
mappings:
- {request: {user: buy}, scenarioName: shop, requiredScenarioState: Started, newScenarioState: paid,
   response: {text: bought}}
- {request: {user: buy}, scenarioName: shop, requiredScenarioState: paid, response: {text: already}}
- {request: {user: return}, scenarioName: shop, requiredScenarioState: paid, newScenarioState: Started,
   response: {text: returned}}
`)
	st := script.NewState(1, script.Limits{})
	var got []string
	for _, in := range []string{"return", "buy", "buy", "return", "buy"} {
		got = append(got, say(t, b, st, user(in)))
	}
	if diff := cmp.Diff([]string{"no match", "bought", "already", "returned", "bought"}, got); diff != "" {
		t.Error(diff)
	}
	if s := st.Scenario("", "shop"); s != "paid" {
		t.Errorf("state %q, want paid", s)
	}
	st.SetScenario("", "shop", script.Started)
	if got := say(t, b, st, user("buy")); got != "bought" {
		t.Errorf("after a reset: got %s", got)
	}
	want := []script.Scenario{{Name: "shop", States: []string{"Started", "paid"}}}
	if diff := cmp.Diff(want, b.Scenarios()); diff != "" {
		t.Error(diff)
	}
}

func TestWeightsFollowSeed(t *testing.T) {
	b := parse(t, `
mappings:
- request: {}
  choose: weighted
  responses: [{text: a, weight: 3}, {text: b}, {text: never, weight: 0}]
`)
	draw := func(seed uint64) string {
		st := script.NewState(seed, script.Limits{})
		var sb strings.Builder
		for range 2000 {
			sb.WriteString(say(t, b, st, user("x")))
		}
		return sb.String()
	}
	one := draw(1)
	if one != draw(1) {
		t.Error("equal seeds must draw equally")
	}
	if one == draw(2) {
		t.Error("another seed must draw differently")
	}
	// 2000 draws of p=3/4: sd 19.4, so 1500±100 is five of them.
	if n := strings.Count(one, "a"); n < 1400 || n > 1600 || strings.Contains(one, "never") {
		t.Errorf("a %d times of 2000, want about 1500, and never weight 0", n)
	}
	// Choices of one request draw apart.
	s, _ := b.Match(script.NewState(1, script.Limits{}), user("x"))
	seen := make(map[string]bool)
	for i := range 50 {
		o, err := s.Outcome(i)
		if err != nil {
			t.Fatal(err)
		}
		seen[*o.Text] = true
	}
	if len(seen) != 2 {
		t.Errorf("50 choices said %v, want a and b", seen)
	}
}

func TestStateIsBounded(t *testing.T) {
	b := parse(t, "mappings:\n- {request: {}, responses: [{text: a}, {text: b}]}\n")
	st := script.NewState(1, script.Limits{Sessions: 3})
	for i := range 100 {
		q := user("x")
		q.Session = fmt.Sprint(i)
		say(t, b, st, q)
		q.Session = "0"
		say(t, b, st, q)
	}
	if st.Sessions() != 3 {
		t.Errorf("%d sessions, want 3", st.Sessions())
	}
	q := user("x")
	q.Session = "0"
	if got := say(t, b, st, q); got != "b" {
		t.Errorf("a session in use must stay: got %s", got)
	}
	q.Session = "50"
	if got := say(t, b, st, q); got != "a" {
		t.Errorf("a forgotten session starts over: got %s", got)
	}
}

func TestNearMiss(t *testing.T) {
	b := parse(t, `
mappings:
- {name: far, request: {user: {contains: z}, model: other, turn: 4}, response: {text: x}}
- {name: near, request: {user: {contains: weather}, model: gpt-4o, turn: 1}, response: {text: x}}
`)
	got := b.NearMisses(script.NewState(1, script.Limits{}), user("weather?"), 1)
	want := []script.NearMiss{{
		Mapping: "m2", Name: "near", Held: []string{`model equalTo "gpt-4o"`, `user contains "weather"`},
		Failed: []string{"turn is 1"}, Distance: 1.0 / 3,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
