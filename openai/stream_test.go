package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// checkOrder is the automaton of S1–S6 for chat streams of n choices. It returns the text of each.
func checkOrder(t testing.TB, stream string, n int, withUsage bool) []string {
	t.Helper()
	evs := events(t, stream)
	if evs[len(evs)-1] != "[DONE]" {
		t.Fatalf("last event is %q", evs[len(evs)-1])
	}
	type state struct{ opened, finished bool }
	states := make([]state, n)
	texts := make([]strings.Builder, n)
	var first chatChunk
	usages := 0
	for i, ev := range evs[:len(evs)-1] {
		var c chatChunk
		if err := json.Unmarshal([]byte(ev), &c); err != nil {
			t.Fatalf("event %d %q: %v", i, ev, err)
		}
		if i == 0 {
			first = c
		}
		if c.ID != first.ID || c.Created != first.Created || c.Model != first.Model || c.Object != "chat.completion.chunk" {
			t.Errorf("event %d changes identity: %s", i, ev)
		}
		hasUsage := len(c.Usage) > 0 && string(c.Usage) != "null"
		if !withUsage && strings.Contains(ev, `"usage"`) {
			t.Errorf("event %d carries usage unasked: %s", i, ev)
		}
		if hasUsage {
			usages++
			if c.Choices == nil || len(c.Choices) != 0 || i != len(evs)-2 {
				t.Errorf("usage event is not the last without choices: %s", ev)
			}
			continue
		}
		if len(c.Choices) != 1 {
			t.Fatalf("event %d has %d choices", i, len(c.Choices))
		}
		ch := c.Choices[0]
		st := &states[ch.Index]
		if (ch.Delta.Role != "") == st.opened || st.finished {
			t.Errorf("event %d out of order in choice %d: %s", i, ch.Index, ev)
		}
		st.opened = true
		if !strings.Contains(ev, `"finish_reason":`) {
			t.Errorf("event %d lacks finish_reason: %s", i, ev)
		}
		st.finished = ch.FinishReason != nil
		var text string
		if len(ch.Delta.Content) > 0 {
			_ = json.Unmarshal(ch.Delta.Content, &text)
		}
		texts[ch.Index].WriteString(text)
	}
	for i, st := range states {
		if !st.finished {
			t.Errorf("choice %d never finished", i)
		}
	}
	if want := map[bool]int{true: 1}[withUsage]; usages != want {
		t.Errorf("%d usage events, want %d", usages, want)
	}
	out := make([]string, n)
	for i := range texts {
		out[i] = texts[i].String()
	}
	return out
}

func TestManyChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := words{choice: func(sample, _ int) Choice { return wordChoice(sample+1, "stop") }}
		p := &pacer{gap: time.Millisecond}
		r := newRig(t, Options{}, p, plan)
		_, body := r.ask(t, chatPath, streaming(hello, `,"n":4,"stream_options":{"include_usage":true}`))
		texts := checkOrder(t, body, 4, true)
		if want := []string{"t0 ", "t0 t1 ", "t0 t1 t2 ", "t0 t1 t2 t3 "}; !slices.Equal(texts, want) {
			t.Errorf("texts %q", texts)
		}
		evs := events(t, body)
		var last chatChunk
		if err := json.Unmarshal([]byte(evs[len(evs)-2]), &last); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(last.Usage), `"prompt_tokens":5,"completion_tokens":10,"total_tokens":15`) {
			t.Errorf("usage %s", last.Usage)
		}
		if len(p.jobs) != 4 || p.jobs[0].N != 4 {
			t.Errorf("jobs %+v", p.jobs)
		}
	})
}

func TestCompletionStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, words{tokens: 2})
		_, body := r.ask(t, textPath, `{"model":"m","prompt":["a b","c"],"n":2,"stream":true,"stream_options":{"include_usage":true}}`)
		evs := events(t, body)
		got := map[int]string{}
		ends := 0
		for _, ev := range evs[:len(evs)-2] {
			var c textResponse
			if err := json.Unmarshal([]byte(ev), &c); err != nil {
				t.Fatal(err)
			}
			if c.Object != "text_completion" || !strings.HasPrefix(c.ID, "cmpl-") || len(c.Choices) != 1 {
				t.Errorf("chunk %s", ev)
			}
			got[c.Choices[0].Index] += c.Choices[0].Text
			if c.Choices[0].FinishReason != nil {
				ends++
			}
		}
		if len(got) != 4 || ends != 4 || got[3] != "t0 t1 " {
			t.Errorf("choices %v, %d ends", got, ends)
		}
		if !strings.Contains(evs[len(evs)-2], `"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":8,`) {
			t.Errorf("usage event %s", evs[len(evs)-2])
		}
	})
}

func TestCompletionWholeBestOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, words{tokens: 2})
		_, body := r.ask(t, textPath, `{"model":"m","prompt":["a b","c"],"n":1,"best_of":3}`)
		var got textResponse
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Choices) != 2 || got.Choices[1].Index != 1 {
			t.Errorf("choices %+v", got.Choices)
		}
		if !strings.Contains(string(got.Usage), `"completion_tokens":12`) {
			t.Errorf("usage %s", got.Usage)
		}
	})
}

func TestClientLeaves(t *testing.T) {
	for _, stream := range []bool{true, false} {
		for _, after := range []time.Duration{5 * time.Millisecond, 55 * time.Millisecond} {
			t.Run(fmt.Sprint(stream, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := &pacer{gap: 10 * time.Millisecond}
					r := newRig(t, Options{}, p, words{tokens: 100})
					ctx, cancel := context.WithCancel(t.Context())
					body := hello
					if stream {
						body = streaming(hello, "")
					}
					req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://x"+chatPath, strings.NewReader(body))
					time.AfterFunc(after, cancel)
					resp, err := r.client.Do(req)
					if err == nil {
						_, err = io.ReadAll(resp.Body)
						_ = resp.Body.Close()
					}
					if !errors.Is(err, context.Canceled) {
						t.Errorf("client saw %v", err)
					}
					synctest.Wait()
					if p.openTickets() != 0 || p.cancelled != 1 {
						t.Errorf("%d tickets open, %d cancelled", p.openTickets(), p.cancelled)
					}
					if c := r.Counters(); c.Aborted != 1 || c.Streams != 0 {
						t.Errorf("counters %+v", c)
					}
				})
			})
		}
	}
}

func TestRefusedBeforeFirstByte(t *testing.T) {
	for _, row := range []struct {
		why    string
		end    EndKind
		status int
		want   string
	}{
		{"the engine can never run it", Rejected, 400, `"message":"the engine cannot run this request: raise num_gpu_blocks"`},
		{"the engine broke", Failed, 500, `"type":"server_error"`},
		{"shutdown", Cancelled, 503, `"code":"server_shutting_down"`},
	} {
		for _, body := range []string{hello, streaming(hello, ""), streaming(hello, `,"n":3`)} {
			synctest.Test(t, func(t *testing.T) {
				p := &pacer{gap: time.Millisecond, spoil: func(_ Job, p *Progress) {
					*p = Progress{End: row.end, Why: "raise num_gpu_blocks"}
				}}
				r := newRig(t, Options{}, p, words{tokens: 5})
				resp, got := r.ask(t, chatPath, body)
				if resp.StatusCode != row.status || !strings.Contains(got, row.want) ||
					resp.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s: %d %v %s", row.why, resp.StatusCode, resp.Header, got)
				}
			})
		}
	}
}

func TestFailsInBand(t *testing.T) {
	for dialect, want := range map[Dialect]string{
		DialectOpenAI: `{"error":{"message":"the engine gave up: preempted for ever","type":"server_error","param":null,"code":null}}`,
		DialectSGLang: `{"error":{"message":"the engine gave up: preempted for ever","type":"InternalServerError","param":null,"code":500}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &pacer{gap: time.Millisecond, spoil: func(_ Job, p *Progress) {
				if p.Tokens == 3 {
					p.End, p.Why = Failed, "preempted for ever"
				}
			}}
			r := newRig(t, Options{Dialect: dialect}, p, words{tokens: 5})
			resp, got := r.ask(t, chatPath, streaming(hello, `,"stream_options":{"include_usage":true}`))
			evs := events(t, got)
			if resp.StatusCode != 200 || evs[len(evs)-1] != want {
				t.Errorf("%s: last event %s", dialect, evs[len(evs)-1])
			}
			if strings.Contains(got, `"prompt_tokens"`) {
				t.Errorf("a cut stream carries usage: %s", got)
			}
		})
	}
}

// fullSocket is a connection whose kernel never tells how much is waiting.
type fullSocket struct{ syscall.RawConn }

func (fullSocket) Control(func(uintptr)) error { return errors.New("not a socket") }

// TestHandoverOfTheEnd: a writer renders the end of a stream and cannot get rid of it; the handler's goroutine writes it,
// once.
func TestHandoverOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, words{tokens: 1})
		r.http.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, &socket{raw: fullSocket{}, waiting: socketRoom})
		}
		for range 3 {
			_, got := r.ask(t, chatPath, streaming(hello, `,"stream_options":{"include_usage":true}`))
			checkOrder(t, got, 1, true)
		}
		if n := r.Counters().Handovers; n != 3 {
			t.Errorf("%d handovers, want every stream's", n)
		}
	})
}

// TestFailureCancelsTheOthers: when one choice fails, the slots of its neighbours are freed.
func TestFailureCancelsTheOthers(t *testing.T) {
	for _, body := range []string{withField(`"n":3`), withField(`"n":3,"stream":true`)} {
		synctest.Test(t, func(t *testing.T) {
			p := &pacer{gap: time.Millisecond, spoil: func(j Job, p *Progress) {
				if p.Tokens == 3 && j.OutputTokens == 101 {
					p.End, p.Why = Failed, "broke"
				}
			}}
			r := newRig(t, Options{}, p, words{choice: func(i, _ int) Choice { return wordChoice(100+i, "stop") }})
			if _, got := r.ask(t, chatPath, body); !strings.Contains(got, "broke") {
				t.Errorf("answer %s", got)
			}
			synctest.Wait()
			if p.openTickets() != 0 || p.cancelled != 2 {
				t.Errorf("%d tickets open, %d cancelled", p.openTickets(), p.cancelled)
			}
		})
	}
}

func TestSubmitRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{refuse: &APIError{Status: 429, Type: "requests", Code: "rate_limit_exceeded", Message: "slow down", RetryAfter: 2 * time.Second}}
		r := newRig(t, Options{}, p, words{tokens: 5})
		resp, got := r.ask(t, chatPath, streaming(hello, ""))
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "2" || !strings.Contains(got, "slow down") {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, got)
		}
	})
}

func TestContinuousUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Dialect: DialectVLLM}, &pacer{gap: time.Millisecond}, words{tokens: 3})
		_, got := r.ask(t, chatPath, streaming(hello, `,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`))
		evs := events(t, got)
		for i, want := range []int{0, 1, 2, 3, 3, 3} {
			if !strings.Contains(evs[i], fmt.Sprintf(`"completion_tokens":%d,`, want)) {
				t.Errorf("event %d: %s, want %d completion tokens", i, evs[i], want)
			}
		}
	})
}

func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{WriteTimeout: time.Second}, &pacer{gap: 10 * time.Millisecond}, words{tokens: 3})
		for range 3 {
			_, got := r.ask(t, chatPath, streaming(hello, ""))
			checkOrder(t, got, 1, false)
			// Longer than the write deadline: it must not outlive its stream.
			time.Sleep(5 * time.Second)
		}
	})
}

// TestReaderStops: a client that stays but never reads is given up after the write timeout; its slot is freed.
func TestReaderStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{gap: 10 * time.Millisecond}
		r := newRig(t, Options{WriteTimeout: time.Second}, p, words{tokens: 10000})
		resp := r.post(t, chatPath, streaming(hello, ""))
		defer func() { _ = resp.Body.Close() }()
		time.Sleep(20 * time.Second)
		if p.openTickets() != 0 || r.Counters().Aborted != 1 {
			t.Errorf("%d tickets open, counters %+v", p.openTickets(), r.Counters())
		}
	})
}

// TestWriterNeverWaits: a handler's goroutine may hold a stream while it waits for a client that does not read. A
// shared writer that comes by, for an event that was queued before the handover, must leave it alone.
func TestWriterNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{answer: answer{own: make(chan struct{}, 1)}}
		s.started.Store(true)
		s.mu.Lock() // the handler's goroutine, in the middle of a write
		defer s.mu.Unlock()
		s.visit(nil)
		select {
		case <-s.own:
		default:
			t.Error("nobody will look at the event that the writer left")
		}
	})
}

// faultyProbs panics at a position.
type faultyProbs struct{ at int }

func (f faultyProbs) At(i, _ int) (TokenProb, []TokenProb, bool) {
	if i == f.at {
		panic("no such token")
	}
	return TokenProb{Token: "t", Logprob: -1}, nil, true
}

// TestPanicOfOneAnswer: what goes wrong in one answer ends that answer, wherever it is rendered, and no other.
func TestPanicOfOneAnswer(t *testing.T) {
	for _, row := range []struct {
		why, more string
		at        int
		status    int
		cut       bool
		writer    bool
	}{
		{"a whole answer", "", 3, 500, false, false},
		{"a stream before its header", `,"stream":true`, 0, 500, false, false},
		{"a stream under way", `,"stream":true`, 3, 200, true, false},
		{"a shared writer's stream before its header", `,"stream":true`, 0, 500, false, true},
		{"a shared writer's stream under way", `,"stream":true`, 3, 200, true, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				healthy := true
				r := newRig(t, Options{Writers: 1}, &pacer{gap: time.Millisecond}, words{choice: func(int, int) Choice {
					c := wordChoice(5, "stop")
					if !healthy {
						c.Probs = faultyProbs{row.at}
					}
					return c
				}})
				if row.writer {
					r.http.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
						return context.WithValue(ctx, connKey{}, &socket{raw: fullSocket{}})
					}
				}
				healthy = false
				resp := r.post(t, chatPath, withField(`"logprobs":true`+row.more))
				b, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != row.status || (err != nil) != row.cut || strings.Contains(string(b), "[DONE]") {
					t.Errorf("%d %v %s", resp.StatusCode, err, b)
				}
				healthy = true
				if _, got := r.ask(t, chatPath, streaming(hello, "")); !strings.HasSuffix(got, "[DONE]\n\n") {
					t.Errorf("the next answer: %s", got)
				}
			})
		})
	}
}
