package openai

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzChatRequest: any body gives a checked request or an APIError with a 4xx, in every policy, and never a panic.
func FuzzChatRequest(f *testing.F) {
	f.Add([]byte(hello))
	for _, rows := range [][]badRow{bodyRows(), chatRows(), rangeRows(), toolRows(), speechRows()} {
		for _, row := range rows {
			if len(row.body) < 1<<10 {
				f.Add([]byte(row.body))
			}
		}
	}
	f.Add([]byte(fullRequest))
	for _, c := range []string{`{"regex":"a)(b"}`, `{"choice":["a",null]}`, `{"json":"{"}`, `{"json_object":1}`, `{"grammar":""}`, `[]`} {
		f.Add([]byte(withField(`"structured_outputs":` + c + `,"request_id":"i"`)))
	}
	for _, sim := range []string{`{"output_tokens":9007199254740993}`, `{"reply":"a","refusal":"b"}`, `[]`, `{"mood":1}`, `null`} {
		f.Add([]byte(hello[:len(hello)-1] + `,"x_sim":` + sim + `,"stream_interval":0}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range []Policy{PolicyNormal, PolicyStrict, PolicyLenient} {
			c := checker{dialect: DialectOpenAI, policy: p}
			req, err := c.chat(body, http.Header{}, 64)
			mustJudge(t, req == nil, err)
			if err == nil {
				_ = chatTemplate(req)
			}
			text, err := c.completion(body, http.Header{}, 64)
			mustJudge(t, text == nil, err)
		}
		for _, d := range Dialects() {
			req, err := checker{dialect: d, policy: PolicyStrict}.chat(body, http.Header{}, 64)
			mustJudge(t, req == nil, err)
		}
	})
}

func mustJudge(t *testing.T, isNil bool, err error) {
	t.Helper()
	api, ok := errors.AsType[*APIError](err)
	if err != nil && (!ok || api.Status < 400 || api.Status > 499 || api.Message == "") {
		t.Errorf("error %v", err)
	}
	if isNil != (err != nil) {
		t.Errorf("request nil: %v, error %v", isNil, err)
	}
}

// fullRequest uses every member that the route knows.
const fullRequest = `{"model":"gpt-4o","messages":[{"role":"developer","content":"d","name":"n"},
{"role":"system","content":[{"type":"text","text":"s"}]},
{"role":"user","content":[{"type":"text","text":"u"},{"type":"image_url","image_url":{"url":"http://i","detail":"low"}},
{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},{"type":"file","file":{"filename":"f","file_data":"AAAA"}}]},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"c1","content":"r"},{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}],
"temperature":0,"top_p":0,"n":2,"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false},
"stop":"END","max_tokens":5,"max_completion_tokens":6,"presence_penalty":-2,"frequency_penalty":2,"seed":-1,
"logit_bias":{"1":-100},"logprobs":true,"top_logprobs":0,"user":"u","metadata":{"a":"b"},"store":true,
"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}},
{"type":"custom","custom":{"name":"g"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required",
"tools":[{"type":"function","function":{"name":"f"}}]}},"parallel_tool_calls":false,
"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"},"strict":true}},
"reasoning_effort":"low","verbosity":"high","service_tier":"fast","modalities":["text"],"prompt_cache_key":"k",
"prediction":{"type":"content","content":[{"type":"text","text":"p"}]},"safety_identifier":"i","ignore_eos":true,
"min_tokens":1,"top_k":5,"priority":3,"nvext":{"ignore_eos":false,"dp_rank":0}}`

func TestFullRequest(t *testing.T) {
	c := checker{dialect: DialectOpenAI, policy: PolicyStrict, ranks: 1}
	got, err := c.chat([]byte(fullRequest), http.Header{}, 64)
	if err != nil {
		t.Fatal(err)
	}
	limit, seed := 6, int64(-1)
	want := Sampling{
		N: 2, BestOf: 2, MaxTokens: &limit, MinTokens: 1, IgnoreEOS: true, Stop: []string{"END"}, Seed: &seed,
		Logprobs: true, Stream: true, IncludeUsage: true, User: "u", SessionKey: "k", Priority: 3,
	}
	if d := cmp.Diff(want, got.Sampling); d != "" {
		t.Error(d)
	}
	if got.ToolChoice.Mode != "required" || got.ToolChoice.Allowed[0] != "f" || got.ParallelTools || len(got.Tools) != 2 ||
		got.Format.Kind != "json_schema" || got.Prediction != "p" || got.Effort != "low" || !got.Store {
		t.Errorf("%+v", got)
	}
	if len(got.Messages) != 6 || got.Messages[3].Calls[0].Name != "f" || got.Messages[4].CallID != "c1" {
		t.Errorf("%+v", got.Messages)
	}
}

// TestPolicies: the same oddities, three verdicts.
func TestPolicies(t *testing.T) {
	for _, row := range []struct {
		why, body               string
		normal, strict, lenient string
	}{
		{"unknown field", withField(`"foo":1`), "", "foo", ""},
		{"field of an engine", withField(`"ignore_eos":true,"guided_choice":5`), "", "guided_choice", ""},
		{"max_tokens of a reasoning model", `{"model":"o3-mini","max_tokens":5,"messages":[{"role":"user","content":"x"}]}`, "", "max_tokens", ""},
		{"max_tokens 0", withField(`"max_tokens":0`), "max_tokens", "max_tokens", ""},
		{"stream_options without stream", withField(`"stream_options":{}`), "stream_options", "stream_options", ""},
		{"logit_bias for a word", withField(`"logit_bias":{"foo":0}`), "logit_bias", "logit_bias", ""},
		{"JSON mode without the word", withField(`"response_format":{"type":"json_object"}`), "", "messages", ""},
		{"answer to no call", withMessages(`[{"role":"tool","tool_call_id":"x","content":"y"}]`), "", "messages[0].tool_call_id", ""},
	} {
		for policy, param := range map[Policy]string{PolicyNormal: row.normal, PolicyStrict: row.strict, PolicyLenient: row.lenient} {
			_, err := checker{dialect: DialectOpenAI, policy: policy}.chat([]byte(row.body), http.Header{}, 64)
			got := ""
			if api, ok := errors.AsType[*APIError](err); ok {
				got = api.Param
			}
			if got != param {
				t.Errorf("%s, %s: refused for %q (%v), want %q", row.why, policy, got, err, param)
			}
		}
	}
}

func TestErrorDialects(t *testing.T) {
	e := badRequest("n", codeValue, "too many")
	for d, want := range map[Dialect]string{
		DialectOpenAI: `{"error":{"message":"too many","type":"invalid_request_error","param":"n","code":"invalid_value"}}`,
		DialectVLLM:   `{"error":{"message":"too many","type":"BadRequestError","param":"n","code":400}}`,
		DialectDynamo: `{"error":{"message":"too many","type":"BadRequestError","param":"n","code":400}}`,
		DialectSGLang: `{"object":"error","message":"too many","type":"BadRequestError","param":"n","code":400}`,
		DialectTRTLLM: `{"object":"error","message":"too many","type":"BadRequestError","param":"n","code":400}`,
	} {
		if got := string(e.body(d)); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}

func TestOptionsValidate(t *testing.T) {
	bad := Options{
		Dialect: "x", Policy: "x", ToolStyle: "x", ServedModels: []string{""}, APIKeys: []string{""}, MaxBodyBytes: -1,
		MaxHeaderBytes: -1, MaxDepth: -1, BodyTimeout: -1, WriteTimeout: -1, Writers: -1,
	}
	errs := bad.Validate()
	for _, field := range []string{
		"dialect", "policy", "tool_style", "served_model_name[0]", "api_key[0]", "max_body_bytes",
		"max_header_bytes", "max_depth", "body_timeout", "write_timeout", "writers",
	} {
		if !strings.Contains(errors.Join(errs...).Error(), field+": ") {
			t.Errorf("no error names %s", field)
		}
	}
	if errs := (Options{}).Validate(); len(errs) != 0 {
		t.Errorf("zero options: %v", errs)
	}
}
