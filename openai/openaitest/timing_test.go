package openaitest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fakellm/openai/openaitest"
)

// TestMappingTiming: over the real engine the times of a mapping hold to the nanosecond where they are later than the
// engine's, and are what the server says about itself.
func TestMappingTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("timing", "fixed"),
			openaitest.Set("prefill_ms", "100"), openaitest.Set("decode_ms", "10"),
			openaitest.Script(`{mappings: [{response: {text: one two three four, timing: {ttftMs: 300, itlMs: 20}}}]}`))
		start := time.Now()
		told, resp, _ := ask(t, s, "")
		took := time.Since(start)
		if want := 300*time.Millisecond + time.Duration(told.Usage.Completion-1)*20*time.Millisecond; took != want {
			t.Errorf("%d tokens in %v, want %v", told.Usage.Completion, took, want)
		}
		if h := resp.Header.Get("Server-Timing"); !strings.Contains(h, "decode;dur=60.000, ttft;dur=300.000") {
			t.Errorf("Server-Timing: %s", h)
		}
		if p := s.Requests()[0].Predicted; p == nil || p.TTFT != 300 || p.ITL != 20 {
			t.Errorf("the journal predicts %+v", p)
		}
	})
}
