package script_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fakellm/openai/reply/script"
)

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct{ why, text, want string }{
		{
			"unknown key with its line", "mappings:\n- request:\n    usr: hi\n  response: {text: a}\n",
			`f.yaml:3: mappings[0].request: unknown key "usr", known are and, anyMessage,`,
		},
		{
			"unknown key in JSON with its line", "{\"mappings\": [\n{\"request\": {},\n\"respond\": {}}]}",
			`f.yaml:3: mappings[0]: unknown key "respond"`,
		},
		{"repeated key", "mappings:\n- {request: {}, request: {}, response: {text: a}}\n", `key "request" is repeated`},
		{"wrong kind", "mappings: 3\n", `f.yaml:1: mappings: expected a list, got "3"`},
		{
			"bool is not a word", "mappings:\n- {request: {hasToolResults: maybe}, response: {text: a}}\n",
			`mappings[0].request.hasToolResults: expected true or false, got "maybe"`,
		},
		{
			"bad regex", "mappings:\n- {request: {user: {matches: '('}}, response: {text: a}}\n",
			"f.yaml:2: mappings[0]: request.user: matches: error parsing regexp",
		},
		{"bad path", "mappings:\n- {request: {body: {'$..a': x}}, response: {text: a}}\n", "recursive descent"},
		{"filter", "mappings:\n- {request: {body: {'$[?(@.a)]': x}}, response: {text: a}}\n", "filters are not supported"},
		{"no operator", "mappings:\n- {request: {user: {}}, response: {text: a}}\n", "request.user: no operator given"},
		{"no answer", "mappings:\n- {request: {}}\n", "give one of response, responses and steps"},
		{
			"two kinds of answer", "mappings:\n- {request: {}, response: {text: a, refusal: b}}\n",
			"mappings[0]: response: text or toolCalls, json, refusal and error exclude each other",
		},
		{"empty answer", "mappings:\n- {request: {}, response: {}}\n", "mappings[0]: response: nothing to answer, give text"},
		{"empty answer of several", "mappings:\n- {request: {}, responses: [{text: a}, {}]}\n", "responses[1]: nothing to answer"},
		{
			"bad template", "mappings:\n- {request: {}, response: {text: '{{.User'}}\n",
			"response.text: text:1: unclosed action",
		},
		{"unknown function", "mappings:\n- {request: {}, response: {text: '{{now}}'}}\n", `function "now" not defined`},
		{
			"arguments are JSON", "mappings:\n- {request: {}, response: {toolCalls: [{name: f, arguments: '{'}]}}\n",
			`response.toolCalls[0].arguments: "{" is not JSON`,
		},
		{
			"arguments are an object", "mappings:\n- {request: {}, response: {toolCalls: [{name: f, arguments: [1]}]}}\n",
			"is not an object",
		},
		{"a plan that never ends", "mappings:\n- {request: {}, steps: [{toolCalls: [{name: f}]}]}\n", "would never end"},
		{
			"tool_calls without calls", "mappings:\n- {request: {}, response: {text: a, finishReason: tool_calls}}\n",
			"loop for ever",
		},
		{
			"status", "mappings:\n- {request: {}, response: {error: {status: 200}}}\n",
			"error.status: 200 is not from 400 to 599",
		},
		{
			"weights", "mappings:\n- {request: {}, choose: weighted, responses: [{text: a, weight: 0}]}\n",
			"sum to more than 0",
		},
		{"word", "mappings:\n- {request: {}, exhausted: stop, response: {text: a}}\n", `exhausted: "stop" is none of`},
		{
			"same id", "mappings:\n- {id: a, request: {}, response: {text: a}}\n- {id: a, request: {}, response: {text: a}}\n",
			`f.yaml:3: mappings[1]: id: "a" is also that of mappings[0]`,
		},
		{"empty range", "mappings:\n- {request: {turn: {min: 3, max: 1}}, response: {text: a}}\n", "min 3 is above max 1"},
		{
			"state without scenario", "mappings:\n- {request: {}, newScenarioState: x, response: {text: a}}\n",
			"scenarioName: missing",
		},
		{"merge keys", "x: &a {}\nmappings:\n- {<<: *a}\n", "unknown key \"x\""},
		{"two documents", "mappings: []\n---\nmappings: []\n", "more than one document"},
		{"alias cycle", "mappings: &a [*a]\n", "expected a mapping, got a list"},
	} {
		_, err := script.Parse("f.yaml", []byte(tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %q in it", tc.why, err, tc.want)
		}
	}
}

// TestAliasBomb: a few lines of aliases must not become gigabytes.
func TestAliasBomb(t *testing.T) {
	var sb strings.Builder
	sb.WriteString("mappings:\n- metadata:\n  - &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		prev, this := string(rune('0'+i)), string(rune('1'+i))
		sb.WriteString("  - &a" + this + " [" + strings.TrimSuffix(strings.Repeat("*a"+prev+", ", 10), ", ") + "]\n")
	}
	_, err := script.Parse("bomb.yaml", []byte(sb.String()))
	if err == nil || !strings.Contains(err.Error(), "aliases counted") {
		t.Errorf("got %v, want a refusal", err)
	}
}

const everything = `
mappings:
- id: all
  name: everything
  priority: 2
  scenarioName: s
  requiredScenarioState: Started
  newScenarioState: next
  metadata: {z: 1, a: [true, null, 1.5, "x"]}
  request:
    model: gpt-*
    user: {contains: hi, caseInsensitive: true}
    headers: {x-a: {matches: '^b'}}
    body: {'$.n': {atLeast: 1}}
    turn: {max: 3}
    messageCounts: {user: 1}
    tools: [f]
    or: [{user: a}, {not: {user: b}}]
  choose: weighted
  responses:
  - {text: "a & b <c> {{.User}}", reasoning: hm, weight: 2, timing: {ttftMs: 5}, fault: "stall=1s;at=2"}
  - {json: {z: 1, a: "{{.Model}}"}}
  - {toolCalls: [{id: call_1, name: f, arguments: {b: 1, a: 2}}]}
  - {refusal: no}
  - {error: {status: 429, code: rate_limit_exceeded, retryAfterMs: 100}}
`

func TestRoundTrip(t *testing.T) {
	b := parse(t, everything)
	one, err := b.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := script.Parse("again.json", one)
	if err != nil {
		t.Fatalf("%v\n%s", err, one)
	}
	two, err := again.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(one), string(two)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(one), `"json":{"z":1,"a":"{{.Model}}"}`) || !strings.Contains(string(one), "a & b <c>") {
		t.Errorf("members must keep their order and text its characters: %s", one)
	}
	if f := b.Faults(); len(f) != 1 || f[0].Fault != "stall=1s;at=2" {
		t.Errorf("faults: %+v", f)
	}
}

func TestEdit(t *testing.T) {
	b := parse(t, "mappings:\n- {id: old, request: {}, response: {text: old}}\n")
	st := script.NewState(1, script.Limits{})
	m, err := script.ParseMapping("body", []byte(`{"request":{},"response":{"text":"new \/ \ud83d\ude00"}}`))
	if err != nil {
		t.Fatal(err)
	}
	added, m, err := b.Add(m)
	if err != nil || m.ID != "m1" {
		t.Fatalf("id %q, error %v", m.ID, err)
	}
	if got := say(t, added, st, user("x")); got != "new / 😀" {
		t.Errorf("what is added comes first: got %q", got)
	}
	if got := say(t, b, st, user("x")); got != "old" {
		t.Errorf("the book itself must not change: got %q", got)
	}
	if _, _, err := added.Add(m); err == nil {
		t.Error("a taken id must be refused")
	}
	removed, err := added.Remove("old")
	if err != nil || len(removed.Mappings()) != 1 {
		t.Errorf("remove: %v", err)
	}
	if _, err := removed.Remove("old"); !errors.Is(err, script.ErrUnknownMapping) {
		t.Errorf("got %v, want ErrUnknownMapping", err)
	}
	text := "changed"
	m.Response.Text = &text
	changed, err := added.Replace("m1", m)
	if err != nil || say(t, changed, st, user("x")) != "changed" {
		t.Errorf("replace: %v", err)
	}
	if _, err := added.Replace("old", m); err == nil {
		t.Error("an id that differs from the path must be refused")
	}
}

func TestImport(t *testing.T) {
	b := parse(t, "mappings:\n- {id: a, request: {}, response: {text: a}}\n- {id: b, request: {}, response: {text: b}}\n")
	ids := func(b *script.Book) string {
		var out []string
		for _, m := range b.Mappings() {
			out = append(out, m.ID+"="+*m.Response.Text)
		}
		return strings.Join(out, " ")
	}
	const file = `{"mappings":[{"id":"a","request":{},"response":{"text":"A"}},
		{"id":"c","request":{},"response":{"text":"C"}}]%s}`
	for opts, want := range map[string]string{
		``: "c=C a=A b=b",
		`,"importOptions":{"duplicatePolicy":"IGNORE"}`:    "c=C a=a b=b",
		`,"importOptions":{"deleteAllNotInImport":true}`:   "c=C a=A",
		`,"importOptions":{"duplicatePolicy":"OVERWRITE"}`: "c=C a=A b=b",
	} {
		out, err := b.Import("import.json", []byte(strings.Replace(file, "%s", opts, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(out); got != want {
			t.Errorf("options %q: got %s, want %s", opts, got, want)
		}
	}
}

func TestTemplates(t *testing.T) {
	q := user("my name is Ada Lovelace")
	q.Body = []byte(`{"metadata":{"k":"v"}}`)
	q.Header = map[string][]string{"X-A": {"h"}}
	for _, tc := range []struct{ template, want string }{
		{`{{.User}}`, "my name is Ada Lovelace"},
		{`{{.Group 1}}-{{.Group 9}}`, "Ada-"},
		{`{{index .Groups 0}}`, "is Ada"},
		{`{{.Body "$.metadata.k"}} {{.Header "x-a"}} {{.Model}} {{.Turn}} {{.Count}}`, "v h gpt-4o 0 1"},
		{`{{upper "a"}} {{truncate 3 .User}} {{join "," (fields "a b")}} {{default "d" ""}}`, "A my  a,b d"},
		{`{{json .Named}} {{add 1 2}} {{repeat 3 "ab"}}`, "{} 3 ababab"},
		{`{{range .Messages}}{{.Role}}{{end}}`, "user"},
		{`{{with .ToolArgs}}{{.}}{{else}}none{{end}}`, "none"},
		{`{{repeat 99999999 "ab"}}`, "error"},
		{`{{printf "%99999999d" 1}}`, "error"},
		{`{{range 2000000}}x{{end}}`, "error"},
		{`{{.Pick}}`, "error"},
		{`{{.Rand 3 3}}`, "3"},
	} {
		b := parse(t, "mappings:\n- {request: {user: {matches: 'is (\\w+)'}}, response: {text: '"+tc.template+"'}}\n")
		got := say(t, b, script.NewState(1, script.Limits{}), q)
		if got != tc.want && (tc.want != "error" || !strings.HasPrefix(got, "error: ")) {
			t.Errorf("%s: got %q, want %q", tc.template, clip(got), tc.want)
		}
	}
}

// TestTemplateNamesAreChecked: a name that no request can fill is an error of the file, not of every request.
func TestTemplateNamesAreChecked(t *testing.T) {
	_, err := script.Parse("f.yaml", []byte("mappings: [{request: {}, response: {text: '{{.Nothing}}'}}]"))
	if err == nil || !strings.Contains(err.Error(), "templates know no .Nothing") {
		t.Errorf("%v", err)
	}
}

func clip(s string) string { return s[:min(len(s), 200)] }
