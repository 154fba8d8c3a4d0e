package openai

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// oracle validates against OpenAI's own description (openai/openai-openapi, 2026-08-21, MIT; testdata/README.md).
type oracle struct{ compiler *jsonschema.Compiler }

const oracleURL = "mem:///openapi.json"

var loadOracle = sync.OnceValues(func() (*oracle, error) {
	f, err := os.Open("testdata/openapi-subset.json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	return &oracle{c}, c.AddResource(oracleURL, nullable(doc))
})

// nullable rewrites OpenAPI 3.0's "nullable: true", which the document still uses, to a union with null.
func nullable(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = nullable(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = nullable(v[k])
		}
		if v["nullable"] == true {
			delete(v, "nullable")
			return map[string]any{"anyOf": []any{v, map[string]any{"type": "null"}}}
		}
	}
	return v
}

// check validates one JSON text against a named schema.
func (o *oracle) check(t testing.TB, name, text string) {
	t.Helper()
	s, err := o.compiler.Compile(oracleURL + "#/components/schemas/" + name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Errorf("%s: %q: %v", name, text, err)
		return
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %s\n%v", name, text, err)
	}
}

func testOracle(t testing.TB) *oracle {
	t.Helper()
	o, err := loadOracle()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// checkStream validates every event of a stream.
func (o *oracle) checkStream(t testing.TB, name, stream string) {
	t.Helper()
	for _, ev := range events(t, stream) {
		if ev == "[DONE]" {
			continue
		}
		if name == "CreateCompletionResponse" {
			// The description forgets that finish_reason is null until the end (spec openai-endpoint L5).
			ev = strings.Replace(ev, `"finish_reason":null`, `"finish_reason":"stop"`, 1)
		}
		o.check(t, name, ev)
	}
}

// shapes are answers with every kind of segment.
func shapes() map[string]Choice {
	plain := wordChoice(6, "stop")
	tools := wordChoice(6, "tool_calls")
	tools.Segments = []Segment{
		{Kind: ToolCall, Positions: 2, ID: "call_a", Name: "f"},
		{Kind: ToolCall, Positions: 4, ID: "call_b", Name: "g"},
	}
	mixed := wordChoice(6, "tool_calls")
	mixed.Segments = []Segment{
		{Kind: Reasoning, Positions: 2},
		{Kind: Content, Positions: 2},
		{Kind: ToolCall, Positions: 2, ID: "call_a", Name: "f"},
	}
	custom := wordChoice(6, "tool_calls")
	custom.Segments = []Segment{{Kind: ToolCall, Positions: 6, ID: "call_a", Name: "f", Custom: true}}
	legacy := wordChoice(6, "function_call")
	legacy.Segments = []Segment{{Kind: FunctionCall, Positions: 6, Name: "f"}}
	refusal := wordChoice(6, "stop")
	refusal.Segments = []Segment{{Kind: Refusal, Positions: 6}}
	silent := wordChoice(6, "length")
	silent.Segments, silent.Reasoning = []Segment{{Kind: Silent, Positions: 6}}, 6
	probs := wordChoice(6, "stop")
	probs.Probs = fakeProbs{}
	empty := Choice{FinishReason: "length"}
	return map[string]Choice{
		"plain": plain, "tools": tools, "mixed": mixed, "custom": custom, "legacy": legacy, "refusal": refusal,
		"silent": silent, "probs": probs, "empty": empty,
	}
}

// fakeProbs is a distribution with an invalid byte in it.
type fakeProbs struct{}

func (fakeProbs) At(i, k int) (TokenProb, []TokenProb, bool) {
	top := []TokenProb{{"t", -0.1}, {"\xff", -3}}
	return top[0], top[:min(k, len(top))], i > 0
}

// TestAnswersFitTheDescription validates every shape of answer, whole and streamed, on both routes.
func TestAnswersFitTheDescription(t *testing.T) {
	o := testOracle(t)
	for name, choice := range shapes() {
		for _, style := range []ToolStyle{ToolStyleTokens, ToolStyleWhole} {
			t.Run(name+"/"+string(style), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					plan := words{choice: func(int, int) Choice { return choice }}
					r := newRig(t, Options{ToolStyle: style}, &pacer{gap: time.Millisecond}, plan)
					_, whole := r.ask(t, chatPath, withField(`"logprobs":true,"top_logprobs":2,"n":2`))
					o.check(t, "CreateChatCompletionResponse", whole)
					_, stream := r.ask(t, chatPath, streaming(hello, `,"n":2,"stream_options":{"include_usage":true}`))
					if name != "custom" {
						// The description knows custom calls in whole answers only.
						o.checkStream(t, "CreateChatCompletionStreamResponse", stream)
					}
					checkOrder(t, stream, 2, true)
					sameAnswer(t, whole, stream)
					if choice.Segments != nil {
						return
					}
					_, text := r.ask(t, textPath, textWith(`"logprobs":2`))
					if choice.Probs == nil {
						o.check(t, "CreateCompletionResponse", text)
					}
					_, stream = r.ask(t, textPath, textWith(`"stream":true`))
					if choice.Probs == nil {
						o.checkStream(t, "CreateCompletionResponse", stream)
					}
				})
			})
		}
	}
}

// sameAnswer reassembles a stream and compares it with the whole response.
func sameAnswer(t *testing.T, whole, stream string) {
	t.Helper()
	var resp chatResponse
	if err := json.Unmarshal([]byte(whole), &resp); err != nil {
		t.Fatal(err)
	}
	var content, refusal, transcript, sound string
	calls := map[int]*toolCall{}
	finish := ""
	for _, ev := range events(t, stream) {
		var c chatChunk
		if ev == "[DONE]" || json.Unmarshal([]byte(ev), &c) != nil || len(c.Choices) == 0 || c.Choices[0].Index != 0 {
			continue
		}
		d := c.Choices[0].Delta
		content += unquote(d.Content)
		refusal += unquote(d.Refusal)
		if d.Audio != nil {
			transcript += deref(d.Audio.Transcript)
			sound += d.Audio.Data
		}
		for _, tc := range d.ToolCalls {
			merge(t, calls, tc)
		}
		if c.Choices[0].FinishReason != nil {
			finish = *c.Choices[0].FinishReason
		}
	}
	m := resp.Choices[0].Message
	if content != deref(m.Content) || refusal != deref(m.Refusal) || len(calls) != len(m.ToolCalls) ||
		finish != resp.Choices[0].FinishReason {
		t.Errorf("stream says %q %q %d calls %s, whole %s", content, refusal, len(calls), finish, whole)
	}
	if a := m.Audio; a == nil && transcript+sound != "" || a != nil && a.Transcript != transcript {
		t.Errorf("the stream says %q, whole %+v", transcript, a)
	} else if a != nil && a.Data != sound && !strings.HasPrefix(a.Data, "UklGR") { // a WAV file has a header besides
		t.Errorf("the stream has %d bytes of sound, whole %d", len(sound), len(a.Data))
	}
	for i, tc := range m.ToolCalls {
		got := calls[i]
		if tc.Index != nil || got == nil || got.ID != tc.ID || got.Type != tc.Type {
			t.Errorf("call %d: %+v in the stream, %+v whole", i, got, tc)
			continue
		}
		if tc.Function != nil && *got.Function != *tc.Function {
			t.Errorf("call %d: %+v in the stream, %+v whole", i, got.Function, tc.Function)
		}
	}
}

// merge adds a tool delta as clients do (spec openai-endpoint S7).
func merge(t *testing.T, calls map[int]*toolCall, tc toolCall) {
	t.Helper()
	if tc.Index == nil {
		t.Fatalf("tool delta without index: %+v", tc)
	}
	old := calls[*tc.Index]
	if old == nil {
		if tc.ID == "" || tc.Type == "" || *tc.Index != len(calls) {
			t.Errorf("opener %+v of call %d", tc, *tc.Index)
		}
		calls[*tc.Index] = &tc
		return
	}
	if tc.ID != "" || tc.Type != "" {
		t.Errorf("fragment %+v repeats identity", tc)
	}
	if tc.Function != nil {
		old.Function.Arguments += tc.Function.Arguments
	}
}

func unquote(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
