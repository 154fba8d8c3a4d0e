package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// TestNamesMatchExactly: a name that differs in case is an unknown member like any other, on every level.
func TestNamesMatchExactly(t *testing.T) {
	user := func(member string) string { return withMessages(`[{"role":"user","content":"x",` + member + `}]`) }
	for _, row := range []struct {
		why, body, path string
		// normal is the parameter that the normal policy refuses, empty for none.
		normal string
	}{
		{"a limit, twice", withField(`"max_tokens":3,"MAX_TOKENS":0`), "MAX_TOKENS", ""},
		{"a required member", `{"Model":"m","messages":[]}`, "Model", "model"},
		{"an escape hides no case", `{"model":"m","\u004dessages":[]}`, "Messages", "messages"},
		{"the Kelvin sign folds to k", withField(`"top_\u212a":-7`), "top_\u212a", ""},
		{"content of a message", withMessages(`[{"role":"user","Content":"x"}]`), "messages[0].Content", "messages[0].content"},
		{"a call in a message", user(`"Tool_Calls":[{}]`), "messages[0].Tool_Calls", ""},
		{"a part", withMessages(`[{"role":"user","content":[{"type":"text","Text":"x"}]}]`), "messages[0].content[0].Text", "messages[0].content[0].text"},
		{"a wish", withField(`"x_sim":{"Output_Tokens":0}`), "x_sim.Output_Tokens", ""},
		{"a tool", withField(`"tools":[{"type":"function","function":{"NAME":"f"}}]`), "tools[0].function.NAME", "tools[0].function.name"},
		{"a format", withField(`"response_format":{"Type":"text"}`), "response_format.Type", "response_format.type"},
		{"stream options", withField(`"stream":true,"stream_options":{"Include_Usage":5}`), "stream_options.Include_Usage", ""},
		{"a sound", withField(`"modalities":["text","audio"],"audio":{"voice":"a","FORMAT":"wav"}`), "audio.FORMAT", "audio.format"},
		{"a prediction", withField(`"prediction":{"content":[{"type":"text","text":"x","a":1}]}`), "prediction.content[0].a", ""},
		{"an extension", withField(`"nvext":{"DP_RANK":7}`), "nvext.DP_RANK", ""},
		{"unknown in a message", user(`"zzz":1`), "messages[0].zzz", ""},
		{"unknown in a list of a list", user(`"tool_calls":[],"name":"n","a":[{"model":1}]`), "messages[0].a", ""},
		{"unknown in a choice", withField(`"tool_choice":{"type":"function","function":{"name":"f","x":1}}`), "tool_choice.function.x", "tool_choice"},
		{"the first of two", withField(`"b":{"c":1},"a":2`), "b", ""},
		{"free places", withField(`"metadata":{"Model":"x"},"logit_bias":{"1":1},"documents":[{"Model":1}],"nvext":{"agent_hints":{"X":1}}`), "", ""},
		{
			"a schema is free",
			withField(`"tools":[{"type":"function","function":{"name":"f","parameters":{"Type":"object","NAME":{}}}}]`), "", "",
		},
	} {
		for policy, want := range map[Policy]string{PolicyNormal: row.normal, PolicyStrict: row.path} {
			_, err := checker{dialect: DialectOpenAI, policy: policy}.chat([]byte(row.body), http.Header{}, 64)
			got := ""
			if api, ok := errors.AsType[*APIError](err); ok {
				got = api.Param
			}
			if got != want {
				t.Errorf("%s, %s: refused for %q (%v), want %q", row.why, policy, got, err, want)
			}
		}
	}
}

// TestNamesOfOtherBodies: completions and updates are judged by the same walk.
func TestNamesOfOtherBodies(t *testing.T) {
	c := checker{dialect: DialectOpenAI, policy: PolicyNormal}
	req, err := c.completion([]byte(textWith(`"max_tokens":3,"Max_Tokens":9,"X_SIM":{"output_tokens":5}`)), http.Header{}, 64)
	if err != nil || *req.MaxTokens != 3 || req.Wishes.OutputTokens != 0 {
		t.Errorf("%+v, %v", req, err)
	}
	var b updateBody
	if err := c.decode([]byte(`{"metadata":{"A":"1","a":"2"},"Metadata":{"x":"y"}}`), &b, updateShape(), 64); err != nil || len(b.Metadata) != 2 {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestExactNamesAllocates once for a body of known names, for the path, and leaves the body where it is.
func TestExactNamesAllocates(t *testing.T) {
	body := []byte(fullRequest)
	s := chatShape()
	if n := testing.AllocsPerRun(100, func() { exactNames(body, s) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
	if out, unknown, found := exactNames(body, s); &out[0] != &body[0] || found {
		t.Errorf("touched, unknown %q", unknown)
	}
}

// FuzzExactNames: valid stays valid, lengths stay, nothing but hidden names changes, and the verdict is that of a naive
// twin over the tokens of encoding/json.
func FuzzExactNames(f *testing.F) {
	for _, s := range []string{
		fullRequest, withField(`"MAX_TOKENS":3`), `{"a\"b\\":[1,{"Model":"\\"}],"Messages":[{"Role":1}]}`, `{"messages":[[{"x":1}],{"y":[]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		out, unknown, found := exactNames(body, chatShape())
		if !bytes.Equal(before, body) || len(out) != len(body) {
			t.Fatalf("body %q became %q", before, out)
		}
		if !json.Valid(body) {
			return
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		if want := strange(t, d, chatShape()); found != want {
			t.Errorf("unknown member: %v (%q), want %v", found, unknown, want)
		}
		if !json.Valid(out) {
			t.Errorf("%q became %q", body, out)
		}
		d = json.NewDecoder(bytes.NewReader(out))
		d.UseNumber()
		if alike(t, d, chatShape()) {
			t.Errorf("a name is still taken for another: %q", out)
		}
	})
}

// strange says whether any member of the next value is unknown.
func strange(t *testing.T, d *json.Decoder, s *shape) bool {
	return names(t, d, s, func(s *shape, name string) bool { _, ok := s.members[name]; return !ok })
}

// alike says whether any member of the next value is known but for its case.
func alike(t *testing.T, d *json.Decoder, s *shape) bool {
	return names(t, d, s, func(s *shape, name string) bool {
		_, ok := s.members[name]
		return !ok && s.looksLike(name)
	})
}

// names asks about every name of the next value whose place has a shape.
func names(t *testing.T, d *json.Decoder, s *shape, is func(*shape, string) bool) (found bool) {
	t.Helper()
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch token {
	case json.Delim('['):
		for d.More() {
			// What is decoded is a list of objects; a list of lists is refused or free.
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			if kindOf(raw) == "an object" {
				inner := json.NewDecoder(bytes.NewReader(raw))
				inner.UseNumber()
				found = names(t, inner, s, is) || found
			}
		}
	case json.Delim('{'):
		for d.More() {
			name, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			var child *shape
			if s != nil {
				text, _ := name.(string)
				child = s.members[text]
				found = is(s, text) || found
			}
			found = names(t, d, child, is) || found
		}
	default:
		return false
	}
	if token == json.Delim('[') || token == json.Delim('{') {
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// BenchmarkExactNames is what the look costs beside decoding: a long prompt and many short members.
func BenchmarkExactNames(b *testing.B) {
	for name, body := range map[string]string{
		"hello": hello, "members": fullRequest, "prompt": withMessages(`[{"role":"user","content":"` + strings.Repeat("word ", 8<<10) + `"}]`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				exactNames([]byte(body), chatShape())
			}
		})
		b.Run(name+"/decode", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				var v chatBody
				if err := decodeBody([]byte(body), &v, 64); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
