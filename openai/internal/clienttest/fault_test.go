//go:build !race

package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"fakellm/internal/memnet"
	"fakellm/openai"
	"fakellm/openai/fault"
	"fakellm/openai/journal"
)

// asked is the fault that a request names in its header.
func asked(r *http.Request) (fault.Plan, error) { return fault.Parse(r.Header.Get(fault.Header)) }

// metronome is a Backend that gives a token every 10 ms and counts what was cancelled.
type metronome struct {
	mu        sync.Mutex
	cancelled int
	ended     int
}

type beat struct {
	m    *metronome
	job  openai.Job
	mu   sync.Mutex
	now  openai.Progress
	stop chan struct{}
}

func (m *metronome) Limits() openai.Limits { return openai.Limits{MaxModelLen: 4096, Ranks: 1} }

func (m *metronome) Submit(job openai.Job, wake func()) (openai.Ticket, error) {
	b := &beat{m: m, job: job, stop: make(chan struct{})}
	go func() {
		for range job.OutputTokens {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-b.stop:
				return
			}
			b.mu.Lock()
			b.now.Tokens++
			b.now.Admitted = true
			if b.now.Tokens == job.OutputTokens {
				b.now.End = openai.Completed
			}
			b.mu.Unlock()
			wake()
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ended++
	}()
	return b, nil
}

func (b *beat) Progress() openai.Progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *beat) Cancel() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now.End != openai.Open {
		return
	}
	b.now.End = openai.Cancelled
	close(b.stop)
	b.m.mu.Lock()
	b.m.cancelled++
	b.m.mu.Unlock()
}

// counter says 0, 1, 2, … 9: ten tokens.
type counter struct{}

func (counter) ChatPrompt(*openai.ChatRequest) (openai.Prompt, error) {
	return openai.Prompt{Tokens: 3}, nil
}

func (counter) ChatChoice(*openai.ChatRequest, openai.Prompt, int, int) (openai.Choice, error) {
	c := openai.Choice{Tokens: 10, Text: "0123456789", FinishReason: "stop"}
	for i := range uint32(10) {
		c.Ends = append(c.Ends, i+1)
	}
	return c, nil
}

func (counter) CompletionPrompts(*openai.CompletionRequest) ([]openai.Prompt, error) {
	return []openai.Prompt{{Tokens: 3}}, nil
}

func (c counter) CompletionChoice(*openai.CompletionRequest, openai.Prompt, int, int, int) (openai.Choice, error) {
	return c.ChatChoice(nil, openai.Prompt{}, 0, 0)
}

// newFace is the real face with faults around it and a journal around both.
func newFace(t testing.TB, m *metronome) (http.Handler, *journal.Journal, func()) {
	t.Helper()
	face, err := openai.New(openai.Options{Writers: 1, IDSeed: 1}, m, counter{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.New(journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	broken := fault.Middleware(face.Handler(), asked, fault.Options{Report: func(r *http.Request, p, fired fault.Plan) {
		journal.From(r.Context()).Update(func(rec *journal.Record) { rec.Fault, rec.Fired = p.String(), fired.String() })
	}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := j.Begin(time.Now(), r)
		defer func() { e.Finish(time.Now()) }()
		broken.ServeHTTP(w, r.WithContext(journal.With(r.Context(), e)))
	}), j, face.Close
}

// client sends its requests over pipes.
func client(l *memnet.Listener) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: l.Dial}}
}

// chat asks for a stream and returns the text of its chunks with the times at which they came.
func chat(t testing.TB, c *http.Client, url, plan string) (text string, at []time.Duration, err error) {
	t.Helper()
	start := time.Now()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions",
		strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"count"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(fault.Header, plan)
	resp, err := c.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body := make([]byte, 1<<16)
	for n := 0; ; {
		k, err := resp.Body.Read(body[n:])
		if n += k; k > 0 {
			at = append(at, time.Since(start))
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return said(string(body[:n])), at, err
		}
	}
}

// said is the content of all chunks, with ! for what is no chunk.
func said(stream string) string {
	var sb strings.Builder
	for e := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		var v struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		switch data := strings.TrimPrefix(e, "data: "); {
		case data == "[DONE]":
			sb.WriteByte('.')
		case json.Unmarshal([]byte(data), &v) != nil || len(v.Choices) == 0:
			sb.WriteByte('!')
		default:
			sb.WriteString(v.Choices[0].Delta.Content)
		}
	}
	return sb.String()
}

// TestFaceUnderFaults: the face gives its slot back when a fault ends a stream, goes on when it does not, and the
// stream beside it comes exactly as it does alone.
func TestFaceUnderFaults(t *testing.T) {
	for _, tc := range []struct {
		plan, text string
		broken     bool
		cancelled  int
	}{
		{"none", "0123456789.", false, 0},
		{"reset;at=4", "012", true, 1},
		{"close;at=4", "012", true, 1},
		{"truncate;at=4", "012!", true, 1},
		{"error;at=4", "012!", false, 1},
		{"malformed;at=4", "012!456789.", false, 0},
		{"no-done", "0123456789", false, 0},
		{"double-done", "0123456789..", false, 0},
		{"stall=1m;at=4", "0123456789.", false, 0},
		{"drip=1s;bytes=100;at=4", "0123456789.", false, 0},
		{"stall=1m;at=2, reset;at=4", "012", true, 0},
		{"hang=1m", "0123456789.", false, 0},
	} {
		m := &metronome{}
		synctest.Test(t, func(t *testing.T) {
			h, j, closeFace := newFace(t, m)
			l := memnet.New()
			srv := &http.Server{Handler: h}
			go func() { _ = srv.Serve(l) }()
			c := client(l)
			var alone, beside []time.Duration
			_, alone, _ = chat(t, c, "http://x", "none")
			neighbour := make(chan string)
			go func() {
				text, at, err := chat(t, c, "http://x", "none")
				beside = at
				neighbour <- fmt.Sprint(text, err)
			}()
			text, _, err := chat(t, c, "http://x", tc.plan)
			if text != tc.text || (err != nil) != tc.broken {
				t.Errorf("%s: text %q, want %q, error %v", tc.plan, text, tc.text, err)
			}
			if got := <-neighbour; got != "0123456789.<nil>" {
				t.Errorf("%s: the stream beside it: %s", tc.plan, got)
			}
			if diff := cmp.Diff(alone, beside); diff != "" {
				t.Errorf("%s: the stream beside it came at other times: %s", tc.plan, diff)
			}
			_ = srv.Close()
			closeFace()
			synctest.Wait()
			if m.cancelled != tc.cancelled {
				t.Errorf("%s: %d slots given back early, want %d", tc.plan, m.cancelled, tc.cancelled)
			}
			x, _ := j.Find(journal.Filter{})
			if fired := x[len(x)-1].Fired + x[len(x)-2].Fired; tc.plan != "none" && fired == "" {
				t.Errorf("%s: the journal knows of no fault", tc.plan)
			}
		})
	}
}

// TestStallDoesNotBlockSharedWriter runs on real sockets, where one goroutine of the face writes all streams: a stream
// that stalls for an hour must not keep its neighbour from ending.
func TestStallDoesNotBlockSharedWriter(t *testing.T) {
	m := &metronome{}
	face, err := openai.New(openai.Options{Writers: 1}, m, counter{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = face.HTTPServer()
	srv.Config.Handler = fault.Middleware(face.Handler(), asked, fault.Options{})
	srv.Start()
	ctx, cancel := context.WithCancel(t.Context())
	stalled, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/v1/chat/completions",
		strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"count"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	stalled.Header.Set("Content-Type", "application/json")
	stalled.Header.Set(fault.Header, "stall=1h;at=2")
	resp, err := srv.Client().Do(stalled)
	if err != nil {
		t.Fatal(err)
	}
	if text, _, err := chat(t, srv.Client(), srv.URL, "none"); text != "0123456789." || err != nil {
		t.Errorf("beside a stalled stream: %q, %v", text, err)
	}
	cancel()
	_ = resp.Body.Close()
	srv.Close()
	face.Close()
}

// TestOfficialClient: the official Go client retries, gives up and reports as it does with the real service.
func TestOfficialClient(t *testing.T) {
	for _, tc := range []struct {
		why, plan string
		attempts  int
		status    int
	}{
		{"429 is retried twice", "status=429;retry-after=1", 3, 429},
		{"503 is retried twice", "status=503", 3, 503},
		{"x-should-retry false wins", "status=503;should-retry=false", 1, 503},
		{"400 is not retried", "status=400", 1, 400},
		{"x-should-retry true wins", "status=400;should-retry=true;retry-after-ms=10", 3, 400},
		{"a reset before the headers is retried", "reset;at=0", 3, 0},
		{"a reset after the headers is not", "reset", 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, j, closeFace := newFace(t, &metronome{})
			l := memnet.New()
			srv := &http.Server{Handler: h}
			go func() { _ = srv.Serve(l) }()
			c := sdk.NewClient(option.WithBaseURL("http://x/v1/"), option.WithAPIKey("k"), option.WithUnsafeAllowHTTP(),
				option.WithHTTPClient(client(l)), option.WithHeader(fault.Header, tc.plan))
			_, err := c.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{
				Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("count")},
			})
			status := 0
			if api, ok := errors.AsType[*sdk.Error](err); ok {
				status = api.StatusCode
			}
			if err == nil || status != tc.status {
				t.Errorf("%s: error %v, status %d, want %d", tc.why, err, status, tc.status)
			}
			_ = srv.Close()
			closeFace()
			synctest.Wait()
			all := j.Records()
			for i, r := range all {
				if r.Retry != i || r.Fired == "" {
					t.Errorf("%s: record %d says retry %d, fired %q", tc.why, i, r.Retry, r.Fired)
				}
			}
			if len(all) != tc.attempts {
				t.Errorf("%s: %d attempts, want %d", tc.why, len(all), tc.attempts)
			}
		})
	}
}
