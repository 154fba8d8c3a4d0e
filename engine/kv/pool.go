package kv

import "slices"

// Block is a physical block of a [Pool]. It is an index and becomes meaningless once the block is freed or evicted.
type Block int32

// none ends lists.
const none Block = -1

// kinds of a physical block.
const (
	unused uint32 = iota
	private
	primary
	duplicate
	// anonymous blocks are cached without being in the index: nobody looks for them.
	anonymous
)

// one is a single use in block.state.
const one = 8

// block is one physical copy. The links are indices into the pool. It fills half a cache line.
type block struct {
	hash             SequenceHash
	prev, next       Block  // LRU list of inactive copies; next also chains unused slots
	dupPrev, dupNext Block  // copies of one hash, oldest first; the primary's dupPrev is the newest duplicate
	state            uint32 // kind plus eight times the uses: references and pins
	chain            link   // next primary copy in the same chain of the index
}

func (c *block) kind() uint32 { return c.state & (one - 1) }
func (c *block) inUse() bool  { return c.state >= one }

// Pool is the block pool of vLLM and TensorRT-LLM (spec engine-core §5.2-5.4): physical copies that are private to a
// request or cached under a hash, a least-recently-used list of the cached ones nobody uses, and an index from hash to
// the primary copy with a queue of duplicates behind it. References and pins of a copy are one counter, since nothing
// tells them apart once a reservation is activated.
//
// Every operation takes O(1) amortised per block it touches and does not allocate in the steady state.
type Pool struct {
	blocks   []block
	index    index
	unused   Block // stack of freed slots
	lruHead  Block // next victim
	lruTail  Block // last released
	capacity int
	copies   int
	inactive int
	reserved int
	version  uint64
	track    bool
	removed  []SequenceHash
}

// NewPool returns an empty pool of capacity blocks. With track it remembers which hashes were evicted, for events.
// Storage grows with use, not with capacity.
func NewPool(capacity int, track bool) *Pool {
	return &Pool{index: newIndex(capacity), unused: none, lruHead: none, lruTail: none, capacity: capacity, track: track}
}

// Capacity returns the number of usable blocks.
func (p *Pool) Capacity() int { return p.capacity }

// Active returns the number of blocks that requests or reservations hold.
func (p *Pool) Active() int { return p.copies - p.inactive + p.reserved }

// Inactive returns the number of cached blocks that nobody holds.
func (p *Pool) Inactive() int { return p.inactive }

// Available returns how many blocks can still be taken: free ones and inactive ones.
func (p *Pool) Available() int { return p.capacity - p.Active() }

// Version changes whenever a hash may have become cheaper to reuse: a block was published, released or shared, or a
// copy in use took the place of an evicted one. While it stands still and [Pool.Available] does not rise, an admission
// that was refused for lack of blocks stays refused.
func (p *Pool) Version() uint64 { return p.version }

// Lookup returns the primary copy of h.
func (p *Pool) Lookup(h SequenceHash) (Block, bool) {
	b := p.index.find(h, p.blocks)
	return b, b != none
}

// InUse says whether somebody holds b.
func (p *Pool) InUse(b Block) bool { return p.blocks[b].inUse() }

// Reserve pins the hits (distinct cached blocks) and sets fresh blocks aside, evicting the least recently used as
// needed. If that cannot be done it changes nothing and returns false.
func (p *Pool) Reserve(hits []Block, fresh int) bool {
	free := p.capacity - p.copies - p.reserved
	evictions := max(0, fresh-free)
	if evictions > p.inactive {
		return false
	}
	if evictions > 0 && len(hits) > 0 {
		idle := 0
		for _, b := range hits {
			if !p.blocks[b].inUse() {
				idle++
			}
		}
		if evictions > p.inactive-idle {
			return false
		}
	}
	for _, b := range hits {
		p.hold(b)
	}
	for range evictions {
		p.evict()
	}
	p.reserved += fresh
	return true
}

// Take turns one reserved block into a private copy of its caller.
func (p *Pool) Take() Block {
	if p.reserved <= 0 {
		panic("kv: take without reservation")
	}
	p.reserved--
	p.copies++
	b := p.unused
	if b == none {
		b = Block(len(p.blocks))
		p.blocks = append(p.blocks, block{})
	} else {
		p.unused = p.blocks[b].next
	}
	p.blocks[b].state = private | one
	return b
}

// Unreserve gives back fresh reserved blocks that were not taken.
func (p *Pool) Unreserve(fresh int) {
	if fresh > p.reserved {
		panic("kv: unreserve more than reserved")
	}
	p.reserved -= fresh
	if fresh > 0 {
		p.version++
	}
}

// Cancel undoes a reservation: it unpins the hits, last first, and returns the fresh blocks.
func (p *Pool) Cancel(hits []Block, fresh int) {
	for _, b := range slices.Backward(hits) {
		p.Release(b)
	}
	p.Unreserve(fresh)
}

// Publish caches the private block b under h and says whether h thereby became visible: no other copy had it.
func (p *Pool) Publish(b Block, h SequenceHash) (visible bool) {
	c := &p.blocks[b]
	if c.kind() != private {
		panic("kv: publish of a block that is not private")
	}
	p.version++
	c.hash, c.dupPrev, c.dupNext = h, none, none
	first := p.index.find(h, p.blocks)
	if first == none {
		c.state += primary - private
		p.index.insert(b, p.blocks)
		return true
	}
	c.state += duplicate - private
	last := p.blocks[first].dupPrev
	if last == none {
		last = first
	}
	p.blocks[last].dupNext = b
	c.dupPrev = last
	p.blocks[first].dupPrev = b
	return false
}

// PublishOwn caches the private block b under an identity that nobody has and nobody else can ask for. It is spared the
// index until [Pool.Reveal].
func (p *Pool) PublishOwn(b Block, h SequenceHash) {
	c := &p.blocks[b]
	if c.kind() != private {
		panic("kv: publish of a block that is not private")
	}
	c.state += anonymous - private
	c.hash, c.dupPrev, c.dupNext = h, none, none
}

// Reveal puts a block of [Pool.PublishOwn] into the index, where its owner can look for it. Others are left alone.
func (p *Pool) Reveal(b Block) {
	if c := &p.blocks[b]; c.kind() == anonymous {
		c.state -= anonymous - primary
		p.index.insert(b, p.blocks)
	}
}

// Release gives up one use of b. A private block is freed; a cached one that nobody else holds becomes the most
// recently used inactive block.
func (p *Pool) Release(b Block) {
	c := &p.blocks[b]
	if !c.inUse() {
		panic("kv: release of a block nobody holds")
	}
	c.state -= one
	p.version++
	if c.inUse() {
		return
	}
	if c.kind() == private {
		p.free(b)
		return
	}
	c.prev, c.next = p.lruTail, none
	if p.lruTail == none {
		p.lruHead = b
	} else {
		p.blocks[p.lruTail].next = b
	}
	p.lruTail = b
	p.inactive++
}

// Harmless returns how many of the next n evictions surely put no copy in use in the place of an unused one: it walks
// the next n victims, in O(n).
func (p *Pool) Harmless(n int) int {
	count := 0
	for b := p.lruHead; b != none && count < n; b = p.blocks[b].next {
		if next := p.blocks[b].dupNext; next != none && p.blocks[next].inUse() {
			break
		}
		count++
	}
	return count
}

// Clear evicts every inactive block.
func (p *Pool) Clear() {
	for p.inactive > 0 {
		p.evict()
	}
}

// Removed returns the hashes whose last copy was evicted since the last call, oldest first. The slice is reused.
func (p *Pool) Removed() []SequenceHash {
	r := p.removed
	p.removed = p.removed[:0]
	return r
}

// hold adds a use to a cached block.
func (p *Pool) hold(b Block) {
	c := &p.blocks[b]
	if !c.inUse() {
		p.unlink(b)
		p.version++
	}
	c.state += one
}

// unlink takes an inactive block out of the LRU list.
func (p *Pool) unlink(b Block) {
	c := &p.blocks[b]
	if c.prev == none {
		p.lruHead = c.next
	} else {
		p.blocks[c.prev].next = c.next
	}
	if c.next == none {
		p.lruTail = c.prev
	} else {
		p.blocks[c.next].prev = c.prev
	}
	p.inactive--
}

// evict drops the least recently used block.
func (p *Pool) evict() {
	b := p.lruHead
	p.unlink(b)
	p.forget(b)
	p.free(b)
}

// forget takes a cached block out of the index and of the copies of its hash.
func (p *Pool) forget(b Block) {
	c := &p.blocks[b]
	if c.kind() == anonymous {
		if p.track {
			p.removed = append(p.removed, c.hash)
		}
		return
	}
	if c.kind() == duplicate {
		p.blocks[c.dupPrev].dupNext = c.dupNext
		if c.dupNext != none {
			p.blocks[c.dupNext].dupPrev = c.dupPrev
			return
		}
		first := &p.blocks[p.index.find(c.hash, p.blocks)]
		first.dupPrev = c.dupPrev
		if first.dupNext == none {
			first.dupPrev = none
		}
		return
	}
	p.index.replace(b, c.dupNext, p.blocks)
	if c.dupNext == none {
		if p.track {
			p.removed = append(p.removed, c.hash)
		}
		return
	}
	heir := &p.blocks[c.dupNext]
	if heir.inUse() {
		p.version++
	}
	heir.state += primary
	heir.state -= duplicate
	heir.dupPrev = c.dupPrev
	if heir.dupNext == none {
		heir.dupPrev = none
	}
}

// free returns a slot to the stack.
func (p *Pool) free(b Block) {
	c := &p.blocks[b]
	c.state, c.next = unused, p.unused
	p.unused = b
	p.copies--
}
