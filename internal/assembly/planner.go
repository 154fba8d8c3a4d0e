package assembly

import (
	"fakellm/config"
	"fakellm/openai"
	"fakellm/openai/reply"
)

// planner says what is answered, as the settings want it. It loads nothing yet; the error joins every problem.
func planner(c *config.Config) (*openai.ReplyPlanner, error) {
	o := openai.PlannerOptions{Reply: reply.Config{
		Mode: c.ReplyMode, Seed: c.Seed,
		Length: reply.Length{Kind: c.OutputLength, Mean: c.OutputMean, Sigma: c.OutputSigma, Max: c.OutputMax},
	}}
	if c.Tokenizer != "auto" {
		o.Tokenizer = c.Tokenizer
	}
	return openai.NewPlanner(o)
}
