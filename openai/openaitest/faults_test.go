package openaitest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fakellm/openai/openaitest"
)

// wholeFault is what a fault makes of an answer that is no stream.
type wholeFault struct {
	why, fault string
	status     int
	// cut says that the connection ends early, after kept bytes; broken that the body is no JSON.
	cut    bool
	kept   int
	broken bool
	took   time.Duration
}

// TestFaultsOfWholeAnswers: every word does something to an answer that is no stream, or is refused by its name. The
// engine takes 10 ms for the only token.
func TestFaultsOfWholeAnswers(t *testing.T) {
	const ten, engine = 10 * time.Second, 10 * time.Millisecond
	for _, row := range []wholeFault{
		{why: "an error instead", fault: "status=418", status: 418},
		{why: "late", fault: "hang=10s", status: 200, took: ten + engine},
		{why: "a pause in the middle", fault: "stall=10s", status: 200, took: ten + engine},
		{why: "a pause behind the headers", fault: "stall=10s;at=0", status: 200, took: ten + engine},
		{why: "everything drips", fault: "drip=10s;bytes=1000;at=1", status: 200, took: engine},
		{why: "it fails when it was due", fault: "error;message=gone", status: 500, took: engine},
		{why: "it fails late", fault: "stall=10s, error;message=gone", status: 500, took: ten + engine},
		{why: "half of it", fault: "truncate", status: 200, cut: true, kept: -1, took: engine},
		{why: "ten bytes of it", fault: "truncate;bytes=10", status: 200, cut: true, kept: 10, took: engine},
		{why: "bad JSON", fault: "malformed", status: 200, broken: true, took: engine},
		{why: "bad JSON further on", fault: "malformed;at=20", status: 200, broken: true, took: engine},
		{why: "the connection is reset", fault: "reset", status: 200, cut: true, kept: -1, took: engine},
		{why: "the connection ends before anything is said", fault: "close;at=0", cut: true, took: engine},
		{why: "the connection ends", fault: "close;at=7", status: 200, cut: true, kept: 7, took: engine},
		{why: "there is no [DONE] that could be missing", fault: "no-done", status: 400},
		{why: "or come twice, whatever stands beside", fault: "stall=10s, double-done", status: 400},
	} {
		synctest.Test(t, func(t *testing.T) { row.check(t) })
	}
}

func (row wholeFault) check(t *testing.T) {
	s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("timing", "fixed"),
		openaitest.Set("prefill_ms", "10"))
	const body = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Sim-Fault", row.fault)
	start := time.Now()
	resp, err := s.Client().Do(req)
	if err != nil {
		if !row.cut || row.status != 0 {
			t.Errorf("%s (%s): %v", row.why, row.fault, err)
		}
		return
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	took := time.Since(start).Round(time.Microsecond)
	if resp.StatusCode != row.status || errors.Is(err, io.ErrUnexpectedEOF) != row.cut || took != row.took {
		t.Errorf("%s (%s): %d after %v, %v; want %d after %v: %s", row.why, row.fault, resp.StatusCode, took, err, row.status, row.took, got)
	}
	if row.cut && row.kept >= 0 && len(got) != row.kept {
		t.Errorf("%s (%s): %d bytes came, want %d", row.why, row.fault, len(got), row.kept)
	}
	if json.Valid(got) == (row.broken || row.cut) {
		t.Errorf("%s (%s): valid JSON is %v: %s", row.why, row.fault, json.Valid(got), got)
	}
	if row.status == 500 && !strings.Contains(string(got), `{"error":{"message":"gone","type":"server_error"`) {
		t.Errorf("%s (%s): %s", row.why, row.fault, got)
	}
	word, _, _ := strings.Cut(row.fault[strings.LastIndex(row.fault, " ")+1:], ";")
	if row.status == 400 && !strings.Contains(string(got), "fault "+word+": it needs a stream") {
		t.Errorf("%s: the refusal does not name %s: %s", row.why, word, got)
	}
	synctest.Wait()
	places := regexp.MustCompile(`;at=\d+`) // what came about says where
	r := s.Requests()[0]
	if all := places.ReplaceAllString(r.Fired, "") == places.ReplaceAllString(r.Fault, ""); !all || r.Status != row.status || r.Disconnected {
		t.Errorf("%s (%s): the journal has status %d, fault %q, fired %q", row.why, row.fault, r.Status, r.Fault, r.Fired)
	}
}

// TestStreamFaultInMapping: a mapping's fault that needs a stream acts on streams and is refused elsewhere; a rule's
// leaves whole answers alone.
func TestStreamFaultInMapping(t *testing.T) {
	s := openaitest.Start(t, openaitest.Script(`{mappings: [{request: {user: "my name is Ada"}, response: {text: x, fault: no-done}}]}`))
	_, resp, body := ask(t, s, "")
	if resp.StatusCode != 400 || !strings.Contains(body, "no-done") {
		t.Errorf("whole: %d %s", resp.StatusCode, body)
	}
	streamed, text := post(t, s, "/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"my name is Ada"}]}`)
	if streamed.StatusCode != 200 || strings.Contains(text, "[DONE]") {
		t.Errorf("streamed: %d %s", streamed.StatusCode, text)
	}
	s.Faults(`{faults: [{fault: no-done}]}`)
	s.Import(`{mappings: []}`)
	if resp, body := post(t, s, "/completions", `{"model":"m","prompt":"x"}`); resp.StatusCode != 200 {
		t.Errorf("a rule for streams: %d %s", resp.StatusCode, body)
	}
	if _, text := post(t, s, "/completions", `{"model":"m","prompt":"x","stream":true}`); strings.Contains(text, "[DONE]") {
		t.Errorf("a rule for streams does not act on one: %s", text)
	}
}
