package workload

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"fakellm/engine/kv"
	"fakellm/internal/rng"
)

// hashSeed is the seed of every block hash (spec engine-core §5.1).
const hashSeed = 1337

// Table turns prompts given as block ids into block hashes without spelling them out: the tokens of a prompt are, for
// each id, that id repeated block times, the last block cut at the prompt's length (spec simulation-harness §3.1). It
// remembers the hash of every block that lies within one id, so each is computed once. Not safe for concurrent use.
type Table struct {
	block int
	// named: blocks within one id get a name instead of their hash.
	named bool
	// memo holds, by id, the hash of memoSize tokens of that id; known says which are filled.
	memo     []kv.LocalHash
	known    []bool
	memoSize int
	buf      []byte
	words    []uint32
}

// NewTable returns a table for ids that stand for block tokens each, block at least 1.
func NewTable(block int) *Table { return &Table{block: block} }

// NewNamedTable returns a table whose hashes are as good as any inside a run, since equal blocks have equal ones, but
// are not those of spec engine-core §5.1: a block within one id is named after it in O(1), without hashing kilobytes.
// Use it where nobody outside sees a hash.
func NewNamedTable(block int) *Table { return &Table{block: block, named: true} }

// Prompt is the content of one request: prompt tokens by block id, output that nobody can ask for again.
type Prompt struct {
	table  *Table
	ids    []uint32
	tokens int
}

// Prompt returns the content of tokens tokens, at most len(ids) blocks of them. It keeps ids.
func (t *Table) Prompt(ids []uint32, tokens int) Prompt {
	return Prompt{table: t, ids: ids, tokens: min(tokens, len(ids)*t.block)}
}

var _ kv.BulkContent = (*Prompt)(nil)

// Local implements kv.Content. A block that is not all prompt has an identity of its own. O(1) amortised for a block
// within one id, O(size) otherwise.
func (p *Prompt) Local(i, size int) (kv.LocalHash, bool) {
	from := i * size
	to := from + size
	if to > p.tokens {
		return 0, false
	}
	t := p.table
	first, last := from/t.block, (to-1)/t.block
	if same(p.ids[first : last+1]) {
		return t.repeated(p.ids[first], size), true
	}
	t.buf = t.buf[:0]
	for k := first; k <= last; k++ {
		n := min(to, (k+1)*t.block) - max(from, k*t.block)
		t.buf = appendRepeated(t.buf, p.ids[k], n)
	}
	return kv.LocalHash(xxh3.HashSeed(t.buf, hashSeed)), true
}

// AppendLocals implements kv.BulkContent: O(1) amortised per block that lies within one id.
func (p *Prompt) AppendLocals(dst []kv.LocalHash, from, to, size int) []kv.LocalHash {
	to = min(to, p.tokens/size)
	t := p.table
	if t.block%size != 0 {
		for i := from; i < to; i++ {
			h, _ := p.Local(i, size)
			dst = append(dst, h)
		}
		return dst
	}
	per := t.block / size
	for i := from; i < to; {
		id := i / per
		h := t.repeated(p.ids[id], size)
		for end := min(to, (id+1)*per); i < end; i++ {
			dst = append(dst, h)
		}
	}
	return dst
}

// AppendTokens appends the prompt's token ids at positions [from, to) to dst; positions behind the prompt give zeros.
func (p *Prompt) AppendTokens(dst []uint32, from, to int) []uint32 {
	for i := from; i < to; i++ {
		if i < p.tokens {
			dst = append(dst, p.ids[i/p.table.block])
		} else {
			dst = append(dst, 0)
		}
	}
	return dst
}

func same(ids []uint32) bool {
	for _, id := range ids[1:] {
		if id != ids[0] {
			return false
		}
	}
	return true
}

// repeated returns the hash of size tokens that are all id.
func (t *Table) repeated(id uint32, size int) kv.LocalHash {
	if t.named { // a bijection of the pair, as long as sizes stay below 2^32
		return kv.LocalHash(rng.Mix(uint64(id)<<32 | uint64(uint32(size))))
	}
	if id >= firstOutput { // generated: seen once or twice
		t.buf = appendRepeated(t.buf[:0], id, size)
		return kv.LocalHash(xxh3.HashSeed(t.buf, hashSeed))
	}
	if size != t.memoSize {
		t.memo, t.known, t.memoSize = nil, nil, size
	}
	for int(id) >= len(t.memo) {
		n := max(1024, 2*len(t.memo), int(id)+1)
		t.memo = append(make([]kv.LocalHash, 0, n), t.memo...)[:n]
		t.known = append(make([]bool, 0, n), t.known...)[:n]
	}
	if !t.known[id] {
		t.buf = appendRepeated(t.buf[:0], id, size)
		t.memo[id], t.known[id] = kv.LocalHash(xxh3.HashSeed(t.buf, hashSeed)), true
	}
	return t.memo[id]
}

// appendRepeated appends n tokens id as little-endian words.
func appendRepeated(buf []byte, id uint32, n int) []byte {
	if n == 0 {
		return buf
	}
	start := len(buf)
	buf = binary.LittleEndian.AppendUint32(buf, id)
	for want := 4 * n; len(buf)-start < want; {
		have := len(buf) - start
		buf = append(buf, buf[start:start+min(have, want-have)]...)
	}
	return buf
}
