package reply

import "fakellm/internal/rng"

// efforts are the mean numbers of tokens that a model thinks before it answers.
var efforts = []struct {
	effort string
	tokens int
}{
	{"minimal", 20},
	{"low", 100},
	{"medium", 250},
	{"high", 500},
	{"xhigh", 1000},
	{"max", 2000},
}

// thinkingTokens is how many tokens to think: the mean of the effort, a fifth more or less. 0 for none and for efforts
// that are not known.
func thinkingTokens(effort string, seed uint64) int {
	for _, e := range efforts {
		if e.effort == effort {
			spread := e.tokens * 2 / 5
			return e.tokens - spread/2 + int(rng.Mix(seed+1)%uint64(spread+1))
		}
	}
	return 0
}
