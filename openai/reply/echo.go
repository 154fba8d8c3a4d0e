package reply

import (
	"slices"
	"unicode/utf8"
)

// echo appends the user's message, cut or filled up to the length it must have.
func (p *Planner) echo(t *text, user string, seed uint64, l Limits) string {
	ids := p.enc.AppendEncode(nil, user)
	planned, n, finish := l.resolve(len(ids))
	if n < len(ids) {
		ids = ids[:p.stableCut(ids, n)]
	}
	t.text, t.ends = p.enc.AppendPieces(t.text, t.ends, ids)
	t.ids = append(t.ids, ids...)
	if rest := n - len(ids); rest > 0 {
		p.filler.write(t, seed, planned-len(ids), rest)
	}
	return finish
}

// stableCut returns the largest k ≤ n for which the text of ids[:k] encodes to ids[:k]; such a text is whole
// characters. A cut between two pieces of the split always serves, so it is near; after a few tries in the middle of
// one very long piece the last whole character has to do.
func (p *Planner) stableCut(ids []uint32, n int) int {
	whole := -1
	for k := n; k > 0 && k > n-32; k-- {
		text := p.enc.Decode(ids[:k])
		if !utf8.ValidString(text) {
			continue
		}
		if slices.Equal(p.enc.AppendEncode(nil, text), ids[:k]) {
			return k
		}
		if whole < 0 {
			whole = k
		}
	}
	return max(whole, 0)
}
