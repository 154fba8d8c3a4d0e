package openai

import (
	"errors"
	"net/http"
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
