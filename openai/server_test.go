package openai

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const hello = `{"model":"m","messages":[{"role":"user","content":"hello there"}]}`

func streaming(body, more string) string {
	return strings.TrimSuffix(body, "}") + `,"stream":true` + more + "}"
}

func TestChatWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: 10 * time.Millisecond}, words{tokens: 3})
		start := time.Now()
		resp, body := r.ask(t, "/v1/chat/completions", hello)
		if took := time.Since(start); took != 30*time.Millisecond {
			t.Errorf("took %v, want 30ms", took)
		}
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
		}
		var got chatResponse
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if got.Choices[0].FinishReason != "stop" || *got.Choices[0].Message.Content != "t0 t1 t2 " {
			t.Errorf("answer %s", body)
		}
		want := Usage{PromptTokens: 5, CompletionTokens: 3, TotalTokens: 8}
		if d := cmp.Diff(want, *got.Usage); d != "" {
			t.Error(d)
		}
	})
}

func TestChatStreamTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: 50 * time.Millisecond}, words{tokens: 100})
		start := time.Now()
		resp := r.post(t, "/v1/chat/completions", streaming(hello, `,"stream_options":{"include_usage":true}`))
		if took := time.Since(start); took != 50*time.Millisecond {
			t.Errorf("headers after %v, want them with the first token at 50ms", took)
		}
		buf := make([]byte, 4096)
		var all strings.Builder
		for i := 1; i <= 100; i++ {
			// One write per token: the pipe hands each over as it was written.
			n, err := resp.Body.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(buf[:n])
			if at := time.Since(start); at != time.Duration(i)*50*time.Millisecond {
				t.Fatalf("token %d arrived at %v", i, at)
			}
		}
		rest, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(rest)
		if at := time.Since(start); at != 5*time.Second {
			t.Errorf("end at %v, want 5s", at)
		}
		evs := events(t, all.String())
		if len(evs) != 1+100+1+1+1 {
			t.Errorf("%d events, want role, 100 tokens, finish, usage, done", len(evs))
		}
	})
}

func TestStreamBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, words{tokens: 2})
		resp, body := r.ask(t, "/v1/chat/completions", streaming(hello, ""))
		for k, want := range map[string]string{
			"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
			"Content-Length": "", "Openai-Processing-Ms": "1", "Openai-Version": "2020-10-01",
		} {
			if got := resp.Header.Get(k); got != want {
				t.Errorf("%s: %q, want %q", k, got, want)
			}
		}
		head := `{"id":"ID","object":"chat.completion.chunk","created":946684800,"model":"m","service_tier":"default",` +
			`"system_fingerprint":"fp_fakellm","choices":[{"index":0,"delta":`
		want := []string{
			head + `{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}`,
			head + `{"content":"t0 "},"logprobs":null,"finish_reason":null}]}`,
			head + `{"content":"t1 "},"logprobs":null,"finish_reason":null}]}`,
			head + `{},"logprobs":null,"finish_reason":"stop"}]}`,
			"[DONE]",
		}
		got := events(t, body)
		var first chatChunk
		if err := json.Unmarshal([]byte(got[0]), &first); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i] = strings.Replace(got[i], first.ID, "ID", 1)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}
