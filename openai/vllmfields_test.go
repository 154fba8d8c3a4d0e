package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestNameTokens: return_tokens_as_token_ids shows tokens by the ids that return_token_ids lists; only vLLM knows it.
func TestNameTokens(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	const wish = `"return_tokens_as_token_ids":true,"return_token_ids":true,"max_tokens":12,`
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Dialect: DialectVLLM}, &pacer{gap: time.Millisecond}, planner)
		var chat chatResponse
		_, body := r.ask(t, chatPath, withField(wish+`"logprobs":true,"top_logprobs":3`))
		if err := json.Unmarshal([]byte(body), &chat); err != nil || len(chat.Choices) != 1 {
			t.Fatal(body)
		}
		for i, id := range chat.Choices[0].TokenIDs {
			at, want := chat.Choices[0].Logprobs.Content[i], fmt.Sprint("token_id:", id)
			named := false
			for _, top := range at.TopLogprobs {
				named = named || top.Token == want
				if !strings.HasPrefix(top.Token, "token_id:") || top.Token == want && top.Logprob != at.Logprob {
					t.Errorf("alternative %+v of %s", top, want)
				}
			}
			if at.Token != want || !named {
				t.Errorf("token %d: %+v, want %s", i, at, want)
			}
		}
		var text textResponse
		_, body = r.ask(t, textPath, textWith(wish+`"logprobs":2`))
		if err := json.Unmarshal([]byte(body), &text); err != nil || len(text.Choices) != 1 {
			t.Fatal(body)
		}
		for i, id := range text.Choices[0].TokenIDs {
			if got, want := text.Choices[0].Logprobs.Tokens[i], fmt.Sprint("token_id:", id); got != want {
				t.Errorf("token %d: %q, want %q", i, got, want)
			}
		}
		if got, err := refusedFor(checker{dialect: DialectVLLM}, chatPath, withField(`"return_tokens_as_token_ids":1`)); got != "return_tokens_as_token_ids" {
			t.Errorf("a number: refused for %q (%v)", got, err)
		}
	})
	for d, want := range map[Dialect]bool{DialectOpenAI: false, DialectSGLang: false, DialectVLLM: true} {
		req, err := checker{dialect: d}.chat([]byte(withField(`"return_tokens_as_token_ids":true`)), http.Header{}, 64)
		if err != nil || req.NameTokens != want {
			t.Errorf("%s: %v, %v", d, req.NameTokens, err)
		}
	}
}

// TestAnswerIDs: under vLLM's dialect an answer has the id that the client chose, whole and in every event.
func TestAnswerIDs(t *testing.T) {
	for _, row := range []struct {
		why          string
		d            Dialect
		member, head string
		id, refused  string
	}{
		{"by the body", DialectVLLM, `"request_id":"my\"id"`, "", `my\"id`, ""},
		{"the header goes first", DialectVLLM, `"request_id":"a"`, "b", "b", ""},
		{"by the header", DialectVLLM, `"request_id":null`, "b", "b", ""},
		{"a header that is no id", DialectVLLM, `"request_id":"a"`, "b b", "a", ""},
		{"no other dialect", DialectSGLang, `"request_id":"a"`, "b", "", ""},
		{"nobody chose", DialectVLLM, `"n":1`, "", "", ""},
		{"a number", DialectVLLM, `"request_id":1`, "", "", "request_id"},
		{"an empty one is none", DialectVLLM, `"request_id":""`, "", "", ""},
		{"one of two lines", DialectVLLM, `"request_id":"a\nb"`, "", "", "request_id"},
		{"one too long", DialectVLLM, `"request_id":"` + strings.Repeat("x", 129) + `"`, "", "", "request_id"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{Dialect: row.d}, &pacer{gap: time.Millisecond}, words{tokens: 3})
			for path, body := range map[string]string{chatPath: withField(row.member), textPath: textWith(row.member)} {
				prefix := map[string]string{chatPath: `"id":"chatcmpl-`, textPath: `"id":"cmpl-`}[path]
				for _, body := range []string{body, streaming(body, "")} {
					var head []string
					if row.head != "" {
						head = []string{"X-Request-Id", row.head}
					}
					resp, answer := r.ask(t, path, body, head...)
					switch ok := strings.Contains(answer, prefix+row.id+`"`); {
					case row.refused != "":
						if resp.StatusCode != http.StatusBadRequest || !strings.Contains(answer, "'"+row.refused+"'") {
							t.Errorf("%s: %d %s", row.why, resp.StatusCode, answer)
						}
					case row.id == "" && (strings.Contains(answer, prefix+"a\"") || !strings.Contains(answer, prefix)):
						t.Errorf("%s: %s", row.why, answer)
					case row.id != "" && (!ok || strings.Count(answer, prefix) != strings.Count(answer, prefix+row.id+`"`)):
						t.Errorf("%s: %s", row.why, answer)
					}
				}
			}
		})
	}
}
