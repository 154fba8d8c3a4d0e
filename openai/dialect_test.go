package openai

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStopMembers: each engine has its own name for the stop string that ended an answer.
func TestStopMembers(t *testing.T) {
	for d, want := range map[Dialect]string{
		DialectVLLM: `"finish_reason":"stop","stop_reason":"END"}`, DialectSGLang: `"finish_reason":"stop","matched_stop":"END"}`,
		DialectOpenAI: `"finish_reason":"stop"}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			plan := words{choice: func(int, int) Choice {
				c := wordChoice(2, "stop")
				c.StopReason = "END"
				return c
			}}
			r := newRig(t, Options{Dialect: d}, &pacer{gap: time.Millisecond}, plan)
			for _, body := range []string{hello, streaming(hello, "")} {
				if _, got := r.ask(t, chatPath, body); !strings.Contains(got, want) {
					t.Errorf("%s: %s lacks %s", d, got, want)
				}
			}
			for _, body := range []string{textWith(`"n":1`), textWith(`"stream":true`)} {
				if _, got := r.ask(t, textPath, body); !strings.Contains(got, want) {
					t.Errorf("%s: %s lacks %s", d, got, want)
				}
			}
		})
	}
}

// TestTokenIDs: with return_token_ids every token is accounted for, whole and streamed, on both routes.
func TestTokenIDs(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{})
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{gap: time.Millisecond}
		r := newRig(t, Options{Dialect: DialectVLLM}, p, planner)
		const more = `,"return_token_ids":true,"max_tokens":6`
		for path, body := range map[string]string{chatPath: hello, textPath: `{"model":"m","prompt":"hello there"}`} {
			body = strings.TrimSuffix(body, "}") + more + "}"
			_, whole := r.ask(t, path, body)
			job := p.jobs[len(p.jobs)-1]
			list := strings.ReplaceAll(fmt.Sprint(job.Output), " ", ",")
			prompt := strings.ReplaceAll(fmt.Sprint(job.Prompt), " ", ",")
			if !strings.Contains(whole, `"token_ids":`+list) || !strings.Contains(whole, `"prompt_token_ids":`+prompt) {
				t.Errorf("%s: %s lacks %s or %s", path, whole, list, prompt)
			}
			_, stream := r.ask(t, path, streaming(body, ""))
			for _, id := range job.Output {
				if !strings.Contains(stream, fmt.Sprintf(`"token_ids":[%d]`, id)) {
					t.Errorf("%s: no event has token %d: %s", path, id, stream)
				}
			}
		}
	})
}
