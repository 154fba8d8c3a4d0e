package openai

import (
	"encoding/base64"
	"errors"
	"net/http"
	"testing"

	"pgregory.net/rapid"
)

// TestMedia: what cannot be an image or a sound is refused, but by the lenient policy.
func TestMedia(t *testing.T) {
	image := func(url string) string { return `{"type":"image_url","image_url":{"url":"` + url + `"}}` }
	sound := func(data string) string {
		return `{"type":"input_audio","input_audio":{"data":"` + data + `","format":"wav"}}`
	}
	const badURL, badData = ".image_url.url", ".input_audio.data"
	for _, row := range []struct {
		why, part string
		dialect   Dialect
		refused   string
	}{
		{"no scheme", image("x"), DialectOpenAI, badURL},
		{"no host", image("https://"), DialectOpenAI, badURL},
		{"no slashes", image("http:x"), DialectOpenAI, badURL},
		{"another scheme", image("ftp://x/y.png"), DialectOpenAI, badURL},
		{"the disk of OpenAI", image("file:///x"), DialectOpenAI, badURL},
		{"the disk of an engine", image("file:///x"), DialectVLLM, ""},
		{"in the request", image("data:image/png;base64,AAAA"), DialectOpenAI, ""},
		{"a data URL without data", image("data:image/png"), DialectOpenAI, badURL},
		{"in the web", image("https://x.test/a.png"), DialectOpenAI, ""},
		{"schemes have no case", image("HTTP://x"), DialectOpenAI, ""},
		{"no base64", sound("!!!"), DialectOpenAI, badData},
		{"base64 cut off", sound("AAAAA"), DialectVLLM, badData},
		{"base64 for URLs", sound("AA_-"), DialectOpenAI, badData},
		{"padded, in lines", sound(`AAAA\nAA==`), DialectOpenAI, ""},
	} {
		want := row.refused
		if want != "" {
			want = "messages[0].content[0]" + want
		}
		for policy, want := range map[Policy]string{PolicyNormal: want, PolicyStrict: want, PolicyLenient: ""} {
			body := withMessages(`[{"role":"user","content":[` + row.part + `]}]`)
			_, err := checker{dialect: row.dialect, policy: policy}.chat([]byte(body), http.Header{}, 64)
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

// TestIsBase64 against the decoder of the standard library.
func TestIsBase64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[A-Da-d+/]{0,9}[=\n!]{0,3}[A=]?`).Draw(t, "s")
		if _, err := base64.StdEncoding.DecodeString(s); isBase64(s) != (err == nil) {
			t.Errorf("%q: %v, but %v", s, isBase64(s), err)
		}
	})
}
