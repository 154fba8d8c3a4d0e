package openai

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"fakellm/openai/fault"
	"fakellm/openai/journal"
)

// endpoint answers with parts of a body, some time apart.
type endpoint struct {
	parts []string
	gap   time.Duration
}

func (e *endpoint) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(e)}, nil
}

func (e *endpoint) Read(p []byte) (int, error) {
	if len(e.parts) == 0 {
		return 0, io.EOF
	}
	time.Sleep(e.gap)
	n := copy(p, e.parts[0])
	e.parts = e.parts[1:]
	return n, nil
}

// spokenStream is a stream of a role, n tokens and an end, each of which comes by itself.
func spokenStream(n int, usage string) []string {
	event := func(rest string) string { return `data: {"model":"m","choices":[` + rest + "}\n\n" }
	parts := []string{event(`{"index":0,"delta":{"role":"assistant","content":""}}]`)}
	for i := range n {
		parts = append(parts, event(fmt.Sprintf(`{"index":0,"delta":{"content":"%d "}}]`, i)))
	}
	parts = append(parts, event(`{"index":0,"delta":{},"finish_reason":"stop"}]`))
	if usage != "" {
		parts = append(parts, event(`],"usage":`+usage))
	}
	return append(parts, "data: [DONE]\n\n")
}

// TestRecorderJournal: the record of a stream that is passed on has what left and when, and what the endpoint said of it.
// Every part takes 3 ms.
func TestRecorderJournal(t *testing.T) {
	const usage = `{"prompt_tokens":7,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":2},` +
		`"completion_tokens_details":{"reasoning_tokens":%d}}`
	stop := []string{"stop"}
	for _, row := range []struct {
		why, fault string
		parts      []string
		want       journal.Record
	}{
		{"usage comes", "", spokenStream(30, fmt.Sprintf(usage, 30, 0)), journal.Record{
			Events: 33, FinishReasons: stop, Usage: &journal.Usage{Prompt: 7, Cached: 2, Completion: 30},
			Observed: &journal.Latency{TTFT: 3, ITL: 3, Total: 102},
		}},
		{"no usage comes", "", spokenStream(30, ""), journal.Record{
			Events: 32, FinishReasons: stop, Observed: &journal.Latency{TTFT: 3, ITL: 3, Total: 99},
		}},
		{"thinking is hidden", "", spokenStream(5, fmt.Sprintf(usage, 105, 100)), journal.Record{
			Events: 8, FinishReasons: stop, Usage: &journal.Usage{Prompt: 7, Cached: 2, Completion: 105, Reasoning: 100},
			Observed: &journal.Latency{TTFT: 3, ITL: 3, Total: 27},
		}},
		{"two tokens in an event", "", spokenStream(6, fmt.Sprintf(usage, 11, 0)), journal.Record{
			Events: 9, FinishReasons: stop, Usage: &journal.Usage{Prompt: 7, Cached: 2, Completion: 11},
			Observed: &journal.Latency{TTFT: 3, ITL: 1.5, Total: 30},
		}},
		{"a fault ends it", "close;at=4", spokenStream(30, ""), journal.Record{
			Events: 4, Observed: &journal.Latency{TTFT: 3, ITL: 3, Total: 12}, Error: "recording: a fault ended it",
		}},
		{"a fault stalls it", "stall=1s;at=3", spokenStream(5, ""), journal.Record{
			Events: 7, FinishReasons: stop, Observed: &journal.Latency{TTFT: 3, ITL: 1006 / 4.0, Total: 1012},
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := recordedAs(t, &endpoint{row.parts, 3 * time.Millisecond}, row.fault)
			row.want.Bytes = got.Bytes // what left is compared by events and times; the bytes by the client's in another test
			if diff := cmp.Diff(row.want, got); diff != "" || got.Bytes == 0 {
				t.Errorf("%s: %s", row.why, diff)
			}
		})
	}
}

// recordedAs is what the journal knows of an answer of e, as far as the recorder tells it.
func recordedAs(t *testing.T, e *endpoint, fired string) journal.Record {
	t.Helper()
	var tape bytes.Buffer
	r, err := NewRecorder("http://origin/v1", &tape)
	if err != nil {
		t.Fatal(err)
	}
	r.client = &http.Client{Transport: e}
	j, err := journal.New(journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"model":"m","messages":[]}`
	gin.SetMode(gin.ReleaseMode)
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	c.Set(keyStart, time.Now())
	entry := j.Begin(time.Now(), c.Request)
	c.Request = c.Request.WithContext(journal.With(c.Request.Context(), entry))
	plan, err := fault.Parse(fired)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{opts: Options{WriteTimeout: time.Minute, Breaker: NewBreaker(1, nil)}}
	func() {
		defer func() { _ = recover() }() // a connection that cannot be taken over is cut by net/http, which hears a panic
		s.breaking(c, plan, func() { r.pass(s, c, "chat", []byte(body)) })
	}()
	synctest.Wait()
	all := entry.Record()
	if taped := tape.Len() > 0; taped != (all.Error == "") {
		t.Errorf("taped: %v, error %q", taped, all.Error)
	}
	return journal.Record{
		Events: all.Events, Bytes: all.Bytes, Observed: all.Observed, Usage: all.Usage, FinishReasons: all.FinishReasons, Error: all.Error,
	}
}
