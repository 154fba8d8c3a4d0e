package reply

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fakellm/tokenize"
)

// TestAnswerContinuesPrompt is what a prefix cache lives on: turn by turn, the prompt begins with the last prompt and
// the ids of the answer to it.
func TestAnswerContinuesPrompt(t *testing.T) {
	for _, name := range tokenize.Names() {
		for _, mode := range []string{ModeFiller, ModeEcho} {
			e := encoding(t, name)
			p := planner(t, name, Config{Mode: mode, Length: Length{Mean: 40, Sigma: 1}})
			rapid.Check(t, func(t *rapid.T) {
				var chat tokenize.Chat
				var before []uint32
				for range 3 {
					user := rapid.StringMatching(`[ -~\n]{1,40}`).Draw(t, "user")
					chat.Messages = append(chat.Messages, tokenize.Message{Role: "user", Content: user})
					prompt := e.AppendChat(nil, chat)
					if !slices.Equal(prompt[:len(before)], before) {
						t.Fatal("the prompt does not begin with the last prompt and its answer")
					}
					r := Request{Prompt: prompt, User: user, Limits: Limits{Room: lots}}
					if rapid.Bool().Draw(t, "limited") {
						r.Limits.Max, r.Limits.HasMax = rapid.IntRange(1, 30).Draw(t, "limit"), true
					}
					plan := p.Plan(&r)
					chat.Messages = append(chat.Messages, tokenize.Message{Role: "assistant", Content: plan.Text})
					before = slices.Concat(prompt, plan.IDs)
				}
			})
		}
	}
}
