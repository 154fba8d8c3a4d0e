package openaitest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fakellm/openai/openaitest"
)

// told is the part of a chat answer that wishes change.
type told struct {
	Choices []struct {
		Message struct {
			Content *string `json:"content"`
			Refusal *string `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

func (a told) String() string {
	raw, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// ask sends a chat request with more members and headers.
func ask(t *testing.T, s *openaitest.Server, more string, header ...string) (told, *http.Response, string) {
	t.Helper()
	resp, body := post(t, s, "/chat/completions", `{"model":"m","messages":[{"role":"user","content":"my name is Ada"}]`+more+`}`, header...)
	var a told
	if resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Choices) != 1 {
			t.Fatalf("%v: %s", err, body)
		}
	}
	return a, resp, body
}

func TestWishes(t *testing.T) {
	s := openaitest.Start(t, openaitest.Script(`{mappings: [{request: {headers: {x-test: scripted}}, response: {text: one two three}}]}`))
	for _, row := range []struct {
		why, body string
		header    []string
		tokens    int
		content   string
		refusal   string
		reason    string
	}{
		{"exactly so many tokens, then the model stops", `,"x_sim":{"output_tokens":37}`, nil, 37, "", "", "stop"},
		{"by header", ``, []string{"x-sim-output-tokens", "21"}, 21, "", "", "stop"},
		{"the header goes first", `,"x_sim":{"output_tokens":37}`, []string{"x-sim-output-tokens", "21"}, 21, "", "", "stop"},
		{"the client's own limit still cuts", `,"max_tokens":5,"x_sim":{"output_tokens":37}`, nil, 5, "", "", "length"},
		{"a limit that is just enough", `,"max_tokens":5,"x_sim":{"output_tokens":5}`, nil, 5, "", "", "stop"},
		{"words", `,"x_sim":{"reply":"Hello."}`, nil, 2, "Hello.", "", "stop"},
		{"words by header", ``, []string{"x-sim-reply", "Hello."}, 2, "Hello.", "", "stop"},
		{"no words at all", `,"x_sim":{"reply":""}`, nil, 0, "-", "", "stop"},
		{"a request's own words go before a mapping", `,"x_sim":{"reply":"Hello."}`, []string{"x-test", "scripted"}, 2, "Hello.", "", "stop"},
		{"a mapping can be cut", `,"x_sim":{"output_tokens":2}`, []string{"x-test", "scripted"}, 2, "one two", "", "stop"},
		{"refusal", `,"x_sim":{"refusal":"I can't."}`, nil, 0, "", "I can't.", "stop"},
		{"content filter", `,"x_sim":{"reply":"It was","finish_reason":"content_filter"}`, nil, 2, "It was", "", "content_filter"},
		{"finish reason by header", ``, []string{"x-sim-finish-reason", "content_filter", "x-sim-reply", "It"}, 1, "It", "", "content_filter"},
		{"unknown ones are ignored", `,"x_sim":{"mood":"good","reply":"Hello."}`, []string{"x-sim-mood", "good"}, 2, "Hello.", "", "stop"},
	} {
		a, resp, body := ask(t, s, row.body, row.header...)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", row.why, resp.StatusCode, body)
			continue
		}
		m := a.Choices[0].Message
		text := func(p *string) string {
			if p == nil {
				return ""
			}
			return *p
		}
		switch {
		case row.tokens > 0 && a.Usage.Completion != row.tokens, a.Choices[0].FinishReason != row.reason,
			row.content == "-" && text(m.Content) != "", row.content != "" && row.content != "-" && text(m.Content) != row.content,
			text(m.Refusal) != row.refusal, row.refusal != "" && m.Content != nil:
			t.Errorf("%s: %v", row.why, a)
		}
	}
}

func TestWishesAreChecked(t *testing.T) {
	for _, row := range []struct {
		why, strict, body string
		header            []string
		param             string
	}{
		{"unknown member", "true", `,"x_sim":{"mood":"good"}`, nil, "x_sim.mood"},
		{"unknown header", "true", ``, []string{"x-sim-mood", "good"}, "x-sim-mood"},
		{"not an object", "false", `,"x_sim":"fault"`, nil, "x_sim"},
		{"wrong type", "false", `,"x_sim":{"output_tokens":"5"}`, nil, "x_sim.output_tokens"},
		{"no number", "false", ``, []string{"x-sim-output-tokens", "many"}, "x-sim-output-tokens"},
		{"no token", "false", `,"x_sim":{"output_tokens":0}`, nil, "x_sim.output_tokens"},
		{"a reason that makes agents loop", "false", `,"x_sim":{"finish_reason":"tool_calls"}`, nil, "x_sim.finish_reason"},
		{"two answers", "false", `,"x_sim":{"reply":"a","refusal":"b"}`, nil, "x_sim.refusal"},
		{"this sound takes an encoder", "false", `,"modalities":["text","audio"],"audio":{"voice":"ash","format":"mp3"}`, nil, "audio.format"},
	} {
		s := openaitest.Start(t, openaitest.Set("strict", row.strict))
		_, resp, body := ask(t, s, row.body, row.header...)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, fmt.Sprintf(`"param":%q`, row.param)) {
			t.Errorf("%s: %d %s, want param %s", row.why, resp.StatusCode, body, row.param)
		}
	}
}

// TestSeedAndSession: the wish takes the place of the request's own seed, and a sequence counts per wished session.
func TestSeedAndSession(t *testing.T) {
	s := openaitest.Start(t)
	content := func(more string, header ...string) string {
		a, _, _ := ask(t, s, more, header...)
		return *a.Choices[0].Message.Content
	}
	if content(`,"seed":7`) != content(`,"seed":8`, "x-sim-seed", "7") {
		t.Error("x-sim-seed 7 does not answer like seed 7")
	}
	if content(`,"seed":7`) == content(`,"seed":8`) {
		t.Error("seeds do not matter: the test shows nothing")
	}
	s.Import(`{mappings: [{request: {}, responses: [{text: first}, {text: second}]}]}`)
	for i, row := range []struct{ session, want string }{{"a", "first"}, {"b", "first"}, {"a", "second"}} {
		if got := content(`,"prompt_cache_key":"k"`, "x-sim-session", row.session); got != row.want {
			t.Errorf("request %d of session %s: %q, want %q", i, row.session, got, row.want)
		}
	}
}

// TestRefusalStreams: a refusal asked for by the request has deltas of its own and a probability for every token.
func TestRefusalStreams(t *testing.T) {
	s := openaitest.Start(t)
	_, body := post(t, s, "/chat/completions", `{"model":"m","stream":true,"logprobs":true,"messages":[{"role":"user","content":"x"}],
		"x_sim":{"refusal":"I can't help with that."}}`)
	if !strings.Contains(body, `"refusal":"I"`) || !strings.Contains(body, `"logprobs":{"content":null,"refusal":[{"token":"I"`) {
		t.Error(body)
	}
}

// TestIdempotencyKey: the same body under the same key gets the same answer; the key itself changes nothing.
func TestIdempotencyKey(t *testing.T) {
	s := openaitest.Start(t)
	first, _, _ := ask(t, s, ``, "Idempotency-Key", "k1")
	for _, key := range []string{"k1", "k2"} {
		if again, _, _ := ask(t, s, ``, "Idempotency-Key", key); again.String() != first.String() {
			t.Errorf("key %s: %v, want %v", key, again, first)
		}
	}
}
