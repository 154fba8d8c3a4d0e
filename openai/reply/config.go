package reply

import (
	"fmt"
	"math"
	"strings"

	"fakellm/internal/rng"
)

// Modes of answering.
const (
	ModeFiller = "filler"
	ModeEcho   = "echo"
)

// Kinds of Length.
const (
	LengthLogNormal = "lognormal"
	LengthFixed     = "fixed"
	LengthUniform   = "uniform"
	LengthPrompt    = "prompt"
)

// Config says how a Planner answers. The zero value answers in filler, of log-normal length with the defaults below.
type Config struct {
	// Mode is filler (seeded English, the default) or echo (the last user message).
	Mode string
	// Length applies when the client sets no limit.
	Length Length
	// Seed is mixed into the seed of every request.
	Seed uint64
	// ToolRounds is after how many rounds of tool results in a row the answer is text although tools are on offer; 0
	// means 1, so that agent loops end.
	ToolRounds int
}

// Length is a distribution of answer lengths in tokens.
type Length struct {
	// Kind is lognormal (the default), fixed, uniform or prompt (as long as the prompt).
	Kind string
	// Mean of the distribution, and the value of fixed; 0 means 200.
	Mean int
	// Sigma is the standard deviation of the logarithm for lognormal, and the half-width as a share of the mean for
	// uniform, at most 1. 0 is no spread.
	Sigma float64
	// Max is the longest answer; 0 means 4096.
	Max int
}

const (
	defaultMean = 200
	defaultMax  = 4096
)

// Validate returns every problem of the config, each with its field and value.
func (c Config) Validate() []error {
	var errs []error
	oneOf := func(field, value string, known ...string) {
		for _, k := range known {
			if value == k || value == "" {
				return
			}
		}
		errs = append(errs, fmt.Errorf("%s %q: want one of %s", field, value, strings.Join(known, ", ")))
	}
	oneOf("reply_mode", c.Mode, ModeFiller, ModeEcho)
	oneOf("output_length", c.Length.Kind, LengthLogNormal, LengthFixed, LengthUniform, LengthPrompt)
	if c.Length.Mean < 0 {
		errs = append(errs, fmt.Errorf("output_mean %d: must not be negative", c.Length.Mean))
	}
	if c.Length.Max < 0 {
		errs = append(errs, fmt.Errorf("output_max %d: must not be negative", c.Length.Max))
	}
	if s := c.Length.Sigma; math.IsNaN(s) || s < 0 || s > 10 || c.Length.Kind == LengthUniform && s > 1 {
		errs = append(errs, fmt.Errorf("output_sigma %v: want 0 to 10, for uniform 0 to 1", s))
	}
	if c.ToolRounds < 0 {
		errs = append(errs, fmt.Errorf("tool_rounds %d: must not be negative", c.ToolRounds))
	}
	return errs
}

// draw returns a length of at least 1 token for a prompt of that many tokens. For lognormal it is exp(μ + σZ) with
// μ = ln(mean) − σ²/2, which makes Mean the mean (before Max cuts).
func (l Length) draw(seed uint64, prompt int) int {
	mean, limit := l.Mean, l.Max
	if mean == 0 {
		mean = defaultMean
	}
	if limit == 0 {
		limit = defaultMax
	}
	x := float64(mean)
	switch l.Kind {
	case LengthFixed:
	case LengthPrompt:
		x = float64(prompt)
	case LengthUniform:
		x *= 1 + l.Sigma*(2*rng.New(seed, "reply length").Float64()-1)
	default:
		z := rng.New(seed, "reply length").NormFloat64()
		x *= math.Exp(l.Sigma*z - l.Sigma*l.Sigma/2)
	}
	return int(math.Round(min(max(x, 1), float64(limit))))
}
