package kv

// index finds the primary copies of a pool by hash: a table of chains through the blocks themselves. A slot keeps a tag
// of the first block of its chain, so that looking for what is not there rarely touches a block.
type index struct {
	slots []slot
	shift uint8
	count int
}

// slot heads a chain; it is empty when block is 0, otherwise it names block-1.
type slot struct {
	tag   uint32
	block int32
}

const minIndexBits = 6

func newIndex() index {
	return index{slots: make([]slot, 1<<minIndexBits), shift: 64 - minIndexBits}
}

func tagOf(h SequenceHash) uint32 { return uint32(h) }

// at returns the slot of a hash. The multiplication spreads identities that are not hashes, as tests use them.
func (x *index) at(h SequenceHash) *slot {
	return &x.slots[(uint64(h)*0x9E3779B97F4A7C15)>>x.shift]
}

// find returns the block with hash h, or none.
func (x *index) find(h SequenceHash, blocks []block) Block {
	s := x.at(h)
	b := Block(s.block - 1)
	if b == none || s.tag == tagOf(h) && blocks[b].hash == h {
		return b
	}
	for b = blocks[b].chain; b != none && blocks[b].hash != h; {
		b = blocks[b].chain
	}
	return b
}

// insert adds block b, whose hash is not there yet.
func (x *index) insert(b Block, blocks []block) {
	x.link(b, blocks)
	x.count++
	if 2*x.count <= len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]slot, 2*len(old))
	x.shift--
	for _, s := range old {
		for b := Block(s.block - 1); b != none; {
			next := blocks[b].chain
			x.link(b, blocks)
			b = next
		}
	}
}

// link puts b at the head of its chain.
func (x *index) link(b Block, blocks []block) {
	s := x.at(blocks[b].hash)
	blocks[b].chain = Block(s.block - 1)
	*s = slot{tag: tagOf(blocks[b].hash), block: int32(b) + 1}
}

// replace takes block b out of its chain and puts heir, with the same hash, in its place; none leaves it out.
func (x *index) replace(b, heir Block, blocks []block) {
	after := blocks[b].chain
	if heir == none {
		x.count--
		heir = after
	} else {
		blocks[heir].chain = after
	}
	s := x.at(blocks[b].hash)
	if Block(s.block-1) == b {
		*s = slot{block: int32(heir) + 1}
		if heir != none {
			s.tag = tagOf(blocks[heir].hash)
		}
		return
	}
	before := Block(s.block - 1)
	for blocks[before].chain != b {
		before = blocks[before].chain
	}
	blocks[before].chain = heir
}
