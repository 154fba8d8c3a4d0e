package openai

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fakellm/openai/reply"
	"fakellm/tokenize"
)

func realPlanner(t testing.TB, o PlannerOptions) *ReplyPlanner {
	t.Helper()
	p, err := NewPlanner(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"gpt-4", "gpt-4o"} {
		if err := p.Load(m); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// TestNextTurnContinues: an answer sent back is the continuation of its prompt, so that a prefix cache finds it.
func TestNextTurnContinues(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{gap: time.Millisecond}
		r := newRig(t, Options{}, p, planner)
		_, body := r.ask(t, chatPath, hello)
		var got chatResponse
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		answer := *got.Choices[0].Message.Content
		second := `{"model":"m","messages":[{"role":"user","content":"hello there"},{"role":"assistant","content":` +
			string(marshal(answer)) + `},{"role":"user","content":"and then?"}]}`
		r.ask(t, chatPath, second)
		before := slices.Concat(p.jobs[0].Prompt, p.jobs[0].Output)
		if after := p.jobs[1].Prompt; !slices.Equal(before, after[:len(before)]) {
			t.Errorf("prompt 2 does not start with prompt 1 and its answer")
		}
		if got.Usage.PromptTokens != len(p.jobs[0].Prompt) || got.Usage.CompletionTokens != len(p.jobs[0].Output) {
			t.Errorf("usage %+v", got.Usage)
		}
	})
}

func TestRealLengths(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{Reply: reply.Config{Length: reply.Length{Kind: reply.LengthFixed, Mean: 20}}})
	enc, err := tokenize.Get(tokenize.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond, limits: Limits{MaxModelLen: 500}}, planner)
		for _, row := range []struct {
			why, more string
			tokens    int
			finish    string
		}{
			{"its own length", ``, 20, "stop"},
			{"a lower limit cuts", `,"max_tokens":7`, 7, "length"},
			{"a higher one does not", `,"max_completion_tokens":70`, 20, "stop"},
			{"exactly N", `,"max_tokens":33,"ignore_eos":true`, 33, "length"},
			{"Dynamo's old place for it", `,"max_tokens":33,"nvext":{"ignore_eos":true}`, 33, "length"},
			{"at least N", `,"min_tokens":41`, 41, "stop"},
		} {
			_, body := r.ask(t, chatPath, strings.TrimSuffix(hello, "}")+row.more+"}")
			var got chatResponse
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			c := got.Choices[0]
			if n := enc.Count(*c.Message.Content); n != row.tokens || got.Usage.CompletionTokens != n || c.FinishReason != row.finish {
				t.Errorf("%s: %d tokens of text, usage %+v, finish %s", row.why, n, got.Usage, c.FinishReason)
			}
		}
	})
}

func TestEchoedPrompt(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, planner)
		for _, more := range []string{"", `,"stream":true`} {
			_, body := r.ask(t, textPath, `{"model":"m","prompt":"Once upon a time, 日本語 🙂","echo":true,"max_tokens":4`+more+`}`)
			text := ""
			if more == "" {
				body = "data: " + body + "\n\ndata: [DONE]\n\n"
			}
			evs := events(t, body)
			for _, ev := range evs[:len(evs)-1] {
				var c textResponse
				if err := json.Unmarshal([]byte(ev), &c); err != nil {
					t.Fatal(err)
				}
				text += c.Choices[0].Text
			}
			if !strings.HasPrefix(text, "Once upon a time, 日本語 🙂") || len(text) < 35 {
				t.Errorf("echoed %q", text)
			}
		}
	})
}

func TestMediaCosts(t *testing.T) {
	// A 1×1 GIF.
	const gif = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
	for _, row := range []struct {
		part Part
		want int
	}{
		{Part{Kind: "image_url", Data: gif, Detail: "high"}, 255},
		{Part{Kind: "image_url", Data: gif, Detail: "low"}, 85},
		{Part{Kind: "image_url", Data: "https://x/y.png"}, 765},
		{Part{Kind: "input_audio", Data: strings.Repeat("AAAA", 1600), Detail: "wav"}, 1},
		{Part{Kind: "file", Data: "data:application/pdf;base64," + strings.Repeat("AAAA", 100)}, 75},
	} {
		if got := templatePart(row.part); got.Tokens != row.want || got.Media == 0 {
			t.Errorf("%s %s: %d tokens, want %d", row.part.Kind, row.part.Detail, got.Tokens, row.want)
		}
	}
}
