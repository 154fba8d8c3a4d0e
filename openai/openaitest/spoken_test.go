package openaitest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fakellm/openai/openaitest"
)

// TestSpokenAnswersTakeTheEnginesTime: sound is paced by the engine, token by token, whatever counts the tokens.
func TestSpokenAnswersTakeTheEnginesTime(t *testing.T) {
	for _, tokenizer := range []string{"auto", "approx"} {
		synctest.Test(t, func(t *testing.T) {
			s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("timing", "fixed"),
				openaitest.Set("prefill_ms", "100"), openaitest.Set("decode_ms", "10"), openaitest.Set("tokenizer", tokenizer),
				openaitest.Script(`{mappings: [{response: {text: "one two three"}}]}`))
			start := time.Now()
			told, _, body := ask(t, s, `,"modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav"}`)
			took := time.Since(start).Round(time.Microsecond) // an arrival is served one nanosecond later
			n := told.Usage.Completion
			if n%7 != 0 || n < 14 || took != 100*time.Millisecond+time.Duration(n-1)*10*time.Millisecond {
				t.Errorf("%s: %d tokens in %v, want 100 ms and 10 for each after the first", tokenizer, n, took)
			}
			if !strings.Contains(body, `"transcript":"one two three"`) || told.Choices[0].FinishReason != "stop" {
				t.Errorf("%s: %.400s", tokenizer, body)
			}
			if got := s.Requests(); len(got) != 1 || got[0].Usage.Completion != n {
				t.Errorf("%s: the journal has %+v", tokenizer, got)
			}
		})
	}
}
