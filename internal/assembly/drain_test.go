package assembly_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fakellm/engine/drive"
	"fakellm/internal/assembly"
	"fakellm/internal/memnet"
)

// startMemory runs a server of the given settings inside a bubble, until Drain.
func startMemory(t *testing.T, set ...string) (*assembly.Server, *memnet.Listener) {
	t.Helper()
	c, err := assembly.Settings(append([]string{"log_level=error"}, set...))
	if err != nil {
		t.Fatal(err)
	}
	s, err := assembly.NewServer(&c, assembly.Options{Sleeper: drive.NewTimerSleeper()})
	if err != nil {
		t.Fatal(err)
	}
	l := memnet.New()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, l
}

// TestDrainWaitsForAnswersOnly: connections on which nothing, half a header or half a body has come hold nothing up.
func TestDrainWaitsForAnswersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := startMemory(t)
		const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
		for _, sent := range []string{"", "POST /v1/chat", head} {
			c, err := l.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if _, err := io.WriteString(c, sent); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s.Drain(ctx)
		if took := time.Since(start); took > 10*time.Millisecond { // of the bubble's time: net/http looks every few ms
			t.Errorf("draining took %s though no answer was under way", took)
		}
	})
}

// TestDrainTellsWhatItCuts: answers that are still open when the time is up end with an error instead of silence, and
// are counted; one that can finish does.
func TestDrainTellsWhatItCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := startMemory(t, "timing=fixed", "prefill_ms=10", "decode_ms=10")
		client := &http.Client{Transport: &http.Transport{DialContext: l.Dial}}
		defer client.CloseIdleConnections()
		ask := func(more string, got *string) {
			body := `{"model":"m","ignore_eos":true,"messages":[{"role":"user","content":"Hi"}],` + more + `}`
			resp, err := client.Post("http://fakellm.test/v1/chat/completions", "application/json", strings.NewReader(body))
			if err != nil {
				*got = err.Error()
				return
			}
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			*got = resp.Status + " " + string(b)
			if err != nil {
				*got += err.Error()
			}
		}
		var short, whole, stream string
		go ask(`"max_tokens":20`, &short)
		go ask(`"max_tokens":2000`, &whole)
		go ask(`"max_tokens":2000,"stream":true`, &stream)
		time.Sleep(50 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		counts := s.Drain(ctx)
		synctest.Wait()
		if counts.Cut != 2 {
			t.Errorf("%d cut, want 2", counts.Cut)
		}
		if !strings.HasPrefix(short, "200") || !strings.Contains(short, `"length"`) {
			t.Errorf("the short answer: %s", short)
		}
		if !strings.HasPrefix(whole, "503") || !strings.Contains(whole, "shutting down") {
			t.Errorf("the whole answer: %s", whole)
		}
		if !strings.HasPrefix(stream, "200") || !strings.Contains(stream, `"error":{`) || strings.Contains(stream, "EOF") {
			t.Errorf("the stream: …%s", stream[max(0, len(stream)-300):])
		}
	})
}

// TestDrainWaitsForTheWire: an answer may be on its way longer than the engine works on it. Meanwhile /ready says no, and
// what does not get through in time is counted.
func TestDrainWaitsForTheWire(t *testing.T) {
	for _, row := range []struct {
		why  string
		time time.Duration
		cut  int
	}{
		{"enough time for the fault", 5 * time.Second, 0},
		{"too little", time.Second, 1},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, l := startMemory(t, "timing=fixed", "prefill_ms=10", "decode_ms=10")
				client := &http.Client{Transport: &http.Transport{DialContext: l.Dial}}
				defer client.CloseIdleConnections()
				var got string
				go func() {
					body := `{"model":"m","max_tokens":5,"ignore_eos":true,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`
					r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://fakellm.test/v1/chat/completions", strings.NewReader(body))
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("X-Sim-Fault", "stall=3s;at=2")
					resp, err := client.Do(r)
					if err != nil {
						got = err.Error()
						return
					}
					b, _ := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					got = string(b)
				}()
				time.Sleep(200 * time.Millisecond) // the engine has done its part
				ctx, cancel := context.WithTimeout(t.Context(), row.time)
				defer cancel()
				counts := make(chan assembly.Counts, 1)
				go func() { counts <- s.Drain(ctx) }()
				synctest.Wait()
				resp, err := client.Get("http://fakellm.test/ready")
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("/ready says %s while draining", resp.Status)
				}
				if c := <-counts; c.Cut != row.cut {
					t.Errorf("%d cut, want %d", c.Cut, row.cut)
				}
				synctest.Wait()
				if whole := strings.Contains(got, "[DONE]"); whole != (row.cut == 0) {
					t.Errorf("the answer: %s", got)
				}
			})
		})
	}
}
