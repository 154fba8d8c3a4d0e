//go:build !race

// Package clienttest reads the face's answers with OpenAI's own Go client, as a black box. It is apart from package
// openai because that client takes minutes to compile with the race detector or for fuzzing.
package clienttest

import (
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	official "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"fakellm/openai"
)

// instant is a Backend for which everything is due at once; it fails or refuses on demand.
type instant struct {
	mu      sync.Mutex
	refuse  error
	refused int
	fail    string
}

func (*instant) Limits() openai.Limits { return openai.Limits{MaxModelLen: 8192} }

func (b *instant) Submit(j openai.Job, wake func()) (openai.Ticket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refuse; err != nil {
		b.refuse, b.refused = nil, b.refused+1
		return nil, err
	}
	first := openai.Progress{Admitted: true, Tokens: 2, Due: time.Now()}
	last := openai.Progress{Admitted: true, Tokens: j.OutputTokens, Due: first.Due, End: openai.Completed}
	if b.fail != "" {
		last.End, last.Why = openai.Failed, b.fail
	}
	wake()
	return &ticket{looks: []openai.Progress{first, last}, wake: wake}, nil
}

// ticket shows one look after the other.
type ticket struct {
	mu    sync.Mutex
	looks []openai.Progress
	wake  func()
}

func (t *ticket) Progress() openai.Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.looks[0]
	if len(t.looks) > 1 {
		t.looks = t.looks[1:]
		go t.wake()
	}
	return p
}

func (*ticket) Cancel() {}

// serve starts a face on loopback and returns a client of it that does not retry.
func serve(t *testing.T, b openai.Backend) official.Client {
	t.Helper()
	planner, err := openai.NewPlanner(openai.PlannerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := openai.New(openai.Options{}, b, planner)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewUnstartedServer(s.Handler())
	h.Config = s.HTTPServer()
	h.Start()
	t.Cleanup(func() {
		h.Close()
		s.Close()
	})
	return official.NewClient(option.WithBaseURL(h.URL+"/v1/"), option.WithAPIKey("k"), option.WithUnsafeAllowHTTP(),
		option.WithMaxRetries(0))
}

func params() official.ChatCompletionNewParams {
	return official.ChatCompletionNewParams{
		Model: "gpt-4o", Messages: []official.ChatCompletionMessageParamUnion{official.UserMessage("what is the weather?")},
	}
}

// TestStreamAccumulates: the client's own accumulator rebuilds calls, text and usage of a stream.
func TestStreamAccumulates(t *testing.T) {
	c := serve(t, &instant{})
	p := params()
	p.StreamOptions = official.ChatCompletionStreamOptionsParam{IncludeUsage: official.Bool(true)}
	p.Tools = []official.ChatCompletionToolUnionParam{official.ChatCompletionFunctionTool(official.FunctionDefinitionParam{
		Name: "weather", Parameters: official.FunctionParameters{
			"type": "object", "required": []string{"city"}, "properties": map[string]any{"city": map[string]any{"type": "string"}},
		},
	})}
	stream := c.Chat.Completions.NewStreaming(t.Context(), p)
	acc := official.ChatCompletionAccumulator{}
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Errorf("chunk refused: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	p.StreamOptions = official.ChatCompletionStreamOptionsParam{}
	whole, err := c.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, want := acc.Choices[0], whole.Choices[0]
	if len(got.Message.ToolCalls) == 0 || got.FinishReason != "tool_calls" || got.FinishReason != want.FinishReason {
		t.Fatalf("stream %+v, whole %+v", got, want)
	}
	for i, call := range want.Message.ToolCalls {
		if g := got.Message.ToolCalls[i]; g.Function.Arguments != call.Function.Arguments || g.Function.Name != "weather" {
			t.Errorf("call %d: %+v in the stream, %+v whole", i, g, call)
		}
	}
	if acc.Usage.CompletionTokens != whole.Usage.CompletionTokens {
		t.Errorf("usage %+v, %+v", acc.Usage, whole.Usage)
	}
}

func TestModels(t *testing.T) {
	c := serve(t, &instant{})
	list, err := c.Models.List(t.Context())
	if err != nil || len(list.Data) != 1 || list.Data[0].ID != openai.DefaultModel {
		t.Errorf("models %+v, %v", list, err)
	}
	one, err := c.Models.Get(t.Context(), "org/name")
	if err != nil || one.ID != "org/name" {
		t.Errorf("model %+v, %v", one, err)
	}
}

func TestErrors(t *testing.T) {
	b := &instant{}
	c := serve(t, b)
	p := params()
	p.Messages = nil
	_, err := c.Chat.Completions.New(t.Context(), p)
	api, ok := errors.AsType[*official.Error](err)
	if !ok || api.StatusCode != 400 || api.Param == "" || api.Message == "" {
		t.Errorf("error %v", err)
	}
	b.fail = "broken on purpose"
	stream := c.Chat.Completions.NewStreaming(t.Context(), params())
	for stream.Next() {
	}
	if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "broken on purpose") {
		t.Errorf("a failure in the stream: %v", err)
	}
}

// TestRetries: the client comes again after a 429 with Retry-After and then has its answer (spec openai-endpoint X4).
func TestRetries(t *testing.T) {
	b := &instant{refuse: &openai.APIError{
		Status: 429, Type: "requests", Code: "rate_limit_exceeded", Message: "slow down", RetryAfter: time.Millisecond,
	}}
	c := serve(t, b)
	if _, err := c.Chat.Completions.New(t.Context(), params(), option.WithMaxRetries(1)); err != nil || b.refused != 1 {
		t.Errorf("%d refused, %v", b.refused, err)
	}
}
