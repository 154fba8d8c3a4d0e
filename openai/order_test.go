package openai

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fakellm/openai/reply"
	"fakellm/openai/speech"
)

// orderRequests is how many random requests each dialect gets; CI's slow gate and releases ask for 4,000 and more.
var orderRequests = flag.Int("order-requests", 150, "random requests per dialect in TestOrder")

// TestOrder holds random requests, whole and streamed, against the automaton of S1–S9, against each other, and in the
// OpenAI dialect against OpenAI's own description.
func TestOrder(t *testing.T) {
	o := testOracle(t)
	planner := realPlanner(t, PlannerOptions{Reply: reply.Config{Length: reply.Length{Mean: 30, Sigma: 0.6, Max: 80}}})
	for seed, d := range []Dialect{DialectOpenAI, DialectVLLM, DialectSGLang} {
		t.Run(string(d), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{Dialect: d}, &pacer{gap: time.Millisecond}, planner)
				rng := rand.New(rand.NewPCG(uint64(seed), 1))
				kinds := map[string]int{}
				for range *orderRequests {
					req := randomRequest(rng)
					whole, stream := req.bodies()
					_, w := r.ask(t, chatPath, whole)
					resp, s := r.ask(t, chatPath, stream)
					if resp.StatusCode != 200 {
						t.Fatalf("%s: %d %s", stream, resp.StatusCode, s)
					}
					checkOrder(t, s, req.n, req.usage)
					checkAnswer(t, req, w, s)
					kinds[finishOf(t, w)]++
					if d == DialectOpenAI && !req.custom {
						o.check(t, "CreateChatCompletionResponse", w)
						o.checkStream(t, "CreateChatCompletionStreamResponse", s)
					}
					if t.Failed() {
						t.Fatalf("request: %s\nwhole: %s\nstream: %s", stream, w, s)
					}
				}
				for _, k := range []string{"stop", "length", "tool_calls"} {
					if kinds[k] == 0 {
						t.Errorf("no answer ended with %s: %v", k, kinds)
					}
				}
			})
		})
	}
}

// orderRequest is a random request.
type orderRequest struct {
	fields  map[string]any
	n       int
	usage   bool
	custom  bool
	noCalls bool
}

func randomRequest(r *rand.Rand) orderRequest {
	chance := func(p float64) bool { return r.Float64() < p }
	q := orderRequest{n: 1, usage: chance(0.5)}
	text := fmt.Sprintf("Question %d: what is the weather in 京都 🙂?", r.IntN(1000))
	q.fields = map[string]any{
		"model": "m", "messages": []any{map[string]any{"role": "user", "content": text}}, "seed": r.IntN(100),
	}
	if chance(0.3) {
		q.n = 1 + r.IntN(3)
		q.fields["n"] = q.n
	}
	if chance(0.3) {
		q.fields["max_tokens"] = 1 + r.IntN(60)
	}
	if chance(0.3) {
		q.fields["stop"] = []string{"the", ", "}[r.IntN(2)]
	}
	if chance(0.3) {
		q.fields["logprobs"], q.fields["top_logprobs"] = true, r.IntN(4)
	}
	if chance(0.3) {
		q.fields["reasoning_effort"] = []string{"none", "minimal", "low"}[r.IntN(3)]
	}
	if q.fields["logprobs"] == nil && chance(0.15) {
		q.fields["modalities"] = []string{"text", "audio"}
		q.fields["audio"] = map[string]any{"voice": "alloy", "format": "pcm16"}
	}
	switch {
	case chance(0.4):
		q.addTools(r)
	case chance(0.2):
		q.fields["response_format"] = map[string]any{"type": "json_object"}
	case chance(0.25):
		q.fields["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "s", "strict": true, "schema": orderSchema(),
		}}
	}
	return q
}

func (q *orderRequest) addTools(r *rand.Rand) {
	function := func(name string) map[string]any {
		return map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": orderSchema()}}
	}
	tools := []any{function("weather"), function("search_web")}
	if r.IntN(4) == 0 {
		q.custom = true
		tools = append(tools, map[string]any{"type": "custom", "custom": map[string]any{"name": "note"}})
	}
	q.fields["tools"] = tools
	switch r.IntN(6) {
	case 0:
		q.noCalls = true
		q.fields["tool_choice"] = "none"
	case 1:
		q.fields["tool_choice"] = "required"
	case 2:
		q.fields["tool_choice"] = map[string]any{"type": "function", "function": map[string]any{"name": "search_web"}}
	case 3:
		q.fields["parallel_tool_calls"] = false
	}
}

func orderSchema() map[string]any {
	return map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"city", "days"},
		"properties": map[string]any{
			"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer", "minimum": 1, "maximum": 9},
			"unit": map[string]any{"enum": []string{"C", "F"}},
		},
	}
}

// bodies are the request whole and streamed.
func (q *orderRequest) bodies() (whole, stream string) {
	whole = string(marshal(q.fields))
	more := ""
	if q.usage {
		more = `,"stream_options":{"include_usage":true}`
	}
	return whole, streaming(whole, more)
}

func finishOf(t *testing.T, whole string) string {
	t.Helper()
	var w chatResponse
	if err := json.Unmarshal([]byte(whole), &w); err != nil || len(w.Choices) == 0 {
		t.Fatalf("%v: %s", err, whole)
	}
	return w.Choices[0].FinishReason
}

// checkAnswer compares stream and whole, and checks what one answer must obey.
func checkAnswer(t *testing.T, q orderRequest, whole, stream string) {
	t.Helper()
	sameAnswer(t, whole, stream)
	var w chatResponse
	if err := json.Unmarshal([]byte(whole), &w); err != nil {
		t.Fatal(err)
	}
	u := w.Usage
	if u.TotalTokens != u.PromptTokens+u.CompletionTokens || u.CompletionDetails.ReasoningTokens > u.CompletionTokens {
		t.Errorf("usage %+v", u)
	}
	frames := 0
	for _, c := range w.Choices {
		if c.Message.Audio != nil {
			frames += len(c.Message.Audio.Data) / 4 * 3 / speech.FrameBytes
		}
	}
	if u.CompletionDetails.AudioTokens != frames {
		t.Errorf("%d frames of sound, usage %+v", frames, u)
	}
	for _, c := range w.Choices {
		calls := len(c.Message.ToolCalls)
		if c.FinishReason == "tool_calls" && calls == 0 || calls > 0 && c.FinishReason == "stop" || q.noCalls && calls > 0 {
			t.Errorf("%d calls end with %s", calls, c.FinishReason)
		}
		ids := map[string]bool{}
		for _, call := range c.Message.ToolCalls {
			if ids[call.ID] || !strings.HasPrefix(call.ID, "call_") {
				t.Errorf("call id %q", call.ID)
			}
			ids[call.ID] = true
			if c.FinishReason == "tool_calls" && call.Function != nil && !json.Valid([]byte(call.Function.Arguments)) {
				t.Errorf("arguments %s", call.Function.Arguments)
			}
		}
		content := deref(c.Message.Content)
		if c.Message.Audio != nil {
			content += c.Message.Audio.Transcript
		}
		if f, ok := q.fields["response_format"]; ok && f != nil && c.FinishReason == "stop" && q.fields["stop"] == nil &&
			!json.Valid([]byte(content)) {
			t.Errorf("content %q is not JSON", content)
		}
		checkLogprobs(t, q, c)
	}
}

// checkLogprobs checks N5: tokens say the content, alternatives are a part of a distribution.
func checkLogprobs(t *testing.T, q orderRequest, c chatChoice) {
	t.Helper()
	if (c.Logprobs != nil) != (q.fields["logprobs"] == true) {
		t.Errorf("logprobs %+v", c.Logprobs)
	}
	if c.Logprobs == nil {
		return
	}
	var said []byte
	for _, tok := range c.Logprobs.Content {
		for _, b := range tok.Bytes {
			said = append(said, byte(b))
		}
		sum := 0.0
		for _, a := range tok.TopLogprobs {
			sum += math.Exp(a.Logprob)
		}
		if tok.Logprob > 0 || sum > 1.0000001 || len(tok.TopLogprobs) != q.fields["top_logprobs"] {
			t.Errorf("token %+v", tok)
		}
	}
	if content := deref(c.Message.Content); !strings.HasPrefix(string(said), content) {
		t.Errorf("tokens say %q, content is %q", said, content)
	}
}
