package openaitest_test

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fakellm/openai/openaitest"
)

// recorded is a tape of what a server with these settings answers to some bodies, and its answers.
func recorded(t *testing.T, path string, bodies []string, set ...openaitest.Option) (tape string, said []string) {
	t.Helper()
	tape = filepath.Join(t.TempDir(), "tape.jsonl")
	origin := openaitest.Start(t, set...)
	rec := openaitest.Start(t, openaitest.Set("record_from", origin.BaseURL()), openaitest.Set("record_to", tape))
	for _, body := range bodies {
		resp, text := post(t, rec, path, body)
		if resp.StatusCode != 200 {
			t.Fatalf("%s: %s", body, text)
		}
		said = append(said, text)
	}
	settle(rec)
	return tape, said
}

// settle waits until everything that was passed on is on the tape: a client has its answer a moment earlier.
func settle(rec *openaitest.Server) {
	for slices.ContainsFunc(rec.Requests(), func(r openaitest.Request) bool { return r.Mapping == "upstream" && r.Observed == nil }) {
		runtime.Gosched()
	}
}

// answered is what a test asks about an answer.
type answered struct {
	Choices []struct {
		Index   int
		Text    string
		Message struct{ Content string }
		Finish  string `json:"finish_reason"`
	}
	Usage struct {
		Completion int `json:"completion_tokens"`
		Details    struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
}

func parse(t *testing.T, text string) (a answered) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestReplayOfManyPrompts: choice number prompt × n + sample says what that choice said when it was recorded.
func TestReplayOfManyPrompts(t *testing.T) {
	bodies := []string{
		`{"model":"m","prompt":["a","b"],"max_tokens":5,"ignore_eos":true}`,
		`{"model":"m","prompt":["a","b"],"n":2,"max_tokens":5,"ignore_eos":true}`,
		`{"model":"m","prompt":["a","b"],"n":2,"best_of":3,"max_tokens":5,"ignore_eos":true}`,
	}
	tape, said := recorded(t, "/completions", bodies)
	play := openaitest.Start(t, openaitest.Set("replay_tape", tape))
	for i, body := range bodies {
		want := parse(t, said[i])
		if want.Choices[0].Text == want.Choices[len(want.Choices)-1].Text {
			t.Fatal("the recorded choices do not differ")
		}
		_, text := post(t, play, "/completions", body)
		if diff := cmp.Diff(want, parse(t, text)); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

// TestReplayThinks: thinking that a model hides takes its time and is counted, again when it is replayed, and is shown
// no more than it was, whatever the dialect.
func TestReplayThinks(t *testing.T) {
	bodies := []string{
		`{"model":"o3","reasoning_effort":"high","max_completion_tokens":700,"messages":[{"role":"user","content":"x"}]}`,
		`{"model":"o3","reasoning_effort":"low","n":2,"messages":[{"role":"user","content":"x"}]}`,
	}
	tape, said := recorded(t, "/chat/completions", bodies)
	for _, dialect := range []string{"openai", "vllm"} {
		synctest.Test(t, func(t *testing.T) {
			play := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("replay_tape", tape), openaitest.Set("fast", "false"),
				openaitest.Set("dialect", dialect), openaitest.Set("timing", "fixed"), openaitest.Set("prefill_ms", "10"),
				openaitest.Set("decode_ms", "10"))
			for i, body := range bodies {
				want := parse(t, said[i])
				if want.Usage.Details.Reasoning == 0 {
					t.Fatal("the recorded answer did not think")
				}
				start := time.Now()
				_, text := post(t, play, "/chat/completions", body)
				if diff := cmp.Diff(want, parse(t, text)); diff != "" || strings.Contains(text, `"reasoning":"`) {
					t.Errorf("%s, %s: %s\n%s", dialect, body, diff, text)
				}
				if took, n := time.Since(start), len(want.Choices); took < time.Duration(want.Usage.Completion/n)*10*time.Millisecond {
					t.Errorf("%s: %d tokens in %v", body, want.Usage.Completion, took)
				}
			}
		})
	}
}

// TestJournalOfARecordedStream: events and bytes are those that the client got, usage and finish reason the endpoint's.
func TestJournalOfARecordedStream(t *testing.T) {
	tape := filepath.Join(t.TempDir(), "tape.jsonl")
	origin := openaitest.Start(t)
	rec := openaitest.Start(t, openaitest.Set("record_from", origin.BaseURL()), openaitest.Set("record_to", tape))
	const body = `{"model":"m","max_tokens":9,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true},` +
		`"messages":[{"role":"user","content":"x"}]}`
	_, text := post(t, rec, "/chat/completions", body)
	got, want := rec.Requests()[0], origin.Requests()[0]
	if got.Bytes != int64(len(text)) || got.Events != want.Events || got.Usage != want.Usage || got.Usage.Completion != 9 {
		t.Errorf("%d bytes of %d, %d events of %d, usage %+v, want %+v", got.Bytes, len(text), got.Events, want.Events, got.Usage, want.Usage)
	}
	if diff := cmp.Diff(want.FinishReasons, got.FinishReasons); diff != "" || len(got.FinishReasons) != 1 || got.Disconnected || got.Error != "" {
		t.Errorf("%+v %s", got, diff)
	}
}
