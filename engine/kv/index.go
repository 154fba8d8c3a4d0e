package kv

// index finds the primary copies of a pool by hash: open addressing with linear probing. A slot keeps 32 bits of the
// hash beside the block, and its home follows from them alone, so that looking for what is not there, removing and
// growing touch no block, only neighbouring slots: with pools larger than a processor's cache that is what counts.
type index struct {
	slots []slot
	shift uint8
	count int
}

// slot is empty when block is 0, otherwise it names block-1.
type slot struct {
	tag   uint32
	block int32
}

const minIndexBits = 6

func newIndex() index {
	return index{slots: make([]slot, 1<<minIndexBits), shift: 32 - minIndexBits}
}

// tagOf spreads a hash and keeps the upper half. The multiplication is for identities that are not hashes, as tests use
// them.
func tagOf(h SequenceHash) uint32 { return uint32(uint64(h) * 0x9E3779B97F4A7C15 >> 32) }

func (x *index) home(tag uint32) int { return int(tag >> x.shift) }

// find returns the block with hash h, or none. O(1) expected.
func (x *index) find(h SequenceHash, blocks []block) Block {
	tag, mask := tagOf(h), len(x.slots)-1
	for i := x.home(tag); ; i = (i + 1) & mask {
		s := x.slots[i]
		if s.block == 0 {
			return none
		}
		if b := Block(s.block - 1); s.tag == tag && blocks[b].hash == h {
			return b
		}
	}
}

// insert adds block b, whose hash is not there yet. O(1) expected and amortised.
func (x *index) insert(b Block, blocks []block) {
	x.put(slot{tag: tagOf(blocks[b].hash), block: int32(b) + 1})
	x.count++
	if 2*x.count <= len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]slot, 2*len(old))
	x.shift--
	for _, s := range old {
		if s.block != 0 {
			x.put(s)
		}
	}
}

// put places s in the first free slot from its home on.
func (x *index) put(s slot) {
	mask := len(x.slots) - 1
	i := x.home(s.tag)
	for x.slots[i].block != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

// replace puts heir, with the same hash, in the place of block b; none takes b out. O(1) expected.
func (x *index) replace(b, heir Block, blocks []block) {
	mask := len(x.slots) - 1
	i := x.home(tagOf(blocks[b].hash))
	for x.slots[i].block != int32(b)+1 {
		i = (i + 1) & mask
	}
	if heir != none {
		x.slots[i].block = int32(heir) + 1
		return
	}
	x.count--
	for next := (i + 1) & mask; x.slots[next].block != 0; next = (next + 1) & mask {
		// What is as far from its home as from the gap, or farther, may close it.
		if (next-x.home(x.slots[next].tag))&mask >= (next-i)&mask {
			x.slots[i] = x.slots[next]
			i = next
		}
	}
	x.slots[i] = slot{}
}
