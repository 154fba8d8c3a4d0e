package openaitest_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"fakellm/openai/openaitest"
)

// TestAcceptedDrafts: with acceptance rates of 1 every pass gives the target's token and all drafts, so of 12 tokens in
// bursts of 3 the drafts are 8. Without speculation there are none.
func TestAcceptedDrafts(t *testing.T) {
	for _, row := range []struct {
		backend, drafts, rates string
		want                   int
	}{{"vllm", "2", "1,1", 8}, {"sglang", "2", "1,1", 7}, {"vllm", "0", "", 0}} {
		synctest.Test(t, func(t *testing.T) {
			s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("backend", row.backend),
				openaitest.Set("num_speculative_tokens", row.drafts), openaitest.Set("acceptance_rates", row.rates))
			_, body := post(t, s, "/completions", `{"model":"m","max_tokens":12,"ignore_eos":true,"prompt":`+prompt(100)+`}`)
			var a struct {
				Usage struct {
					Completion int `json:"completion_tokens"`
					Details    struct {
						Accepted int `json:"accepted_prediction_tokens"`
					} `json:"completion_tokens_details"`
				} `json:"usage"`
			}
			if err := json.Unmarshal([]byte(body), &a); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if a.Usage.Completion != 12 || a.Usage.Details.Accepted != row.want {
				t.Errorf("%s with %s drafts: %d of %d tokens accepted, want %d", row.backend, row.drafts,
					a.Usage.Details.Accepted, a.Usage.Completion, row.want)
			}
		})
	}
}
