package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"fakellm/openai/reply/schema"
)

// evidence is one line of spec openai-endpoint §4 that concerns chat, completions or models: a way in which clients
// broke on other servers, as a black-box test. The name starts with the number of the line.
type evidence struct {
	name    string
	options Options
	planner Planner
	test    func(t *testing.T, r *rig)
}

// TestEvidence runs every line against a server of its own on virtual time.
func TestEvidence(t *testing.T) {
	own := realPlanner(t, PlannerOptions{})
	for _, list := range [][]evidence{chunkEvidence(), toolEvidence(own), errorEvidence(), otherEvidence(own)} {
		for _, e := range list {
			t.Run(e.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if e.planner == nil {
						e.planner = words{tokens: 5}
					}
					e.test(t, newRig(t, e.options, &pacer{gap: 10 * time.Millisecond}, e.planner))
				})
			})
		}
	}
}

const withUsage = `,"stream_options":{"include_usage":true}`

// raw decodes the events of a stream without our types; [DONE] is left out.
func raw(t *testing.T, stream string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, ev := range events(t, stream) {
		if ev == "[DONE]" {
			continue
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(ev), &m); err != nil {
			t.Fatalf("%s: %v", ev, err)
		}
		out = append(out, m)
	}
	return out
}

func choicesOf(m map[string]any) []map[string]any {
	list, _ := m["choices"].([]any)
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i], _ = list[i].(map[string]any)
	}
	return out
}

func chunkEvidence() []evidence {
	return []evidence{
		{name: "01 every chunk has an array of choices", test: func(t *testing.T, r *rig) {
			_, s := r.ask(t, chatPath, streaming(hello, withUsage))
			for _, m := range raw(t, s) {
				if _, ok := m["choices"].([]any); !ok {
					t.Errorf("%v", m)
				}
			}
		}},
		{name: "02 no chunk without choices unless usage was asked for", test: func(t *testing.T, r *rig) {
			_, s := r.ask(t, chatPath, streaming(hello, ""))
			for _, m := range raw(t, s) {
				if len(choicesOf(m)) == 0 {
					t.Errorf("%v", m)
				}
			}
		}},
		{name: "03 one id and model on all chunks", test: func(t *testing.T, r *rig) {
			_, s := r.ask(t, chatPath, streaming(hello, withUsage))
			seen := map[string]bool{}
			for _, m := range raw(t, s) {
				seen[fmt.Sprint(m["id"], m["model"])] = true
			}
			if len(seen) != 1 {
				t.Errorf("%v", seen)
			}
		}},
		{name: "04 the usage chunk of legacy completions has choices", test: func(t *testing.T, r *rig) {
			_, s := r.ask(t, textPath, textWith(`"stream":true`+withUsage))
			list := raw(t, s)
			last := list[len(list)-1]
			if c, ok := last["choices"].([]any); !ok || len(c) != 0 || last["usage"] == nil {
				t.Errorf("%v", last)
			}
		}},
		{name: "05 usage comes once", test: func(t *testing.T, r *rig) {
			_, s := r.ask(t, chatPath, streaming(hello, withUsage))
			n := 0
			for _, m := range raw(t, s) {
				if m["usage"] != nil {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d", n)
			}
		}},
		{name: "10 one terminal chunk, 13 finish_reason on all, 15 null until then", test: func(t *testing.T, r *rig) {
			_, s := r.ask(t, chatPath, streaming(hello, ""))
			list := raw(t, s)
			for i, m := range list {
				reason, ok := choicesOf(m)[0]["finish_reason"]
				if !ok || (reason != nil) != (i == len(list)-1) {
					t.Errorf("%d of %d: %v", i, len(list), m)
				}
			}
		}},
		{
			name: "14 a terminal chunk even when the last token says nothing",
			planner: words{choice: func(int, int) Choice {
				return Choice{Text: "a", Tokens: 3, Ends: []uint32{1, 1, 1}, FinishReason: "stop"}
			}},
			test: func(t *testing.T, r *rig) {
				_, s := r.ask(t, chatPath, streaming(hello, ""))
				if got := checkOrder(t, s, 1, false); got[0] != "a" {
					t.Errorf("%q", got)
				}
			},
		},
		{name: "16 DONE, then the end at once", test: func(t *testing.T, r *rig) {
			start := time.Now()
			_, s := r.ask(t, chatPath, streaming(hello, ""))
			if !strings.HasSuffix(s, "data: [DONE]\n\n") || strings.Count(s, "[DONE]") != 1 || time.Since(start) != 50*time.Millisecond {
				t.Errorf("after %v: %q", time.Since(start), s)
			}
		}},
		{name: "19 data lines only, 20 no comments and ids", test: func(t *testing.T, r *rig) {
			_, s := r.ask(t, chatPath, streaming(hello, withUsage))
			if !regexp.MustCompile(`\A(data: [^\n]+\n\n)+\z`).MatchString(s) {
				t.Errorf("%q", s)
			}
		}},
		{name: "31 the role comes with the first token, 32 tokens come one by one", test: func(t *testing.T, r *rig) {
			resp := r.post(t, chatPath, streaming(hello, ""))
			start := time.Now()
			buf := make([]byte, 4096)
			for i := range 5 {
				n, err := resp.Body.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				if got := string(buf[:n]); !strings.Contains(got, fmt.Sprintf(`"t%d "`, i)) || (i == 0) != strings.Contains(got, "role") ||
					time.Since(start) != time.Duration(i)*10*time.Millisecond {
					t.Errorf("read %d after %v: %q", i, time.Since(start), got)
				}
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}},
		{name: "33 no proxy shall buffer or compress", test: func(t *testing.T, r *rig) {
			resp, _ := r.ask(t, chatPath, streaming(hello, ""), "Accept-Encoding", "gzip, br")
			if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("%v", resp.Header)
			}
		}},
	}
}

func toolEvidence(own Planner) []evidence {
	three := wordChoice(6, "tool_calls")
	three.Text, three.Ends = `{"a":1}{"b":2}{"c":3}`, []uint32{3, 7, 10, 14, 17, 21}
	for i := range 3 {
		three.Segments = append(three.Segments, Segment{Kind: ToolCall, Positions: 2, ID: fmt.Sprint("call_", i), Name: "f"})
	}
	offer := withField(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`)
	return []evidence{
		{
			name:    "06 every tool delta has an index, 07 parallel calls keep apart, 08 one id each",
			planner: words{choice: func(int, int) Choice { return three }},
			test: func(t *testing.T, r *rig) {
				_, s := r.ask(t, chatPath, streaming(offer, ""))
				calls := map[int]*toolCall{}
				for _, ev := range events(t, s) {
					var c chatChunk
					if json.Unmarshal([]byte(ev), &c) == nil && len(c.Choices) > 0 {
						for _, tc := range c.Choices[0].Delta.ToolCalls {
							merge(t, calls, tc)
						}
					}
				}
				for i, want := range []string{`{"a":1}`, `{"b":2}`, `{"c":3}`} {
					if calls[i] == nil || calls[i].Function.Arguments != want || calls[i].ID != fmt.Sprint("call_", i) {
						t.Errorf("call %d: %+v", i, calls[i])
					}
				}
			},
		},
		{name: "09 ids of calls are not used again in the next turn", planner: own, test: func(t *testing.T, r *rig) {
			seen := map[string]bool{}
			body := withTools(`{"role":"user","content":"hello"}`)
			for turn := range 3 {
				var c chatResponse
				_, s := r.ask(t, chatPath, body)
				if err := json.Unmarshal([]byte(s), &c); err != nil {
					t.Fatal(err)
				}
				for _, call := range c.Choices[0].Message.ToolCalls {
					if seen[call.ID] {
						t.Errorf("turn %d uses %s again", turn, call.ID)
					}
					seen[call.ID] = true
				}
				body = withTools(fmt.Sprintf(`{"role":"user","content":"hello %d"}`, turn))
			}
		}},
		{name: "11 calls end with tool_calls, 12 never without calls", planner: own, test: func(t *testing.T, r *rig) {
			for _, stream := range []bool{false, true} {
				body := withTools(`{"role":"user","content":"hello"}`)
				if stream {
					body = streaming(body, "")
				}
				if _, s := r.ask(t, chatPath, body); !strings.Contains(s, `"finish_reason":"tool_calls"`) || !strings.Contains(s, `"tool_calls":[`) {
					t.Errorf("%s", s)
				}
				// After a result the agent loop ends.
				body = withTools(`{"role":"user","content":"hello"},{"role":"assistant","content":null,"tool_calls":[{"id":"c",` +
					`"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"ok"}`)
				if _, s := r.ask(t, chatPath, body); !strings.Contains(s, `"finish_reason":"stop"`) || strings.Contains(s, `"tool_calls":`) {
					t.Errorf("%s", s)
				}
			}
		}},
		{name: "26 our own answer is accepted as history", planner: own, test: func(t *testing.T, r *rig) {
			_, s := r.ask(t, chatPath, withTools(`{"role":"user","content":"hello"}`))
			var c struct {
				Choices []struct {
					Message json.RawMessage `json:"message"`
				} `json:"choices"`
			}
			if err := json.Unmarshal([]byte(s), &c); err != nil {
				t.Fatal(err)
			}
			resp, s := r.ask(t, chatPath, withTools(`{"role":"user","content":"hello"},`+string(c.Choices[0].Message)))
			if resp.StatusCode != 200 {
				t.Errorf("%s", s)
			}
		}},
	}
}

func withTools(messages string) string {
	return `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"messages":[` + messages + `]}`
}

func errorEvidence() []evidence {
	return []evidence{
		{name: "17 a refused stream returns at once", test: func(t *testing.T, r *rig) {
			start := time.Now()
			if resp, s := r.ask(t, chatPath, streaming(hello, `,"n":0`)); resp.StatusCode != 400 || time.Since(start) != 0 {
				t.Errorf("after %v: %s", time.Since(start), s)
			}
		}},
		{name: "18 a failure in the stream is seen by the client", test: func(t *testing.T, r *rig) {
			r.pacer.spoil = func(_ Job, p *Progress) {
				if p.Tokens == 3 {
					p.End, p.Why = Failed, "broken on purpose"
				}
			}
			stream, err := r.goOpenAI().CreateChatCompletionStream(t.Context(), goopenai.ChatCompletionRequest{
				Model: "m", Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: "hello"}},
			})
			for err == nil {
				_, err = stream.Recv()
			}
			if !strings.Contains(err.Error(), "broken on purpose") {
				t.Errorf("%v", err)
			}
			_ = stream.Close()
		}},
		{name: "21 the whole envelope on errors of every kind", test: func(t *testing.T, r *rig) {
			for _, path := range []string{chatPath, textPath, "/v1/nothing", "/v1/models", "/v1/chat/completions/x"} {
				resp, s := r.ask(t, path, "{")
				checkEnvelopeKeys(t, resp, s)
			}
		}},
		// Line 37, clients that come again by themselves, is in internal/clienttest.
		{name: "34 a 429 says when to come again", test: func(t *testing.T, r *rig) {
			r.pacer.refuse = &APIError{
				Status: 429, Type: "requests", Code: "rate_limit_exceeded", Message: "slow down", RetryAfter: 2500 * time.Millisecond,
			}
			resp, s := r.ask(t, chatPath, hello)
			if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "3" {
				t.Errorf("%d %v %s", resp.StatusCode, resp.Header, s)
			}
		}},
		{name: "36 a client that leaves frees its slot within a step", test: func(t *testing.T, r *rig) {
			ctx, cancel := context.WithCancel(t.Context())
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://x"+chatPath, strings.NewReader(streaming(hello, "")))
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			synctest.Wait()
			_ = resp.Body.Close()
			if r.pacer.openTickets() != 0 || r.Counters().Aborted != 1 {
				t.Errorf("%d open, %+v", r.pacer.openTickets(), r.Counters())
			}
		}},
	}
}

func checkEnvelopeKeys(t *testing.T, resp *http.Response, body string) {
	t.Helper()
	var got struct {
		Error map[string]any `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Error) != 4 || resp.StatusCode < 400 {
		t.Errorf("%d %s: %v", resp.StatusCode, body, err)
	}
}

func otherEvidence(own Planner) []evidence {
	thinking := wordChoice(6, "stop")
	thinking.Reasoning, thinking.Segments = 3, []Segment{{Kind: Reasoning, Positions: 3}, {Kind: Content, Positions: 3}}
	think := words{choice: func(int, int) Choice { return thinking }}
	list := []evidence{
		{name: "27 both limits are exact", planner: own, test: func(t *testing.T, r *rig) {
			for _, field := range []string{"max_tokens", "max_completion_tokens"} {
				if _, s := r.ask(t, chatPath, withField(`"`+field+`":7`)); !strings.Contains(s, `"completion_tokens":7,`) {
					t.Errorf("%s: %s", field, s)
				}
			}
		}},
		{name: "27 reasoning models refuse max_tokens", options: Options{Policy: PolicyStrict}, test: func(t *testing.T, r *rig) {
			resp, s := r.ask(t, chatPath, strings.Replace(withField(`"max_tokens":7`), `"m"`, `"o3-mini"`, 1))
			if resp.StatusCode != 400 || !strings.Contains(s, codeUnsupported) {
				t.Errorf("%d %s", resp.StatusCode, s)
			}
		}},
		{name: "28 top_logprobs null is 0, numbers and bytes are there", planner: own, test: func(t *testing.T, r *rig) {
			_, s := r.ask(t, chatPath, withField(`"logprobs":true,"top_logprobs":null,"max_tokens":5`))
			var c chatResponse
			if err := json.Unmarshal([]byte(s), &c); err != nil || len(c.Choices[0].Logprobs.Content) != 5 {
				t.Fatalf("%v: %s", err, s)
			}
			for _, tok := range c.Choices[0].Logprobs.Content {
				if tok.Logprob > 0 || len(tok.Bytes) == 0 || tok.TopLogprobs == nil || len(tok.TopLogprobs) != 0 {
					t.Errorf("%+v", tok)
				}
			}
		}},
		{name: "29 models have all four fields", test: func(t *testing.T, r *rig) {
			resp, err := r.client.Get("http://x/v1/models")
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			testOracle(t).check(t, "ListModelsResponse", string(b))
		}},
		{name: "35 a schema is obeyed or refused", planner: own, test: func(t *testing.T, r *rig) {
			const form = `{"type":"object","properties":{"a":{"type":"integer","minimum":3}},"required":["a"],"additionalProperties":false}`
			ask := func(s string) (*http.Response, string) {
				return r.ask(t, chatPath, withField(`"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":`+s+`}}`))
			}
			_, s := ask(form)
			var c chatResponse
			if err := json.Unmarshal([]byte(s), &c); err != nil {
				t.Fatal(err)
			}
			compiled, err := schema.Compile([]byte(form))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate([]byte(*c.Choices[0].Message.Content)); err != nil {
				t.Error(err)
			}
			if resp, s := ask(`{"type":"object","properties":{"a":{"$ref":"http://elsewhere/x"}},"required":["a"]}`); resp.StatusCode != 400 {
				t.Errorf("%s", s)
			}
			if resp, s := r.ask(t, chatPath, withField(`"response_format":{"type":"text"}`)); resp.StatusCode != 200 {
				t.Errorf("%s", s)
			}
		}},
	}
	for d, field := range map[Dialect]string{DialectOpenAI: "", DialectVLLM: "reasoning", DialectSGLang: "reasoning_content"} {
		list = append(list, evidence{
			name: "30 the name of thinking in dialect " + string(d), options: Options{Dialect: d}, planner: think,
			test: func(t *testing.T, r *rig) {
				for _, body := range []string{hello, streaming(hello, "")} {
					_, s := r.ask(t, chatPath, body)
					for _, name := range []string{"reasoning", "reasoning_content"} {
						if got := strings.Contains(s, `"`+name+`":"t0`); got != (name == field) {
							t.Errorf("%s: %s", name, s)
						}
					}
				}
			},
		})
	}
	return list
}
