package openaitest_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"fakellm/openai/openaitest"
)

// readUntil asks for an answer, reads it up to a line that begins with the given text and leaves.
func readUntil(t *testing.T, s *openaitest.Server, until, fault string) {
	t.Helper()
	const body = `{"model":"m","max_tokens":3,"min_tokens":3,"ignore_eos":true,"stream":true,"messages":[{"role":"user","content":"x"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Sim-Fault", fault)
	req.Close = true
	conn, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn.Body)
	for line := ""; !strings.HasPrefix(line, until); {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	_ = conn.Body.Close()
}

// counts are the disconnects that the server counts, and the ones that its journal knows.
func counts(t *testing.T, s *openaitest.Server) (counted, known int) {
	t.Helper()
	status, raw := request(t, s, http.MethodGet, "/sim/state", func(*http.Request) {})
	var state struct {
		Counts struct{ Disconnected int }
	}
	if err := json.Unmarshal(raw, &state); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	for _, r := range s.Requests() {
		if r.Disconnected {
			known++
		}
	}
	return state.Counts.Disconnected, known
}

// TestLeavingWithTheAnswer: who closes with [DONE] in hand has not left early; who closes before it has.
func TestLeavingWithTheAnswer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why, until, fault string
		want              int
	}{
		{"everything was delivered", "data: [DONE]", "", 0},
		{"everything was delivered behind a fault", "data: [DONE]", "stall=1ms;at=2", 0},
		{"the answer had just begun", "data: {", "", 1},
		{"the end was waiting behind a fault", "data: {", "stall=1s;at=1", 1},
	} {
		for range 40 {
			synctest.Test(t, func(t *testing.T) {
				s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("timing", "fixed"),
					openaitest.Set("prefill_ms", "1"), openaitest.Set("decode_ms", "1"))
				readUntil(t, s, row.until, row.fault)
				synctest.Wait()
				if counted, known := counts(t, s); counted != row.want || known != row.want {
					t.Fatalf("%s: %d disconnects counted, %d in the journal, want %d", row.why, counted, known, row.want)
				}
			})
		}
	}
}

// TestLeavingOverTCP: the same where the kernel tells of the end.
func TestLeavingOverTCP(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t)
	for range 100 {
		readUntil(t, s, "data: [DONE]", "")
	}
	if counted, known := counts(t, s); counted != 0 || known != 0 {
		t.Errorf("%d disconnects counted, %d in the journal, want none", counted, known)
	}
}

// TestErrorEventEndsCleanly: a stream that a fault ends with an error event is whole for HTTP, over TCP too.
func TestErrorEventEndsCleanly(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t)
	for _, fault := range []string{"error;at=3", "stall=1ms;at=1, error;at=2"} {
		const body = `{"model":"m","max_tokens":8,"stream":true,"messages":[{"role":"user","content":"x"}]}`
		if _, text := post(t, s, "/chat/completions", body, "X-Sim-Fault", fault); !strings.Contains(text, `data: {"error"`) {
			t.Errorf("%s: %s", fault, text)
		}
	}
}
