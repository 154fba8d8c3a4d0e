package workload

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"fakellm/engine/kv"
)

// firstOutput is the first token id of generated tokens; block ids of a trace stay below it.
const firstOutput = 1 << 31

// part is a piece of a conversation: tokens of a prompt, or generated ones that are numbered from first.
type part struct {
	prompt *Prompt
	first  uint32
	tokens int
}

func (p *part) token(i int) uint32 {
	if p.prompt != nil {
		return p.prompt.ids[i/p.prompt.table.block]
	}
	return p.first + uint32(i)
}

// dialog is the content of one turn of a conversation that grows: everything said before, the new input, the planned
// output. Unlike that of a [Prompt], its output can be asked for again. It never changes.
type dialog struct {
	table *Table
	parts []part
	// prompt is the length without the planned output.
	prompt int
}

var _ kv.TokenSource = (*dialog)(nil)

// speaker numbers generated tokens, so that no two are equal. The reference draws them at random, which amounts to the
// same.
type speaker struct{ said uint32 }

// next returns the content of the turn after d, of whose planned output only emitted tokens came out; d is nil for the
// first turn.
func (d *dialog) next(s *speaker, emitted int, input *Prompt, output int) *dialog {
	out := &dialog{table: input.table}
	if d != nil {
		last := len(d.parts) - 1
		out.parts = append(make([]part, 0, last+3), d.parts...)
		out.parts[last].tokens = min(emitted, out.parts[last].tokens)
		out.prompt = d.prompt + out.parts[last].tokens
	}
	out.parts = append(out.parts,
		part{prompt: input, tokens: input.tokens}, part{first: firstOutput + s.said, tokens: output})
	out.prompt += input.tokens
	s.said += uint32(output)
	return out
}

// Local implements kv.Content in O(size + parts).
func (d *dialog) Local(i, size int) (kv.LocalHash, bool) {
	t := d.table
	tokens := d.AppendTokens(t.words[:0], i*size, (i+1)*size)
	t.words = tokens
	if len(tokens) < size {
		return 0, false
	}
	if same(tokens) {
		return t.repeated(tokens[0], size), true
	}
	t.buf = t.buf[:0]
	for _, id := range tokens {
		t.buf = binary.LittleEndian.AppendUint32(t.buf, id)
	}
	return kv.LocalHash(xxh3.HashSeed(t.buf, hashSeed)), true
}

// AppendTokens implements kv.TokenSource; positions behind the planned output are left out.
func (d *dialog) AppendTokens(dst []uint32, from, to int) []uint32 {
	start := 0
	for k := range d.parts {
		p := &d.parts[k]
		for i := max(from, start); i < min(to, start+p.tokens); i++ {
			dst = append(dst, p.token(i-start))
		}
		start += p.tokens
	}
	return dst
}
