package reply

import (
	"math"

	"fakellm/internal/rng"
)

// maxTop is the most alternatives that a position has, OpenAI's limit for top_logprobs.
const maxTop = 20

// Probs invents the probabilities behind tokens that were "chosen". At every position the token and its alternatives
// have different tokens, and probabilities that fall and add up to less than 1: the rest belongs to the tokens not
// shown. Asking for more alternatives adds to those that fewer would show. It is seeded, and safe for concurrent use.
type Probs struct {
	p      *Planner
	ids    []uint32
	seed   uint64
	greedy bool
}

// TokenProb is one token, which need not be whole characters, with its natural logarithm of probability, at most 0.
type TokenProb struct {
	Token   string
	ID      uint32
	Logprob float64
}

// Probs returns the probabilities for tokens, as a function of request and tokens. Greedy (temperature 0) makes every
// token the likeliest; else about one in twelve is only second.
func (p *Planner) Probs(r *Request, ids []uint32, greedy bool) *Probs {
	return &Probs{p: p, ids: ids, seed: p.seed(r) + 5, greedy: greedy}
}

// Len is the number of positions.
func (q *Probs) Len() int { return len(q.ids) }

// At returns the token at position i and the k likeliest tokens there, at most 20, likeliest first; the token itself is
// one of them if it is likely enough. O(k).
func (q *Probs) At(i, k int) (token TokenProb, top []TokenProb) {
	s := rng.SplitMix(rng.Mix(q.seed + uint64(i)*0x9e3779b97f4a7c15))
	u := float64(s.Next()>>11) / (1 << 53)
	rest := max(0.65*u*u*u, surest) // what the likeliest leaves to the others: mostly little, at most 0.65
	rank := 0
	if !q.greedy && s.Next()%12 == 0 {
		rank = 1
	}
	id := q.ids[i]
	token = TokenProb{Token: string(q.p.enc.AppendToken(nil, id)), ID: id, Logprob: logprob(rest, rank)}
	k = min(k, maxTop)
	if k <= 0 {
		return token, nil
	}
	top = make([]TokenProb, 0, k)
	others := q.others(id, s.Next())
	for n := range k {
		if n == rank {
			top = append(top, token)
			continue
		}
		other := others()
		top = append(top, TokenProb{Token: other.text, ID: other.id, Logprob: logprob(rest, n)})
	}
	return token, top
}

// surest is the least that is left to the others: next to nothing would round to nothing, which has no logarithm.
const surest = 1e-9

// logprob is the logarithm of the probability of rank n: all but the rest for rank 0, then a share of the rest that is
// two fifths of what is left at every rank, so that all ranks together stay below 1. Two fifths of at most 0.65 is less
// than what rank 0 has.
func logprob(rest float64, n int) float64 {
	if n == 0 {
		return math.Log1p(-rest)
	}
	return math.Log(rest) + math.Log(0.4) + float64(n-1)*math.Log(0.6)
}

// others returns a source of words that differ from each other and from id.
func (q *Probs) others(id uint32, seed uint64) func() word {
	list := q.p.filler.pool
	at := int(seed>>33) % len(list)
	return func() word {
		for {
			at = (at + 7) % len(list)
			if list[at].id != id {
				return list[at]
			}
		}
	}
}
