package openaitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"fakellm/engine/drive"
	"fakellm/internal/assembly"
	"fakellm/internal/memnet"
)

// Server is a running fake LLM server. It is closed when the test ends.
type Server struct {
	// URL is the address without a path.
	URL string

	t      testing.TB
	client *http.Client
}

// Option changes a server before it starts.
type Option func(*options)

type options struct {
	settings []string
	script   string
	memory   bool
}

// Set gives a setting by its key in a settings file, for example Set("timing", "fixed").
func Set(key, value string) Option {
	return func(o *options) { o.settings = append(o.settings, key+"="+value) }
}

// Script gives scripted replies, in the form of a mappings file.
func Script(yaml string) Option { return func(o *options) { o.script = yaml } }

// InMemory serves over in-memory connections; use [Server.Client] to reach it. Needed under testing/synctest.
func InMemory() Option { return func(o *options) { o.memory = true } }

// Start runs a server until the test ends. By default it takes no time at all (the setting "fast"); set "fast" to
// "false", or a timing model, to have it keep time. Bad settings end the test.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	o := options{settings: []string{"fast=true", "log_level=error"}}
	for _, opt := range opts {
		opt(&o)
	}
	cfg, err := assembly.Settings(o.settings)
	if err != nil {
		t.Fatalf("openaitest: %v", err)
	}
	build := assembly.Options{Version: "test"}
	if o.memory {
		build.Sleeper = drive.NewTimerSleeper()
	}
	run, err := assembly.NewServer(&cfg, build)
	if err != nil {
		t.Fatalf("openaitest: %v", err)
	}
	s := &Server{t: t, client: &http.Client{Transport: &http.Transport{}}}
	l, err := s.listen(o.memory)
	if err != nil {
		_ = run.Close()
		t.Fatalf("openaitest: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Serve(l) }()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		if err := run.Close(); err != nil {
			t.Errorf("openaitest: closing: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("openaitest: serving: %v", err)
		}
	})
	if o.script != "" {
		s.Import(o.script)
	}
	return s
}

func (s *Server) listen(memory bool) (net.Listener, error) {
	if !memory {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err == nil {
			s.URL = "http://" + l.Addr().String()
		}
		return l, err
	}
	l := memnet.New()
	s.URL = "http://fakellm.test"
	s.client.Transport = &http.Transport{DialContext: l.Dial}
	return l, nil
}

// BaseURL is what a client library wants as its base URL.
func (s *Server) BaseURL() string { return s.URL + "/v1" }

// Client returns an HTTP client that reaches the server.
func (s *Server) Client() *http.Client { return s.client }

// Import adds scripted replies, in the form of a mappings file. A bad file ends the test.
func (s *Server) Import(yaml string) {
	s.t.Helper()
	s.call(http.MethodPost, "/sim/mappings/import", yaml, nil)
}

// Faults replaces the fault rules, in the form of a faults file. A bad file ends the test.
func (s *Server) Faults(yaml string) {
	s.t.Helper()
	s.call(http.MethodPut, "/sim/faults", yaml, nil)
}

// Requests returns what the journal knows of the requests so far, the oldest first.
func (s *Server) Requests() []Request {
	s.t.Helper()
	var page struct {
		Requests []Request `json:"requests"`
	}
	s.call(http.MethodPost, "/sim/requests/find", `{}`, &page)
	return page.Requests
}

// Request is the part of a journal record that tests look at most.
type Request struct {
	ID           string `json:"id"`
	Route        string `json:"route"`
	Model        string `json:"model"`
	Body         string `json:"body"`
	Status       int    `json:"status"`
	Retry        int    `json:"retry"`
	Stream       bool   `json:"stream"`
	Disconnected bool   `json:"disconnected"`
	Mapping      string `json:"mapping"`
	// Fault is what was to go wrong, Fired what of it came about.
	Fault string `json:"fault"`
	Fired string `json:"fault_fired"`
	// FinishReasons are those of the choices, Error is what went wrong on our side.
	FinishReasons []string `json:"finish_reasons"`
	Error         string   `json:"error"`
	Usage         struct {
		Prompt     int `json:"prompt_tokens"`
		Cached     int `json:"cached_tokens"`
		Completion int `json:"completion_tokens"`
		Reasoning  int `json:"reasoning_tokens"`
	} `json:"usage"`
	// Events and Bytes were written as a stream.
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
	// Predicted are the times of the model, Observed those of a stream's written bytes; nil if there are none.
	Predicted *Latency `json:"predicted"`
	Observed  *Latency `json:"observed"`
}

// Latency is the time to the first token, the mean gap between tokens and the time to the last, in milliseconds.
type Latency struct {
	TTFT  float64 `json:"ttft_ms"`
	ITL   float64 `json:"itl_ms"`
	Total float64 `json:"total_ms"`
}

// call makes a control request; anything but success ends the test.
func (s *Server) call(method, path, body string, out any) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatalf("openaitest: %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatalf("openaitest: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, data)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		s.t.Fatalf("openaitest: %v", err)
	}
}
