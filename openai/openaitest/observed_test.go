package openaitest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fakellm/openai/openaitest"
)

// heard is what a client got of a stream: whole data events without [DONE], bytes, and the times of the first and the
// last byte.
type heard struct {
	events, bytes int64
	first, last   time.Duration
	text          string
	trailer       string
	// tokens are when the tokens of the first choice had come whole.
	tokens []time.Duration
}

// read reads a stream that was asked for at start.
func (h *heard) read(resp *http.Response, start time.Time) {
	var err error
	buf, parsed := make([]byte, 64<<10), 0
	for err == nil {
		var n int
		if n, err = resp.Body.Read(buf); n == 0 {
			continue
		}
		h.last = time.Since(start)
		if h.bytes == 0 {
			h.first = h.last
		}
		h.bytes += int64(n)
		h.text += string(buf[:n])
		for {
			event, _, whole := strings.Cut(h.text[parsed:], "\n\n")
			if !whole {
				break
			}
			if parsed += len(event) + 2; strings.Contains(event, `"index":0,"delta":{"content":"`) {
				h.tokens = append(h.tokens, h.last)
			}
		}
	}
	h.trailer = resp.Trailer.Get("Server-Timing")
	_ = resp.Body.Close()
}

// gap is the mean time between tokens as the client saw it, in ms.
func (h *heard) gap() float64 {
	n := len(h.tokens)
	if n < 2 {
		return 0
	}
	return float64(h.tokens[n-1]-h.tokens[0]) / 1e6 / float64(n-1)
}

// TestJournalTellsWhatLeft: whatever a fault does to a stream, the journal has the events, bytes and times that its
// client saw, and a gap between the tokens that it got. The engine takes 10 ms for each of eight tokens.
func TestJournalTellsWhatLeft(t *testing.T) {
	for _, row := range []struct {
		why, fault string
		status     int
		// gap is the mean time between tokens that the client got, in ms.
		gap float64
	}{
		{"nothing goes wrong", "none", 200, 10},
		{"a pause in the middle", "stall=1s;at=3", 200, 1020.0 / 7},
		{"a pause before the last token", "stall=1s;at=8", 200, 1070.0 / 7},
		{"a pause before the finish reason", "stall=1s;at=9", 200, 10},
		{"a pause before the usage", "stall=1s;at=10", 200, 10},
		{"a pause before the end", "stall=1s;at=11", 200, 10},
		{"it ends with an error event after the role", "error;at=1", 200, 0},
		{"half the second token", "truncate;at=2", 200, 0},
		{"a late begin", "hang=1s", 200, 10},
		{"it ends with an error event", "error;at=3", 200, 10},
		{"it is cut after three events", "close;at=3", 200, 10},
		{"it is reset after three events", "reset;at=3", 200, 10},
		{"half an event", "truncate;at=3", 200, 10},
		{"a reset before the first byte", "reset", 0, 0},
		{"an end before the first byte", "close", 0, 0},
		{"a pause, then an end", "stall=1s;at=2, close;at=4", 200, 1010.0 / 2},
		{"an event is broken", "malformed;at=2", 200, 10},
		{"the end comes twice", "double-done", 200, 10},
		{"the end is missing", "no-done", 200, 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			got, r := hear(t, row.fault)
			if r.Status != row.status || r.Events != got.events || r.Bytes != got.bytes {
				t.Errorf("%s: status %d, want %d; events %d of %d, bytes %d of %d:\n%s", row.why, r.Status, row.status, r.Events,
					got.events, r.Bytes, got.bytes, got.text)
			}
			o := r.Observed
			if got.bytes == 0 {
				if o != nil {
					t.Errorf("%s: observed %+v of nothing", row.why, *o)
				}
				return
			}
			near := func(ms float64, d time.Duration) bool { return math.Abs(ms-float64(d)/1e6) < 1e-3 }
			if o == nil || !near(o.TTFT, got.first) || !near(o.Total, got.last) {
				t.Fatalf("%s: observed %+v, the client saw %v and %v", row.why, o, got.first, got.last)
			}
			if math.Abs(o.ITL-row.gap) > 1e-3 {
				t.Errorf("%s: a gap of %v ms, want %v", row.why, o.ITL, row.gap)
			}
			if _, total, ok := strings.Cut(got.trailer, "observed-total;dur="); ok && !strings.HasPrefix(total, number(o.Total)) {
				t.Errorf("%s: the trailer says %s, the journal %v", row.why, total, o.Total)
			}
		})
	}
}

// TestJournalTellsOfDrips: a stream that drips ends when its last byte has.
func TestJournalTellsOfDrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, r := hear(t, "drip=1ms")
		if want := float64(got.last) / 1e6; r.Bytes != got.bytes || r.Events != got.events || math.Abs(r.Observed.Total-want) > 1e-3 {
			t.Errorf("events %d of %d, bytes %d of %d, total %v of %v", r.Events, got.events, r.Bytes, got.bytes, r.Observed.Total, want)
		}
		if r.Observed.Total < 1000 {
			t.Errorf("%d bytes took only %v ms", got.bytes, r.Observed.Total)
		}
		if math.Abs(r.Observed.ITL-got.gap()) > 1e-3 {
			t.Errorf("a gap of %v ms, the client saw %v", r.Observed.ITL, got.gap())
		}
	})
}

func number(v float64) string {
	b, _ := json.Marshal(math.Round(v*1000) / 1000) // a number can be encoded
	return string(b)
}

// hear asks for a stream of eight tokens under a fault.
func hear(t *testing.T, fault string) (heard, openaitest.Request) {
	t.Helper()
	s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("timing", "fixed"),
		openaitest.Set("prefill_ms", "10"), openaitest.Set("decode_ms", "10"))
	const body = `{"model":"m","max_tokens":8,"min_tokens":8,"ignore_eos":true,"stream":true,"messages":[{"role":"user","content":"x"}],` +
		`"stream_options":{"include_usage":true}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Sim-Fault", fault)
	var got heard
	start := time.Now()
	if resp, err := s.Client().Do(req); err == nil {
		got.read(resp, start)
	}
	got.events = int64(strings.Count(got.text, "}\n\n"))
	if strings.Contains(fault, "malformed") {
		got.events++
	}
	synctest.Wait()
	return got, s.Requests()[0]
}

// TestJournalTellsOfTheFirstChoice: its gap ends with its last token, though the other choice goes on for longer.
func TestJournalTellsOfTheFirstChoice(t *testing.T) {
	const replies = `{mappings: [{request: {}, response: {text: '{{if .Sample}}one two three four five six seven eight nine ten` +
		`{{else}}one two three{{end}}'}}]}`
	synctest.Test(t, func(t *testing.T) {
		s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("timing", "fixed"),
			openaitest.Set("prefill_ms", "10"), openaitest.Set("decode_ms", "10"), openaitest.Script(replies))
		const body = `{"model":"m","n":2,"stream":true,"messages":[{"role":"user","content":"x"}]}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL()+"/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var got heard
		got.read(resp, start)
		synctest.Wait()
		if r := s.Requests()[0]; len(got.tokens) != 3 || math.Abs(r.Observed.ITL-got.gap()) > 1e-3 || r.Observed.Total < 100 {
			t.Errorf("observed %+v, the client saw %v", r.Observed, got.tokens)
		}
	})
}

// TestNoTrailerInHTTP10: a client of the old protocol is promised none.
func TestNoTrailerInHTTP10(t *testing.T) {
	s := openaitest.Start(t)
	const body = `{"model":"m","max_tokens":2,"stream":true,"messages":[{"role":"user","content":"x"}]}`
	for version, want := range map[string]bool{"1.0": false, "1.1": true} {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(c, "POST /v1/chat/completions HTTP/%s\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
			version, len(body), body)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(c)
		_ = c.Close()
		if got := strings.Contains(string(raw), "Server-Timing"); err != nil || got != want || !strings.Contains(string(raw), "[DONE]") {
			t.Errorf("HTTP/%s: %v\n%s", version, err, raw)
		}
	}
}
