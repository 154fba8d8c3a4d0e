package kv

import "math/bits"

// index finds the primary copies of a pool by hash: chains through the blocks themselves, from a table of heads. A link
// is a block with as many bits of its hash as there is room for beside it, so that looking for what is not there seldom
// touches a block. A block that is taken out is usually the head of its chain and is being touched anyway. With pools
// larger than a processor's cache that is what counts.
type index struct {
	heads []link
	// blockBits of a link name the block, the others are the tag.
	blockBits uint8
	shift     uint8
	count     int
}

// link is 0 at the end of a chain; otherwise its low bits are a block plus one and its high bits the block's tag.
type link uint32

const minIndexBits = 6

// newIndex returns the index of a pool of capacity blocks. It grows with use.
func newIndex(capacity int) index {
	return index{
		heads: make([]link, 1<<minIndexBits), shift: 64 - minIndexBits,
		blockBits: uint8(min(bits.Len(uint(max(capacity, 0))+1), 32)),
	}
}

// spread scatters a hash; the multiplication is for identities that are not hashes, as tests use them. Its upper bits
// are the home, the lower ones of the upper half the tag.
func spread(h SequenceHash) uint64 { return uint64(h) * 0x9E3779B97F4A7C15 }

func (x *index) tag(s uint64) link           { return link(s>>16) << x.blockBits }
func (x *index) link(h uint64, b Block) link { return x.tag(h) | link(b+1) }
func (x *index) block(l link) Block          { return Block(l&(1<<x.blockBits-1)) - 1 }

// find returns the block with hash h, or none. O(1) expected.
func (x *index) find(h SequenceHash, blocks []block) Block {
	s := spread(h)
	tag := x.tag(s)
	for l := x.heads[s>>x.shift]; l != 0; {
		b := x.block(l)
		if l-link(b+1) == tag && blocks[b].hash == h {
			return b
		}
		l = blocks[b].chain
	}
	return none
}

// insert adds block b, whose hash is not there yet. O(1) expected and amortised.
func (x *index) insert(b Block, blocks []block) {
	x.push(b, blocks)
	x.count++
	if 2*x.count <= len(x.heads) {
		return
	}
	old := x.heads
	x.heads = make([]link, 2*len(old))
	x.shift--
	for _, l := range old {
		for l != 0 {
			b := x.block(l)
			l = blocks[b].chain
			x.push(b, blocks)
		}
	}
}

// push makes b the head of its chain.
func (x *index) push(b Block, blocks []block) {
	c := &blocks[b]
	s := spread(c.hash)
	head := &x.heads[s>>x.shift]
	c.chain, *head = *head, x.link(s, b)
}

// replace puts heir, with the same hash, in the place of block b; none takes b out. O(1) expected.
func (x *index) replace(b, heir Block, blocks []block) {
	c := &blocks[b]
	s := spread(c.hash)
	own := x.link(s, b)
	at := &x.heads[s>>x.shift]
	for *at != own {
		at = &blocks[x.block(*at)].chain
	}
	if heir == none {
		*at = c.chain
		x.count--
		return
	}
	*at, blocks[heir].chain = x.link(s, heir), c.chain
}
