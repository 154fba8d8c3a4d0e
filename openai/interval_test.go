package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// deltas are the texts of the content events of a chat stream, one each.
func deltas(t testing.TB, stream string) []string {
	t.Helper()
	var out []string
	for _, ev := range events(t, stream) {
		var c chatChunk
		if ev == "[DONE]" || json.Unmarshal([]byte(ev), &c) != nil || len(c.Choices) == 0 {
			continue
		}
		for _, raw := range []json.RawMessage{c.Choices[0].Delta.Content, c.Choices[0].Delta.Refusal} {
			var text string
			if json.Unmarshal(raw, &text) == nil && text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

func TestStreamInterval(t *testing.T) {
	for _, row := range []struct {
		why    string
		server int
		field  string
		want   []string
	}{
		{"one token a chunk by default", 0, ``, []string{"t0 ", "t1 ", "t2 ", "t3 ", "t4 ", "t5 ", "t6 "}},
		{"the first alone, the rest at the end", 4, ``, []string{"t0 ", "t1 t2 t3 t4 ", "t5 t6 "}},
		{"the request goes before the setting", 4, `,"stream_interval":3`, []string{"t0 ", "t1 t2 t3 ", "t4 t5 t6 "}},
		{"an interval above the answer", 1, `,"stream_interval":100`, []string{"t0 ", "t1 t2 t3 t4 t5 t6 "}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{StreamInterval: row.server}, &pacer{gap: time.Millisecond}, words{tokens: 7})
			_, body := r.ask(t, chatPath, streaming(hello, row.field))
			checkOrder(t, body, 1, false)
			if diff := cmp.Diff(row.want, deltas(t, body)); diff != "" {
				t.Errorf("%s: %s", row.why, diff)
			}
		})
	}
}

// TestIntervalKeepsSegments: a bundle never mixes a refusal with content, and every token of it has its probability.
func TestIntervalKeepsSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := words{choice: func(int, int) Choice {
			c := wordChoice(10, "stop")
			c.Segments = []Segment{{Kind: Content, Positions: 4}, {Kind: Refusal, Positions: 6}}
			return c
		}}
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, plan)
		_, body := r.ask(t, chatPath, streaming(hello, `,"stream_interval":5`))
		want := []string{"t0 ", "t1 t2 t3 ", "t4 t5 t6 t7 t8 ", "t9 "}
		if diff := cmp.Diff(want, deltas(t, body)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestBurstLeavesTogether: tokens of one pass are one write, each in a chunk of its own.
func TestBurstLeavesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst = 3
		p := &pacer{gap: time.Millisecond, spoil: func(job Job, p *Progress) {
			if p.Forwards++; p.Forwards > 1 {
				p.Tokens = min(p.Tokens+burst-1, job.OutputTokens)
			}
			p.AcceptedTokens = p.Tokens - p.Forwards
			if p.Tokens == job.OutputTokens {
				p.End = Completed
			}
		}}
		r := newRig(t, Options{}, p, words{tokens: 13})
		_, body := r.ask(t, chatPath, streaming(hello, `,"stream_options":{"include_usage":true}`))
		if got := len(deltas(t, body)); got != 13 {
			t.Errorf("%d chunks, want one per token", got)
		}
		if c := r.Counters(); c.Writes != 5 {
			t.Errorf("%d writes, want 5: one token, then four bursts of %d", c.Writes, burst)
		}
		if want := fmt.Sprintf(`"accepted_prediction_tokens":%d`, 13-5); !strings.Contains(body, want) {
			t.Errorf("want %s in …%s", want, body[max(0, len(body)-400):])
		}
	})
}

// TestObfuscation: asked for, every event with a choice is padded to a multiple of 64 bytes and says the same; by default
// there is no padding (spec openai-endpoint S10).
func TestObfuscation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, words{tokens: 12})
		for _, row := range []struct {
			path, request, more string
			padded              bool
		}{
			{chatPath, hello, ``, false},
			{chatPath, hello, `,"stream_options":{"include_obfuscation":false}`, false},
			{chatPath, hello, `,"stream_options":{"include_obfuscation":true,"include_usage":true}`, true},
			{textPath, `{"model":"m","prompt":"a"}`, `,"stream_options":{"include_obfuscation":true}`, true},
		} {
			_, body := r.ask(t, row.path, streaming(row.request, row.more))
			seen := map[string]bool{}
			for _, ev := range events(t, body) {
				var c struct {
					Choices     []json.RawMessage `json:"choices"`
					Obfuscation string            `json:"obfuscation"`
				}
				if ev == "[DONE]" {
					continue
				}
				if err := json.Unmarshal([]byte(ev), &c); err != nil {
					t.Fatalf("%v: %s", err, ev)
				}
				if padded := c.Obfuscation != ""; padded != (row.padded && len(c.Choices) > 0) {
					t.Errorf("%s%s: %s", row.path, row.more, ev)
				}
				if n := len(eventStart) + len(ev) + len(eventEnd); c.Obfuscation != "" && (n%padTo != 0 || seen[c.Obfuscation]) {
					t.Errorf("%d bytes with padding %q", n, c.Obfuscation)
				}
				seen[c.Obfuscation] = true
			}
			if row.path == chatPath {
				checkOrder(t, body, 1, strings.Contains(row.more, "usage"))
			}
		}
	})
}
