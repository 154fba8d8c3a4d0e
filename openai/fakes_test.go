package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// pacer is a Backend that gives every open ticket one token per gap, in the order of submission, from one goroutine
// with absolute deadlines. A gap of 0 completes tickets at once, token by token.
type pacer struct {
	gap    time.Duration
	limits Limits
	// spoil changes the progress of a job before it is shown; nil for none.
	spoil func(job Job, p *Progress)

	mu        sync.Mutex
	open      []*fakeTicket
	running   bool
	cancelled int
	jobs      []Job
	refuse    error
}

type fakeTicket struct {
	p    *pacer
	job  Job
	wake func()
	mu   sync.Mutex
	now  Progress
}

func (p *pacer) Limits() Limits { return p.limits }

func (p *pacer) Submit(job Job, wake func()) (Ticket, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse != nil {
		return nil, p.refuse
	}
	t := &fakeTicket{p: p, job: job, wake: wake}
	t.now.Submitted = time.Now()
	p.jobs = append(p.jobs, job)
	p.open = append(p.open, t)
	if !p.running {
		p.running = true
		go p.loop(time.Now())
	}
	return t, nil
}

func (p *pacer) loop(at time.Time) {
	var batch []*fakeTicket
	for {
		if p.gap > 0 {
			at = at.Add(p.gap)
			time.Sleep(time.Until(at))
		}
		p.mu.Lock()
		batch = append(batch[:0], p.open...)
		p.mu.Unlock()
		ended := false
		for _, t := range batch {
			ended = t.step(at) || ended
			t.wake()
		}
		p.mu.Lock()
		if ended {
			kept := p.open[:0]
			for _, t := range p.open {
				if t.Progress().End == Open {
					kept = append(kept, t)
				}
			}
			clear(p.open[len(kept):])
			p.open = kept
		}
		if len(p.open) == 0 {
			p.running = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

// step gives one token and reports whether the ticket has ended.
func (t *fakeTicket) step(at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.End != Open {
		return true
	}
	t.now.Admitted = true
	t.now.Due = at
	t.now.Tokens = min(t.now.Tokens+1, t.job.OutputTokens)
	if t.now.Tokens == t.job.OutputTokens {
		t.now.End = Completed
	}
	if t.p.spoil != nil {
		t.p.spoil(t.job, &t.now)
	}
	return t.now.End != Open
}

func (t *fakeTicket) Progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

func (t *fakeTicket) Cancel() {
	t.mu.Lock()
	first := t.now.End == Open
	if first {
		t.now.End = Cancelled
	}
	t.mu.Unlock()
	if first {
		t.p.mu.Lock()
		t.p.cancelled++
		t.p.mu.Unlock()
	}
}

// rest waits until the loop has seen that nothing is open.
func (p *pacer) rest() {
	for {
		p.mu.Lock()
		running := p.running
		p.mu.Unlock()
		if !running {
			return
		}
		time.Sleep(max(p.gap, time.Millisecond))
	}
}

func (p *pacer) openTickets() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, t := range p.open {
		if t.Progress().End == Open {
			n++
		}
	}
	return n
}

// words is a Planner whose prompts count words and whose answers count up: "t0 t1 t2 …".
type words struct {
	tokens int
	// choice overrides the answer when set.
	choice func(sample, room int) Choice
}

func (w words) ChatPrompt(r *ChatRequest) (Prompt, error) {
	n := 0
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			n += len(strings.Fields(p.Text))
		}
	}
	return Prompt{Tokens: n + 3}, nil
}

func (w words) CompletionPrompts(r *CompletionRequest) ([]Prompt, error) {
	out := make([]Prompt, len(r.Prompts))
	for i, p := range r.Prompts {
		out[i] = Prompt{Tokens: len(strings.Fields(p.Text)) + len(p.IDs)}
	}
	return out, nil
}

func (w words) plan(room, sample int, s *Sampling) Choice {
	if w.choice != nil {
		return w.choice(sample, room)
	}
	n, why := w.tokens, "stop"
	if s.IgnoreEOS || n > room {
		n, why = room, "length"
	}
	return wordChoice(n, why)
}

func wordChoice(n int, why string) Choice {
	var b strings.Builder
	c := Choice{Tokens: n, FinishReason: why, Ends: make([]uint32, n)}
	for i := range n {
		fmt.Fprintf(&b, "t%d ", i)
		c.Ends[i] = uint32(b.Len())
	}
	c.Text = b.String()
	return c
}

func (w words) ChatChoice(r *ChatRequest, _ Prompt, sample, room int) (Choice, error) {
	return w.plan(room, sample, &r.Sampling), nil
}

func (w words) CompletionChoice(r *CompletionRequest, _ Prompt, index, sample, room int) (Choice, error) {
	return w.plan(room, index*r.BestOf+sample, &r.Sampling), nil
}

// rig is a face over a pacer, on an in-memory network that works under synctest.
type rig struct {
	*Server
	pacer  *pacer
	client *http.Client
	http   *http.Server
	ln     *pipeListener
}

func newRig(t testing.TB, opts Options, p *pacer, planner Planner) *rig {
	t.Helper()
	opts.IDSeed = 1
	opts.Writers = orDefault(opts.Writers, 2)
	s, err := New(opts, p, planner)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Server: s, pacer: p, http: s.HTTPServer(), ln: newPipeListener()}
	r.client = &http.Client{Transport: &http.Transport{DialContext: r.ln.dial}}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = r.http.Serve(r.ln)
	}()
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		_ = r.http.Close()
		<-served
		s.Close()
		p.rest()
	})
	return r
}

// post sends a JSON body and returns the response.
func (r *rig) post(t testing.TB, path, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// ask posts and reads everything.
func (r *rig) ask(t testing.TB, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	resp := r.post(t, path, body, header...)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the answer: %v after %q", err, b)
	}
	return resp, string(b)
}

// pipeListener is an in-memory network.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case l.conns <- b:
		return a, nil
	case <-l.done:
		return nil, errors.New("listener closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// events splits a stream into the payloads of its events and checks its framing.
func events(t testing.TB, stream string) []string {
	t.Helper()
	var out []string
	for ev := range bytes.SplitSeq([]byte(stream), []byte("\n\n")) {
		if len(ev) == 0 {
			continue
		}
		payload, ok := bytes.CutPrefix(ev, []byte("data: "))
		if !ok || bytes.ContainsRune(payload, '\n') {
			t.Fatalf("event %q is not one data line", ev)
		}
		out = append(out, string(payload))
	}
	if !strings.HasSuffix(stream, "\n\n") {
		t.Fatalf("stream does not end with an empty line: %q", stream)
	}
	return out
}
