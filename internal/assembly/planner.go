package assembly

import (
	"fmt"

	"fakellm/config"
	"fakellm/openai"
	"fakellm/openai/reply"
)

// planner says what is answered, as the settings want it.
func planner(c *config.Config) (*openai.ReplyPlanner, error) {
	o := openai.PlannerOptions{Reply: reply.Config{
		Mode: c.ReplyMode, Seed: c.Seed,
		Length: reply.Length{Kind: c.OutputLength, Mean: c.OutputMean, Sigma: c.OutputSigma, Max: c.OutputMax},
	}}
	if c.Tokenizer != "auto" {
		o.Tokenizer = c.Tokenizer
	}
	p, err := openai.NewPlanner(o)
	if err != nil {
		return nil, fmt.Errorf("reply: %w", err)
	}
	return p, nil
}
