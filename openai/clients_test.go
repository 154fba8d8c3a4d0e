package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

func (r *rig) goOpenAI() *goopenai.Client {
	cfg := goopenai.DefaultConfig("k")
	cfg.BaseURL, cfg.HTTPClient = "http://x/v1", r.client
	return goopenai.NewClientWithConfig(cfg)
}

// TestGoOpenAIClient reads our answers with the client whose types we decode requests with.
func TestGoOpenAIClient(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, planner)
		c := r.goOpenAI()
		req := goopenai.ChatCompletionRequest{
			Model: "gpt-4o", MaxCompletionTokens: 9, Stop: []string{"\x00"},
			Messages:      []goopenai.ChatCompletionMessage{{Role: "user", Content: "hello"}},
			StreamOptions: nil,
		}
		resp, err := c.CreateChatCompletion(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Usage.CompletionTokens != 9 || resp.Choices[0].FinishReason != "length" {
			t.Errorf("%+v", resp)
		}
		req.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
		stream, err := c.CreateChatCompletionStream(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		var usage *goopenai.Usage
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if chunk.Usage != nil {
				usage = chunk.Usage
			}
			if len(chunk.Choices) > 0 {
				text += chunk.Choices[0].Delta.Content
			}
		}
		_ = stream.Close()
		if text != resp.Choices[0].Message.Content || usage == nil || usage.CompletionTokens != 9 {
			t.Errorf("stream %q %+v, whole %q", text, usage, resp.Choices[0].Message.Content)
		}
		req.Model = ""
		_, err = c.CreateChatCompletion(t.Context(), req)
		var api *goopenai.APIError
		if !errors.As(err, &api) || api.HTTPStatusCode != 400 || api.Param == nil || *api.Param != "model" {
			t.Errorf("error %v", err)
		}
	})
}

// TestPlainRoutes covers what is not a completion.
func TestPlainRoutes(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "m 1\n") })
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{
			Metrics: metrics, Version: "1.2.3", ServedModels: []string{"org/m", "n"}, Dialect: DialectVLLM, APIKeys: []string{"k"},
		}, &pacer{limits: Limits{MaxModelLen: 4096}}, words{})
		for _, row := range []struct {
			method, path string
			status       int
			want         string
		}{
			{"GET", "/health", 200, ""},
			{"HEAD", "/health", 200, ""},
			{"GET", "/ping", 200, ""},
			{"POST", "/ping", 200, ""},
			{"GET", "/ready", 200, `{"status":"ready"}`},
			{"GET", "/version", 200, `{"version":"1.2.3"}`},
			{"GET", "/metrics", 200, "m 1\n"},
			{"GET", "/v1/models/org/m", 200, `{"id":"org/m","object":"model","created":946684800,"owned_by":"vllm","root":"org/m","max_model_len":4096}`},
			{"GET", "/v1/models/org%2Fm", 200, `"id":"org/m"`},
			{"GET", "/models/n", 200, `"id":"n"`},
			{"HEAD", "/v1/models", 200, ""},
			{"GET", "/v1/models", 200, `{"object":"list","data":[{"id":"org/m"`},
			{"GET", "/v1/models/other", 404, `"type":"NotFoundError","param":"model","code":404`},
			{"DELETE", "/v1/models/n", 403, `cannot be deleted`},
			{"GET", "/v1/chat/completions/none", 404, `none`},
			{"GET", "/nothing", 404, `unknown request URL`},
			{"PUT", "/v1/models", 405, `not allowed`},
			{"GET", "/v1/completions", 405, `not allowed`},
			{"OPTIONS", "/v1/chat/completions", 204, ""},
			{"OPTIONS", "/nothing", 204, ""},
		} {
			req, err := http.NewRequestWithContext(t.Context(), row.method, "http://x"+row.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer k")
			req.Header.Set("X-Request-Id", "mine-7")
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != row.status || !strings.Contains(string(b), row.want) || (row.want == "" && len(b) > 0) {
				t.Errorf("%s %s: %d %s", row.method, row.path, resp.StatusCode, b)
			}
			if resp.Header.Get("X-Request-Id") != "mine-7" || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s %s: headers %v", row.method, row.path, resp.Header)
			}
		}
		r.SetReady(false)
		resp, err := r.client.Get("http://x/ready")
		if err != nil || resp.StatusCode != 503 {
			t.Errorf("not ready: %v %v", resp, err)
		}
		_ = resp.Body.Close()
	})
}
