package openai

import (
	"errors"
	"net/http"
	"slices"
	"testing"
)

// refusedFor is the parameter that a checker refuses a chat request, or a completion, for.
func refusedFor(c checker, route, body string) (string, error) {
	var err error
	if route == chatPath {
		_, err = c.chat([]byte(body), http.Header{}, 64)
	} else {
		_, err = c.completion([]byte(body), http.Header{}, 64)
	}
	if api, ok := errors.AsType[*APIError](err); ok {
		return api.Param, err
	}
	return "", err
}

// TestStrictTakesBack: an assistant message may come back as it was answered, or as an SDK parsed it.
func TestStrictTakesBack(t *testing.T) {
	back := func(message string) string {
		return withMessages(`[{"role":"user","content":"x"},` + message + `,{"role":"user","content":"y"}]`)
	}
	for _, row := range []struct{ why, body, param string }{
		{"Python's parsed answer, dumped", back(`{"content":"{\"a\":1}","refusal":null,"role":"assistant","annotations":[],"audio":null,` +
			`"function_call":null,"tool_calls":null,"parsed":{"a":1,"Role":2}}`), ""},
		{"parsed calls, as a stream put them together", back(`{"role":"assistant","content":null,"parsed":null,"tool_calls":[{"id":"c","index":0,` +
			`"type":"function","function":{"name":"f","arguments":"{\"a\":1}","parsed_arguments":{"a":1}}}]}`), ""},
		{"a custom call", back(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","index":0,"type":"custom","custom":{"name":"f","input":"i"}}]}`), ""},
		{"a deprecated call", back(`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}","parsed_arguments":null}}`), ""},
		{"a spoken answer", back(`{"role":"assistant","content":null,"audio":{"id":"a","data":"AAAA","expires_at":5,"transcript":"t"}}`), ""},
		{"annotated text", back(`{"role":"assistant","content":"c","annotations":[{"type":"url_citation","url_citation":{"url":"u"}}]}`), ""},
		{"thinking, by either name", back(`{"role":"assistant","content":"c","reasoning":"r","reasoning_content":"r"}`), ""},
		{"a search", withField(`"web_search_options":{"search_context_size":"low","user_location":{"type":"approximate",` +
			`"approximate":{"city":"c","country":"DE","region":"r","timezone":"t"}}}`), ""},
		{"nobody's member of a call", back(`{"role":"assistant","tool_calls":[{"id":"c","type":"function","indexes":1,"function":{"name":"f"}}]}`), "messages[1].tool_calls[0].indexes"},
		{"nobody's member of a sound", back(`{"role":"assistant","audio":{"id":"a","format":"wav"}}`), "messages[1].audio.format"},
		{"a voice is no answer", withField(`"modalities":["text","audio"],"audio":{"voice":{"id":"v","data":"x"},"format":"wav"}`), "audio.voice.data"},
		{"nobody's member of a search", withField(`"web_search_options":{"zzz":1}`), "web_search_options.zzz"},
		{"nor of where", withField(`"web_search_options":{"user_location":{"approximate":{"planet":"x"}}}`), "web_search_options.user_location.approximate.planet"},
	} {
		got, err := refusedFor(checker{dialect: DialectOpenAI, policy: PolicyStrict, ranks: 1}, chatPath, row.body)
		if got != row.param || err != nil && row.param == "" {
			t.Errorf("%s: refused for %q (%v), want %q", row.why, got, err, row.param)
		}
	}
}

// TestStrictKnowsDialects: each dialect's own members are known to it, and to no other.
func TestStrictKnowsDialects(t *testing.T) {
	type place struct {
		d     Dialect
		route string
	}
	both := func(ds ...Dialect) (out []place) {
		for _, d := range ds {
			out = append(out, place{d, chatPath}, place{d, textPath})
		}
		return out
	}
	in := map[string][]place{}
	for _, row := range []struct {
		places  []place
		members []string
	}{
		{both(DialectVLLM), []string{
			`"truncation_side":"left"`, `"prompt_logprobs":1`, `"logprob_token_ids":[1]`, `"repetition_detection":{"a":1}`,
			`"ec_transfer_params":{}`, `"return_tokens_as_token_ids":true`, `"return_prompt_text":true`,
		}},
		{[]place{{DialectVLLM, chatPath}}, []string{`"mm_processor_kwargs":{"X":1}`, `"media_io_kwargs":{}`}},
		{[]place{{DialectVLLM, chatPath}, {DialectOpenAI, textPath}, {DialectVLLM, textPath}, {DialectSGLang, textPath}, {DialectTRTLLM, textPath}, {DialectDynamo, textPath}}, []string{
			`"echo":true`,
		}},
		{both(DialectVLLM, DialectDynamo), []string{
			`"structured_outputs":{"choice":["a"],"disable_any_whitespace":true}`, `"guided_choice":["a"]`, `"guided_regex":"a"`,
		}},
		{both(DialectVLLM, DialectDynamo, DialectTRTLLM), []string{`"guided_json":{"Type":"object"}`}},
		{both(DialectSGLang), []string{
			`"stop_regex":"a"`, `"no_stop_trim":true`, `"regex":"a"`, `"json_schema":"{}"`, `"lora_path":"p"`, `"session_params":{}`,
			`"extra_key":"k"`, `"bootstrap_host":"h"`, `"bootstrap_port":1`, `"bootstrap_room":1`, `"return_hidden_states":true`,
			`"continuous_usage_stats":true`,
		}},
		{[]place{{DialectSGLang, chatPath}}, []string{`"separate_reasoning":true`, `"stream_reasoning":true`}},
		{both(DialectTRTLLM), []string{`"early_stopping":true`, `"lora_request":{}`, `"disaggregated_params":{}`}},
		{[]place{{DialectTRTLLM, chatPath}, {DialectOpenAI, textPath}, {DialectVLLM, textPath}, {DialectSGLang, textPath}, {DialectTRTLLM, textPath}, {DialectDynamo, textPath}}, []string{
			`"best_of":1`,
		}},
		{append(both(DialectVLLM, DialectSGLang, DialectTRTLLM, DialectDynamo), place{DialectOpenAI, chatPath}), []string{
			`"response_format":{"type":"text"}`,
		}},
		{both(Dialects()...), []string{`"ignore_eos":true`, `"nvext":{}`}},
	} {
		for _, m := range row.members {
			in[m] = row.places
		}
	}
	for member, places := range in {
		for _, d := range Dialects() {
			for _, route := range []string{chatPath, textPath} {
				body := withField(member)
				if route == textPath {
					body = textWith(member)
				}
				got, err := refusedFor(checker{dialect: d, policy: PolicyStrict, ranks: 1}, route, body)
				if known := slices.Contains(places, place{d, route}); (err == nil) != known {
					t.Errorf("%s, %s: %s: refused for %q (%v)", d, route, member, got, err)
				}
				if _, err := refusedFor(checker{dialect: d, policy: PolicyNormal, ranks: 1}, route, body); err != nil {
					t.Errorf("%s, %s: %s: %v", d, route, member, err)
				}
			}
		}
	}
	for body, want := range map[string]string{
		withField(`"structured_outputs":{"chioce":["a"]}`): "structured_outputs.chioce",
		withField(`"Guided_Choice":["a"]`):                 "Guided_Choice",
	} {
		if got, err := refusedFor(checker{dialect: DialectVLLM, policy: PolicyStrict, ranks: 1}, chatPath, body); got != want {
			t.Errorf("refused for %q (%v), want %q", got, err, want)
		}
	}
}
