package openaitest_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fakellm/openai/openaitest"
)

// upstream plays the real endpoint: it asks for a key and answers what no generated text would.
const upstream = `
mappings:
- request: {user: {contains: weather}}
  response: {toolCalls: [{id: call_1, name: get_weather, arguments: {city: Paris}}]}
- request: {user: {contains: never}}
  response: {refusal: I must not.}
- request: {user: {contains: wrong}}
  response: {error: {status: 422, message: no such thing, code: nope}}
- request: {user: {contains: busy}}
  response: {error: {status: 429, message: later}}
- request: {}
  response: {text: "the real answer, of seven tokens"}
`

// TestRecordAndReplay: what an endpoint said is passed through unchanged and said again from the tape, without the
// endpoint, streamed or not.
func TestRecordAndReplay(t *testing.T) {
	tape := filepath.Join(t.TempDir(), "tape.jsonl")
	origin := openaitest.Start(t, openaitest.Script(upstream), openaitest.Set("api_key", "sk-secret"))
	rec := openaitest.Start(t, openaitest.Set("record_from", origin.BaseURL()), openaitest.Set("record_to", tape),
		openaitest.Script(`{mappings: [{request: {user: {contains: mapped}}, response: {text: by a mapping}}]}`))
	const key, secret = "Authorization", "Bearer sk-secret"
	body := func(text, more string) string {
		return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]%s}`, text, more)
	}
	rows := []struct {
		why, path, body, want string
		status                int
	}{
		{"text", "/chat/completions", body("hi", ``), `"content":"the real answer, of seven tokens"`, 200},
		{"text, streamed", "/chat/completions", body("hi there", `,"stream":true`), `"content":" seven"`, 200},
		{"a tool call, streamed", "/chat/completions", body("weather", `,"stream":true`), `"id":"call_1","type":"function"`, 200},
		{"a refusal", "/chat/completions", body("never", ``), `"refusal":"I must not."`, 200},
		{"an error", "/chat/completions", body("wrong", ``), `"code":"nope"`, 422},
		{"a legacy completion", "/completions", `{"model":"m","prompt":"hi"}`, `"text":"the real answer`, 200},
	}
	for _, row := range rows {
		resp, text := post(t, rec, row.path, row.body, key, secret)
		if resp.StatusCode != row.status || !strings.Contains(text, row.want) {
			t.Errorf("%s, recorded: %d %s", row.why, resp.StatusCode, text)
		}
	}
	for _, row := range []struct {
		why, text, key string
		status         int
	}{
		{"a mapping goes before the endpoint", "mapped", secret, 200},
		{"a wrong key is the endpoint's to refuse", "hi", "Bearer wrong", 401},
		{"the moment is not recorded", "busy", secret, 429},
	} {
		if resp, text := post(t, rec, "/chat/completions", body(row.text, ``), key, row.key); resp.StatusCode != row.status {
			t.Errorf("%s: %d %s", row.why, resp.StatusCode, text)
		}
	}
	settle(rec)
	if n := len(origin.Requests()); n != len(rows)+2 {
		t.Errorf("the endpoint saw %d requests, want %d", n, len(rows)+2)
	}
	if got := rec.Requests()[0]; got.Mapping != "upstream" || got.Usage.Completion != 7 || got.Observed == nil {
		t.Errorf("the journal of the recorder: %+v", got)
	}
	raw, err := os.ReadFile(tape)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(raw), "\n"); got != len(rows) || strings.Contains(string(raw), "secret") {
		t.Errorf("%d recordings, want %d, without keys:\n%s", got, len(rows), raw)
	}
	play := openaitest.Start(t, openaitest.Set("replay_tape", tape))
	for _, row := range rows {
		resp, text := post(t, play, row.path, row.body)
		if resp.StatusCode != row.status || !strings.Contains(text, row.want) {
			t.Errorf("%s, replayed: %d %s", row.why, resp.StatusCode, text)
		}
	}
	// stream is no part of what is asked: the same words come either way.
	if _, text := post(t, play, "/chat/completions", body("hi", `,"stream":true`)); !strings.Contains(text, `"content":" seven"`) {
		t.Errorf("recorded whole, replayed as a stream: %s", text)
	}
	if resp, text := post(t, play, "/chat/completions", body("unheard of", ``)); resp.StatusCode != 200 || strings.Contains(text, "real answer") {
		t.Errorf("what the tape does not know: %d %s", resp.StatusCode, text)
	}
}

// TestPassThroughIsUnchanged: apart from the hop's own headers, the client sees the endpoint's bytes.
func TestPassThroughIsUnchanged(t *testing.T) {
	origin := openaitest.Start(t)
	rec := openaitest.Start(t, openaitest.Set("record_from", origin.BaseURL()), openaitest.Set("record_to", filepath.Join(t.TempDir(), "t")))
	volatile := regexp.MustCompile(`chatcmpl-\w+|"created":\d+`)
	for _, more := range []string{``, `,"stream":true`, `,"temperature":9`} {
		body := `{"model":"m","messages":[{"role":"user","content":"x"}]` + more + `}`
		resp, direct := post(t, origin, "/chat/completions", body)
		again, through := post(t, rec, "/chat/completions", body)
		if volatile.ReplaceAllString(direct, "") != volatile.ReplaceAllString(through, "") ||
			resp.StatusCode != again.StatusCode || resp.Header.Get("Content-Type") != again.Header.Get("Content-Type") {
			t.Errorf("%s: %d %s\nthrough: %d %s", more, resp.StatusCode, direct, again.StatusCode, through)
		}
	}
	if resp, _ := post(t, rec, "/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "x-sim-fault", "status=418"); resp.StatusCode != 418 {
		t.Errorf("a fault on the way: %d", resp.StatusCode)
	}
}

// TestUnreachableEndpoint: the answer says what is wrong, as an error of the server.
func TestUnreachableEndpoint(t *testing.T) {
	rec := openaitest.Start(t, openaitest.Set("record_from", "http://127.0.0.1:1/v1"), openaitest.Set("record_to", filepath.Join(t.TempDir(), "t")))
	resp, body := post(t, rec, "/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
	if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, "upstream_unreachable") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestReplayKeepsTime: the words are the tape's, the time is the engine's: 118 ms for the first token, 10 ms for each
// further one, whatever the tape saw.
func TestReplayKeepsTime(t *testing.T) {
	tape := filepath.Join(t.TempDir(), "tape.jsonl")
	origin := openaitest.Start(t, openaitest.Script(upstream))
	rec := openaitest.Start(t, openaitest.Set("record_from", origin.BaseURL()), openaitest.Set("record_to", tape))
	const body = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	post(t, rec, "/chat/completions", body)
	settle(rec)
	synctest.Test(t, func(t *testing.T) {
		play := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("replay_tape", tape), openaitest.Set("fast", "false"),
			openaitest.Set("timing", "fixed"), openaitest.Set("prefill_ms", "118"), openaitest.Set("decode_ms", "10"))
		start := time.Now()
		_, text := post(t, play, "/chat/completions", body)
		took := time.Since(start).Round(time.Microsecond)
		if !strings.Contains(text, "the real answer") || took != (118+6*10)*time.Millisecond {
			t.Errorf("%v %s", took, text)
		}
	})
}
