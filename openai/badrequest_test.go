package openai

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// badRow is a request that must be refused; why says what it would break if it were not.
type badRow struct {
	why, path, body string
	status          int
	param, code     string
}

const (
	chatPath = "/v1/chat/completions"
	textPath = "/v1/completions"
)

// withField is a chat request with one more member.
func withField(member string) string { return strings.TrimSuffix(hello, "}") + "," + member + "}" }

// withMessages is a chat request with the given messages.
func withMessages(list string) string { return `{"model":"m","messages":` + list + `}` }

func textWith(member string) string { return `{"model":"m","prompt":"p",` + member + `}` }

func bodyRows() []badRow {
	return []badRow{
		{"an empty body is not an object", chatPath, "", 400, "", ""},
		{"blank is empty", chatPath, " \n\t", 400, "", ""},
		{"null is not an object", chatPath, "null", 400, "", ""},
		{"an array is not an object", chatPath, "[]", 400, "", ""},
		{"a string is not an object", chatPath, `"x"`, 400, "", ""},
		{"a number is not an object", chatPath, "1", 400, "", ""},
		{"cut off", chatPath, `{"model":"m"`, 400, "", ""},
		{"trailing garbage", chatPath, hello + "x", 400, "", ""},
		{"two objects", chatPath, hello + hello, 400, "", ""},
		{"single quotes", chatPath, `{'model':'m'}`, 400, "", ""},
		{"trailing comma", chatPath, `{"model":"m",}`, 400, "", ""},
		{"NaN is not JSON", chatPath, withField(`"temperature":NaN`), 400, "", ""},
		{"a control character in a string", chatPath, "{\"model\":\"a\nb\"}", 400, "", ""},
		{"a bad escape", chatPath, `{"model":"\x41"}`, 400, "", ""},
		{"a byte order mark", chatPath, "\ufeff" + hello, 400, "", ""},
		{
			"nesting deeper than the bound", chatPath,
			withField(`"tools":` + strings.Repeat("[", 500) + strings.Repeat("]", 500)),
			400, "", "",
		},
		{"open brackets only", chatPath, strings.Repeat(`{"a":`, 100000), 400, "", ""},
	}
}

func chatRows() []badRow {
	return []badRow{
		{"no model", chatPath, `{"messages":[]}`, 400, "model", codeMissing},
		{"empty model", chatPath, `{"model":"","messages":[]}`, 400, "model", codeValue},
		{"model of wrong type", chatPath, `{"model":7,"messages":[]}`, 400, "model", codeType},
		{"model null", chatPath, `{"model":null}`, 400, "model", codeMissing},
		{"no messages", chatPath, `{"model":"m"}`, 400, "messages", codeMissing},
		{"empty messages", chatPath, withMessages(`[]`), 400, "messages", "empty_array"},
		{"messages is a string", chatPath, withMessages(`"hi"`), 400, "messages", codeType},
		{"a message is a string", chatPath, withMessages(`["hi"]`), 400, "messages[0]", codeType},
		{"a message is null", chatPath, withMessages(`[null]`), 400, "messages[0]", codeType},
		{"no role", chatPath, withMessages(`[{"content":"x"}]`), 400, "messages[0].role", codeMissing},
		{"unknown role", chatPath, withMessages(`[{"role":"robot","content":"x"}]`), 400, "messages[0].role", codeValue},
		{"role of wrong type", chatPath, withMessages(`[{"role":1,"content":"x"}]`), 400, "messages[0].role", codeType},
		{"user without content", chatPath, withMessages(`[{"role":"user"}]`), 400, "messages[0].content", codeMissing},
		{
			"user content null", chatPath,
			withMessages(`[{"role":"user","content":null}]`),
			400, "messages[0].content", codeMissing,
		},
		{
			"content is a number", chatPath,
			withMessages(`[{"role":"user","content":5}]`),
			400, "messages[0].content", codeType,
		},
		{
			"content is an object", chatPath,
			withMessages(`[{"role":"user","content":{}}]`),
			400, "messages[0].content", codeType,
		},
		{"no parts", chatPath, withMessages(`[{"role":"user","content":[]}]`), 400, "messages[0].content", "empty_array"},
		{
			"part without type", chatPath,
			withMessages(`[{"role":"user","content":[{"text":"x"}]}]`),
			400, "messages[0].content[0].type", codeMissing,
		},
		{
			"unknown part", chatPath,
			withMessages(`[{"role":"user","content":[{"type":"smell"}]}]`),
			400, "messages[0].content[0].type", codeValue,
		},
		{
			"text part without text", chatPath,
			withMessages(`[{"role":"user","content":[{"type":"text"}]}]`),
			400, "messages[0].content[0].text", codeMissing,
		},
		{
			"image without url", chatPath,
			withMessages(`[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]`),
			400, "messages[0].content[0].image_url.url", codeMissing,
		},
		{
			"image with unknown detail", chatPath,
			withMessages(`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://u","detail":"huge"}}]}]`),
			400, "messages[0].content[0].image_url.detail", codeValue,
		},
		{
			"image from the system", chatPath,
			withMessages(`[{"role":"system","content":[{"type":"image_url","image_url":{"url":"u"}}]}]`),
			400, "messages[0].content[0].type", codeValue,
		},
		{
			"audio of unknown format", chatPath,
			withMessages(`[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"","format":"ogg"}}]}]`),
			400, "messages[0].content[0].input_audio.data", codeValue,
		},
		{
			"tool answer without call id", chatPath,
			withMessages(`[{"role":"tool","content":"x"}]`),
			400, "messages[0].tool_call_id", codeMissing,
		},
		{
			"calls of a user", chatPath,
			withMessages(`[{"role":"user","content":"x","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}]`),
			400, "messages[0].tool_calls", codeValue,
		},
		{
			"call without id", chatPath,
			withMessages(`[{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f"}}]}]`),
			400, "messages[0].tool_calls[0].id", codeMissing,
		},
		{
			"second message bad", chatPath,
			withMessages(`[{"role":"user","content":"x"},{"role":"x"}]`),
			400, "messages[1].role", codeValue,
		},
		{"stream is a string", chatPath, withField(`"stream":"yes"`), 400, "stream", codeType},
		{
			"stream_options without stream", chatPath,
			withField(`"stream_options":{"include_usage":true}`),
			400, "stream_options", codeValue,
		},
		{
			"include_usage of wrong type", chatPath,
			withField(`"stream":true,"stream_options":{"include_usage":1}`),
			400, "stream_options.include_usage", codeType,
		},
	}
}

func rangeRows() []badRow {
	return []badRow{
		{"temperature too high", chatPath, withField(`"temperature":2.1`), 400, "temperature", codeValue},
		{"temperature negative", chatPath, withField(`"temperature":-0.1`), 400, "temperature", codeValue},
		{"temperature a string", chatPath, withField(`"temperature":"hot"`), 400, "temperature", codeType},
		{"temperature beyond floats", chatPath, withField(`"temperature":1e999`), 400, "temperature", codeType},
		{"top_p above one", chatPath, withField(`"top_p":1.5`), 400, "top_p", codeValue},
		{"n zero", chatPath, withField(`"n":0`), 400, "n", codeValue},
		{"n too many", chatPath, withField(`"n":129`), 400, "n", codeValue},
		{"n huge", chatPath, withField(`"n":1000000000000000000`), 400, "n", codeValue},
		{"n fractional", chatPath, withField(`"n":1.5`), 400, "n", codeType},
		{"presence_penalty", chatPath, withField(`"presence_penalty":3`), 400, "presence_penalty", codeValue},
		{"frequency_penalty", chatPath, withField(`"frequency_penalty":-3`), 400, "frequency_penalty", codeValue},
		{"max_tokens zero", chatPath, withField(`"max_tokens":0`), 400, "max_tokens", codeValue},
		{"max_tokens negative", chatPath, withField(`"max_tokens":-5`), 400, "max_tokens", codeValue},
		{"max_tokens a string", chatPath, withField(`"max_tokens":"5"`), 400, "max_tokens", codeType},
		{
			"max_tokens 10^18 is beyond the context", chatPath,
			withField(`"max_tokens":1000000000000000000`),
			400, "messages", codeContext,
		},
		{"max_tokens beyond int64", chatPath, withField(`"max_tokens":100000000000000000000`), 400, "max_tokens", codeType},
		{
			"max_completion_tokens zero", chatPath,
			withField(`"max_completion_tokens":0`),
			400, "max_completion_tokens", codeValue,
		},
		{
			"max_completion_tokens just beyond the context", chatPath,
			withField(`"max_completion_tokens":996`),
			400, "messages", codeContext,
		},
		{"min above max", chatPath, withField(`"max_tokens":5,"min_tokens":6`), 400, "min_tokens", codeValue},
		{"min_tokens negative", chatPath, withField(`"min_tokens":-1`), 400, "min_tokens", codeValue},
		{"top_logprobs too many", chatPath, withField(`"logprobs":true,"top_logprobs":21`), 400, "top_logprobs", codeValue},
		{"top_logprobs without logprobs", chatPath, withField(`"top_logprobs":2`), 400, "top_logprobs", codeValue},
		{"logprobs a number", chatPath, withField(`"logprobs":2`), 400, "logprobs", codeType},
		{"stop a number", chatPath, withField(`"stop":1`), 400, "stop", codeType},
		{"stop with a number", chatPath, withField(`"stop":["a",1]`), 400, "stop", codeType},
		{"five stops", chatPath, withField(`"stop":["a","b","c","d","e"]`), 400, "stop", "array_above_max_length"},
		{"logit_bias value", chatPath, withField(`"logit_bias":{"50256":101}`), 400, "logit_bias", codeValue},
		{"logit_bias key", chatPath, withField(`"logit_bias":{"dog":1}`), 400, "logit_bias", codeValue},
		{"logit_bias a list", chatPath, withField(`"logit_bias":[1]`), 400, "logit_bias", codeType},
		{"metadata value of wrong type", chatPath, withField(`"metadata":{"a":1}`), 400, "metadata", codeType},
		{"seed a string", chatPath, withField(`"seed":"x"`), 400, "seed", codeType},
		{"reasoning_effort", chatPath, withField(`"reasoning_effort":"heroic"`), 400, "reasoning_effort", codeValue},
		{"service_tier", chatPath, withField(`"service_tier":"gold"`), 400, "service_tier", codeValue},
		{"verbosity", chatPath, withField(`"verbosity":"epic"`), 400, "verbosity", codeValue},
		{"modality", chatPath, withField(`"modalities":["smell"]`), 400, "modalities[0]", codeValue},
		{"rank out of range", chatPath, withField(`"routed_dp_rank":5`), 400, "routed_dp_rank", codeValue},
	}
}

func toolRows() []badRow {
	return []badRow{
		{"tools an object", chatPath, withField(`"tools":{}`), 400, "tools", codeType},
		{"tool without type", chatPath, withField(`"tools":[{}]`), 400, "tools[0].type", codeMissing},
		{"tool of unknown type", chatPath, withField(`"tools":[{"type":"hammer"}]`), 400, "tools[0].type", codeValue},
		{
			"tool without function", chatPath,
			withField(`"tools":[{"type":"function"}]`),
			400, "tools[0].function", codeMissing,
		},
		{
			"function without name", chatPath,
			withField(`"tools":[{"type":"function","function":{}}]`),
			400, "tools[0].function.name", codeMissing,
		},
		{
			"function with a bad name", chatPath,
			withField(`"tools":[{"type":"function","function":{"name":"a b"}}]`),
			400, "tools[0].function.name", codeValue,
		},
		{
			"parameters a list", chatPath,
			withField(`"tools":[{"type":"function","function":{"name":"f","parameters":[]}}]`),
			400, "tools[0].function.parameters", codeType,
		},
		{"choice without tools", chatPath, withField(`"tool_choice":"required"`), 400, "tool_choice", codeValue},
		{
			"unknown choice", chatPath,
			withField(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"maybe"`),
			400, "tool_choice", codeValue,
		},
		{
			"choice of a tool not offered", chatPath,
			withField(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}`),
			400, "tool_choice", codeValue,
		},
		{
			"choice a number", chatPath,
			withField(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":1`),
			400, "tool_choice", codeType,
		},
		{"format without type", chatPath, withField(`"response_format":{}`), 400, "response_format.type", codeMissing},
		{"format a string", chatPath, withField(`"response_format":"json"`), 400, "response_format", codeType},
		{"unknown format", chatPath, withField(`"response_format":{"type":"xml"}`), 400, "response_format.type", codeValue},
		{
			"schema missing", chatPath,
			withField(`"response_format":{"type":"json_schema"}`),
			400, "response_format.json_schema", codeMissing,
		},
		{
			"schema without name", chatPath,
			withField(`"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`),
			400, "response_format.json_schema.name", codeMissing,
		},
		{
			"schema a string", chatPath,
			withField(`"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":"s"}}`),
			400, "response_format.json_schema.schema", codeType,
		},
		{"completion without prompt", textPath, `{"model":"m"}`, 400, "prompt", codeMissing},
		{"prompt a number", textPath, `{"model":"m","prompt":1}`, 400, "prompt", codeType},
		{"prompt empty list", textPath, `{"model":"m","prompt":[]}`, 400, "prompt", "empty_array"},
		{"prompt of mixed kinds", textPath, `{"model":"m","prompt":["a",true]}`, 400, "prompt[1]", codeType},
		{"prompt of negative ids", textPath, `{"model":"m","prompt":[-1]}`, 400, "prompt", codeType},
		{"logprobs too many", textPath, textWith(`"logprobs":6`), 400, "logprobs", codeValue},
		{"best_of below n", textPath, textWith(`"n":3,"best_of":2`), 400, "best_of", codeValue},
		{"best_of streamed", textPath, textWith(`"best_of":2,"stream":true`), 400, "best_of", codeValue},
		{"best_of too many", textPath, textWith(`"best_of":21`), 400, "best_of", codeValue},
		{"max_tokens negative", textPath, textWith(`"max_tokens":-1`), 400, "max_tokens", codeValue},
		{"context", textPath, textWith(`"max_tokens":1000`), 400, "prompt", codeContext},
		{"unknown path", "/v1/nothing", "{}", 404, "", "unknown_url"},
		{"an id that was never stored", "/v1/chat/completions/x", `{"metadata":{}}`, 404, "completion_id", "not_found"},
		{"models takes no POST", "/v1/models", "{}", 405, "", "method_not_allowed"},
	}
}

// TestBadRequests sends every malformed request: right status, whole envelope, nothing reaches the engine, server alive.
func TestBadRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{gap: time.Millisecond, limits: Limits{MaxModelLen: 1000}}
		r := newRig(t, Options{}, p, words{tokens: 1})
		for _, rows := range [][]badRow{bodyRows(), chatRows(), rangeRows(), toolRows(), speechRows()} {
			for _, row := range rows {
				resp, body := r.ask(t, row.path, row.body)
				checkEnvelope(t, row, resp, body)
			}
		}
		if len(p.jobs) != 0 {
			t.Errorf("%d bad requests reached the engine", len(p.jobs))
		}
		if resp, body := r.ask(t, chatPath, hello); resp.StatusCode != 200 {
			t.Errorf("afterwards the server answers %d %s", resp.StatusCode, body)
		}
	})
}

func checkEnvelope(t *testing.T, row badRow, resp *http.Response, body string) {
	t.Helper()
	var got struct {
		Error map[string]any `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Errorf("%s: body %q: %v", row.why, body, err)
		return
	}
	for _, key := range []string{"message", "type", "param", "code"} {
		if _, ok := got.Error[key]; !ok {
			t.Errorf("%s: envelope %s lacks %q", row.why, body, key)
		}
	}
	param, _ := got.Error["param"].(string)
	code, _ := got.Error["code"].(string)
	if resp.StatusCode != row.status || param != row.param || code != row.code {
		t.Errorf("%s: %d %s, want status %d, param %q, code %q", row.why, resp.StatusCode, body, row.status, row.param, row.code)
	}
	if msg, _ := got.Error["message"].(string); msg == "" || resp.Header.Get("Content-Type") != "application/json" ||
		resp.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s: message %q, headers %v", row.why, msg, resp.Header)
	}
}

// TestBadTransport covers what is wrong outside the JSON.
func TestBadTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{
			MaxBodyBytes: 1000, MaxHeaderBytes: 2000, ServedModels: []string{"org/m"}, APIKeys: []string{"k1", "k2"},
		}, &pacer{gap: time.Millisecond}, words{tokens: 1})
		auth := []string{"Authorization", "Bearer k2"}
		for _, row := range []struct {
			why    string
			body   string
			header []string
			status int
			code   string
		}{
			{"a form is not JSON", hello, append([]string{"Content-Type", "application/x-www-form-urlencoded"}, auth...), 415, "unsupported_media_type"},
			{"nor is text", hello, append([]string{"Content-Type", "text/plain"}, auth...), 415, "unsupported_media_type"},
			{"nor is nonsense", hello, append([]string{"Content-Type", ";;"}, auth...), 415, "unsupported_media_type"},
			{"latin-1", hello, append([]string{"Content-Type", "application/json; charset=latin1"}, auth...), 415, "unsupported_media_type"},
			{"compressed", hello, append([]string{"Content-Encoding", "gzip"}, auth...), 415, "unsupported_media_type"},
			{"too large", hello + strings.Repeat(" ", 1000), auth, 413, "request_too_large"},
			{"too many headers", hello, append([]string{"X-Long", strings.Repeat("x", 2500)}, auth...), 431, "headers_too_large"},
			{"no key", hello, nil, 401, "invalid_api_key"},
			{"wrong key", hello, []string{"Authorization", "Bearer k3"}, 401, "invalid_api_key"},
			{"wrong scheme", hello, []string{"Authorization", "Basic k1"}, 401, "invalid_api_key"},
			{"wrong api-key", hello, []string{"api-key", "k"}, 401, "invalid_api_key"},
			{"unserved model", hello, auth, 404, "model_not_found"},
			{"rank header out of range", strings.Replace(hello, `"m"`, `"org/m"`, 1), append([]string{"X-data-parallel-rank", "3"}, auth...), 400, codeValue},
			{"rank header not a number", strings.Replace(hello, `"m"`, `"org/m"`, 1), append([]string{"X-data-parallel-rank", "a"}, auth...), 400, codeValue},
		} {
			resp, body := r.ask(t, chatPath, row.body, row.header...)
			var got struct {
				Error struct{ Code string } `json:"error"`
			}
			_ = json.Unmarshal([]byte(body), &got)
			if resp.StatusCode != row.status || got.Error.Code != row.code {
				t.Errorf("%s: %d %s, want %d %s", row.why, resp.StatusCode, body, row.status, row.code)
			}
		}
		for _, header := range [][]string{auth, {"api-key", "k1"}, {"x-api-key", "k1"}, {"authorization", "bearer k1"}} {
			resp, body := r.ask(t, chatPath, strings.Replace(hello, `"m"`, `"org/m"`, 1), header...)
			if resp.StatusCode != 200 {
				t.Errorf("%v: %d %s", header, resp.StatusCode, body)
			}
		}
	})
}
