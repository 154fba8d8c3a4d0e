package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestConstrainedAnswers: what an engine's client asks an answer to look like, it looks like, on both routes and in streams.
func TestConstrainedAnswers(t *testing.T) {
	const object = `{"type":"object","properties":{"city":{"type":"string"},"n":{"type":"integer"}},"required":["city","n"]}`
	isObject := func(text string) bool {
		var v struct {
			City *string
			N    *int
		}
		return json.Unmarshal([]byte(text), &v) == nil && v.City != nil && v.N != nil
	}
	matches := func(re string) func(string) bool { return regexp.MustCompile(re).MatchString }
	oneOf := func(list ...string) func(string) bool {
		return func(text string) bool { return slices.Contains(list, text) }
	}
	planner := realPlanner(t, PlannerOptions{})
	for _, row := range []struct {
		d      Dialect
		member string
		fits   func(string) bool
	}{
		{DialectVLLM, `"structured_outputs":{"json":` + object + `}`, isObject},
		{DialectVLLM, `"structured_outputs":{"json":` + string(marshal(object)) + `}`, isObject},
		{DialectVLLM, `"structured_outputs":{"json_object":true}`, func(s string) bool { return s[0] == '{' && json.Valid([]byte(s)) }},
		{DialectVLLM, `"structured_outputs":{"choice":["yes, \"so\"","<no>"],"regex":null}`, oneOf(`yes, "so"`, "<no>")},
		{DialectVLLM, `"structured_outputs":{"regex":"a|[0-9]{3}"}`, matches(`^(a|[0-9]{3})$`)},
		{DialectVLLM, `"structured_outputs":{"json_object":false,"regex":"^x+$"}`, matches(`^x+$`)},
		{DialectVLLM, `"guided_json":` + object + `,"response_format":{"type":"text"}`, isObject},
		{DialectVLLM, `"guided_choice":["red","red","green"]`, oneOf("red", "green")},
		{DialectVLLM, `"guided_regex":"(?i)[a-z]+@[a-z]+\\.com"`, matches(`(?i)^[a-z]+@[a-z]+\.com$`)},
		{DialectVLLM, `"guided_regex":"x*"`, matches(`^x+$`)},
		{DialectDynamo, `"guided_choice":["a"]`, oneOf("a")},
		{DialectSGLang, `"regex":"v\\d\\.\\d"`, matches(`^v\d\.\d$`)},
		{DialectSGLang, `"json_schema":` + string(marshal(object)), isObject},
		{DialectTRTLLM, `"guided_json":` + object, isObject},
		{DialectVLLM, `"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":` + object + `}}`, isObject},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{Dialect: row.d, Policy: PolicyStrict}, &pacer{gap: time.Millisecond}, planner)
			resp, body := r.ask(t, chatPath, withField(row.member))
			var chat chatResponse
			if err := json.Unmarshal([]byte(body), &chat); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %s", row.member, resp.StatusCode, body)
			}
			if got := chat.Choices[0]; !row.fits(*got.Message.Content) || got.FinishReason != "stop" {
				t.Errorf("%s: %s: %q, %s", row.d, row.member, *got.Message.Content, got.FinishReason)
			}
			_, body = r.ask(t, textPath, textWith(`"n":2,"max_tokens":300,"echo":true,"logprobs":1,`+row.member))
			var text textResponse
			if err := json.Unmarshal([]byte(body), &text); err != nil || len(text.Choices) != 2 {
				t.Fatalf("%s: %s", row.member, body)
			}
			for _, c := range text.Choices {
				said, echoed := strings.CutPrefix(c.Text, "p")
				if !echoed || !row.fits(said) || *c.FinishReason != "stop" || strings.Join(c.Logprobs.Tokens, "") != c.Text {
					t.Errorf("%s: %s: %q, %v", row.d, row.member, c.Text, c.Logprobs.Tokens)
				}
			}
		})
	}
}

// TestConstraintsAreSeeded: every text is said for some seed, and always the same for the same. Look-around has an engine
// of its own, whose clock does not run in a bubble.
func TestConstraintsAreSeeded(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	for member, want := range map[string]int{`"guided_choice":["a","b","c"]`: 3, `"guided_regex":"(?!ab)[ab]{2}"`: 3} {
		seen := map[string]bool{}
		for seed := range 60 {
			text := constrained(t, planner, seed, member)
			seen[text] = true
			if again := constrained(t, planner, seed, member); again != text {
				t.Errorf("%s: seed %d: %q, then %q", member, seed, text, again)
			}
		}
		if len(seen) != want || seen["ab"] {
			t.Errorf("%s: %v", member, seen)
		}
	}
}

// constrained is what a planner says to a request with a seed and a constraint.
func constrained(t *testing.T, planner *ReplyPlanner, seed int, member string) string {
	t.Helper()
	c := checker{dialect: DialectVLLM, policy: PolicyNormal, ranks: 1}
	req, err := c.chat([]byte(withField(fmt.Sprintf(`"seed":%d,%s`, seed, member))), http.Header{}, 64)
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := planner.ChatPrompt(req)
	if err != nil {
		t.Fatal(err)
	}
	choice, err := planner.ChatChoice(req, prompt, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	return choice.Text
}

// TestConstraintsRefused: what cannot be made is refused by name; under the dialect of OpenAI nobody looks at it.
func TestConstraintsRefused(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	for _, row := range []struct {
		why    string
		d      Dialect
		member string
		param  string
	}{
		{"a grammar", DialectVLLM, `"guided_grammar":"root ::= \"a\""`, "guided_grammar"},
		{"a grammar inside", DialectVLLM, `"structured_outputs":{"grammar":"root ::= \"a\""}`, "structured_outputs.grammar"},
		{"EBNF", DialectSGLang, `"ebnf":"root ::= \"a\""`, "ebnf"},
		{"tags", DialectVLLM, `"structured_outputs":{"structural_tag":"{}"}`, "structured_outputs.structural_tag"},
		{"no expression", DialectVLLM, `"guided_regex":"a(b"`, "guided_regex"},
		{"brackets that ours would close", DialectVLLM, `"guided_regex":"a)(b"`, "guided_regex"},
		{"an expression that nothing matches", DialectSGLang, `"regex":"a\\bb"`, "regex"},
		{"an expression of nothing", DialectVLLM, `"structured_outputs":{"regex":""}`, "structured_outputs.regex"},
		{"a number for an expression", DialectVLLM, `"guided_regex":5`, "guided_regex"},
		{"no choice", DialectVLLM, `"guided_choice":[]`, "guided_choice"},
		{"an empty choice", DialectVLLM, `"guided_choice":["a",""]`, "guided_choice"},
		{"a null among choices", DialectVLLM, `"guided_choice":[null]`, "guided_choice"},
		{"a number among choices", DialectVLLM, `"structured_outputs":{"choice":["a",1]}`, "structured_outputs.choice"},
		{"a word for choices", DialectVLLM, `"guided_choice":"a"`, "guided_choice"},
		{"a schema that is no schema", DialectVLLM, `"guided_json":{"type":"nothing"}`, "guided_json"},
		{"a schema that is no JSON", DialectSGLang, `"json_schema":"{"`, "json_schema"},
		{"a list for a schema", DialectTRTLLM, `"guided_json":[]`, "guided_json"},
		{"a word for a flag", DialectVLLM, `"structured_outputs":{"json_object":"yes"}`, "structured_outputs.json_object"},
		{"a word for constraints", DialectVLLM, `"structured_outputs":"json"`, "structured_outputs"},
		{"two at once", DialectVLLM, `"structured_outputs":{"regex":"a","choice":["a"]}`, "structured_outputs.regex"},
		{"two by two names", DialectVLLM, `"guided_json":{},"guided_regex":"a"`, "guided_regex"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{Dialect: row.d}, &pacer{gap: time.Millisecond}, planner)
			for path, body := range map[string]string{chatPath: withField(row.member), textPath: textWith(row.member)} {
				resp, answer := r.ask(t, path, body)
				var got struct { // flat, or inside of error
					Param, Message string
					Error          struct{ Param, Message string }
				}
				if err := json.Unmarshal([]byte(answer), &got); err != nil {
					t.Fatal(err)
				}
				param, message := got.Param+got.Error.Param, got.Message+got.Error.Message
				if resp.StatusCode != 400 || param != row.param || !strings.Contains(message, "'"+row.param+"'") {
					t.Errorf("%s: %s: %d %s, want %q", row.why, path, resp.StatusCode, answer, row.param)
				}
			}
		})
		if got, err := refusedFor(checker{dialect: DialectOpenAI, ranks: 1}, chatPath, withField(row.member)); err != nil {
			t.Errorf("%s: refused for %q by OpenAI's dialect: %v", row.why, got, err)
		}
	}
	const both = `"response_format":{"type":"json_object"},"structured_outputs":{"choice":["a"]}`
	got, err := refusedFor(checker{dialect: DialectVLLM, ranks: 1}, chatPath, withField(both))
	if got != "structured_outputs.choice" || !strings.Contains(err.Error(), "response_format") {
		t.Errorf("two formats: %q, %v", got, err)
	}
}
