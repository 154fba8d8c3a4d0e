package script_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fakellm/openai/reply/script"
)

// TestListenStream reassembles a stream with text, parallel tool calls and usage.
func TestListenStream(t *testing.T) {
	stream := `data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

: keep-alive

data: {"choices":[{"index":1,"delta":{"content":"he"}},{"index":0,"delta":{"reasoning_content":"hm"}}]}

data: {"choices":[{"index":1,"delta":{"content":"llo"},"finish_reason":"stop"}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c0","function":{"name":"f","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c1","function":{"name":"g","arguments":"{"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens_details":{"reasoning_tokens":4}}}

data: [DONE]

`
	hello := "hello"
	want := script.Recording{
		Status: 200, Model: "m", PromptTokens: 3, CompletionTokens: 9, CachedTokens: 2, ReasoningTokens: 4, Spoke: []int64{2, 4, 5, 6},
		Answers: []script.RecordedAnswer{
			{Reasoning: "hm", FinishReason: "stop", Calls: []script.Call{
				{ID: "c0", Name: "f"}, {ID: "c1", Name: "g", Arguments: `{}`},
			}},
			{Text: &hello, FinishReason: "stop"},
		},
	}
	var got script.Recording
	if err := got.Listen(200, true, []byte(stream)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for why, bad := range map[string]string{
		"empty":        "",
		"index":        "data: {\"choices\":[{\"index\":4000,\"delta\":{}}]}\n\n",
		"call index":   "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":-1}]}}]}\n\n",
		"broken JSON":  "data: {\n\n",
		"broken off":   "data: {\"error\":{\"message\":\"gone\"}}\n\n",
		"only comment": ": x\n\n",
	} {
		if err := new(script.Recording).Listen(200, true, []byte(bad)); err == nil {
			t.Errorf("%s: no error", why)
		}
	}
}

// TestListenSpoken: of a spoken answer the words are kept, whole or streamed, and not the sound.
func TestListenSpoken(t *testing.T) {
	for _, tc := range []struct {
		why    string
		stream bool
		body   string
	}{
		{"whole", false, `{"choices":[{"index":0,"message":{"content":null,"audio":{"id":"audio_1","data":"AAAA","expires_at":9,"transcript":"Hi there"}},"finish_reason":"stop"}]}`},
		{"streamed", true, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"audio":{"id":"audio_1"}}}]}

data: {"choices":[{"index":0,"delta":{"audio":{"transcript":"Hi"}}}]}

data: {"choices":[{"index":0,"delta":{"audio":{"data":"AAAA"}}}]}

data: {"choices":[{"index":0,"delta":{"audio":{"transcript":" there"}}}]}

data: {"choices":[{"index":0,"delta":{"audio":{"expires_at":9}}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`},
	} {
		var r script.Recording
		if err := r.Listen(200, tc.stream, []byte(tc.body)); err != nil {
			t.Fatal(err)
		}
		if a := r.Answers[0]; a.Text == nil || *a.Text != "Hi there" || a.FinishReason != "stop" {
			t.Errorf("%s: %+v", tc.why, a)
		}
	}
}

func TestTape(t *testing.T) {
	q := user("hi")
	q.Body = []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}`)
	same := []byte(`{"messages":[{"content":"hi","role":"user"}],  "model":"m","user":"u1"}`)
	key, err := script.RequestKey("chat", q.Body)
	if err != nil {
		t.Fatal(err)
	}
	if k, _ := script.RequestKey("chat", same); k != key {
		t.Error("order of members, stream and user must not change the key")
	}
	if k, _ := script.RequestKey("completions", same); k == key {
		t.Error("the route must change the key")
	}
	var tape []byte
	for _, body := range []string{
		`{"choices":[{"index":0,"message":{"content":"one"},"finish_reason":"stop"}]}`,
		`{"choices":[{"index":0,"message":{"content":"two"},"finish_reason":"length"}]}`,
	} {
		r := script.Recording{Key: key, Route: "chat", Request: q.Body}
		if err := r.Listen(200, false, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if tape, err = script.AppendRecording(tape, r); err != nil {
			t.Fatal(err)
		}
	}
	r := script.Recording{Key: "k2", Route: "chat"}
	_ = r.Listen(429, false, []byte(`{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`))
	tape, _ = script.AppendRecording(tape, r)
	read, err := script.ReadTape("t.jsonl", strings.NewReader(string(tape)))
	if err != nil {
		t.Fatal(err)
	}
	st := script.NewState(1, script.Limits{})
	var got []string
	for range 3 {
		p, ok := read.Play(st, q)
		if !ok {
			t.Fatal("the tape does not know its own request")
		}
		got = append(got, short(p.Outcome(0))+"/"+p.Outcome(0).FinishReason)
	}
	if s := strings.Join(got, " "); s != "one/stop two/length two/length" {
		t.Errorf("got %s", s)
	}
	if r.Error == nil || r.Error.Code != "rate_limit_exceeded" || read.Len() != 3 {
		t.Errorf("error recording %+v, %d lines", r.Error, read.Len())
	}
	q.Body = []byte(`{}`)
	if _, ok := read.Play(st, q); ok {
		t.Error("an unknown request must not be answered")
	}
	for _, bad := range []string{`{"v":2}`, `{"v":1,"key":"a"}`, `{"v":1,"key":"a","answers":[{}],"x":1}`, `[]`, `{`} {
		_, err := script.ReadTape("t", strings.NewReader("\n"+bad))
		if err == nil || !strings.HasPrefix(err.Error(), "t:2: ") {
			t.Errorf("%s: got %v, want an error on line 2", bad, err)
		}
	}
}

func TestAimock(t *testing.T) {
	b, err := script.ParseAimock("f.json", []byte(`{"fixtures":[
		{"match":{"userMessage":"flaky","sequenceIndex":0},"response":{"error":{"message":"x"},"status":503}},
		{"match":{"userMessage":"flaky","sequenceIndex":1},"response":{"content":"fine"}},
		{"match":{"userMessage":"weather","hasToolResult":false},
		 "response":{"toolCalls":[{"name":"get_weather","arguments":"{\"city\":\"SF\"}"}]}},
		{"match":{"toolCallId":"call_0"},"response":{"content":"{{sunny}}"}},
		{"match":{"model":"gpt-4o"},"response":{"content":"rest"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	st := script.NewState(1, script.Limits{})
	for _, tc := range []struct {
		q    *script.Request
		want string
	}{
		{user("flaky"), "status 503 "},
		{user("flaky"), "fine"},
		{user("flaky"), "rest"},
		{user("weather"), `get_weather{"city":"SF"}`},
		{agent("x"), "{{sunny}}"},
	} {
		if got := say(t, b, st, tc.q); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	bad := `{"fixtures":[{"match":{"predicate":"x"},"response":{"content":"a"}}]}`
	if _, err := script.ParseAimock("f.json", []byte(bad)); err == nil {
		t.Error("a key without counterpart must be refused")
	}
}
