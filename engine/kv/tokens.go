package kv

// Tokens is the Content of a request whose ids are known: prompt followed by planned output. Blocks beyond its end have
// no content.
type Tokens []uint32

var (
	_ TokenSource = Tokens(nil)
	_ BulkContent = Tokens(nil)
)

// NewTokens returns the content of a prompt and its planned output; it copies both.
func NewTokens(prompt, output []uint32) Tokens {
	return append(append(make(Tokens, 0, len(prompt)+len(output)), prompt...), output...)
}

// Local implements [Content]; it hashes the block each time it is asked, in O(size).
func (t Tokens) Local(i, size int) (LocalHash, bool) {
	from, to := i*size, (i+1)*size
	if i < 0 || size <= 0 || to > len(t) {
		return 0, false
	}
	return HashTokens(t[from:to]), true
}

// AppendLocals implements [BulkContent].
func (t Tokens) AppendLocals(dst []LocalHash, from, to, size int) []LocalHash {
	for i := from; i < to; i++ {
		h, ok := t.Local(i, size)
		if !ok {
			break
		}
		dst = append(dst, h)
	}
	return dst
}

// AppendTokens implements [TokenSource]. Positions beyond the end are left out.
func (t Tokens) AppendTokens(dst []uint32, from, to int) []uint32 {
	return append(dst, t[min(from, len(t)):min(to, len(t))]...)
}
