package kv

// index maps sequence hashes to blocks of one pool: open addressing with linear probing, at most half full. An entry
// keeps a 32-bit tag, so that a probe rarely touches the block itself, and its home slot follows from the tag alone, so
// that deleting needs no block either.
type index struct {
	entries []entry
	shift   uint8
	count   int
}

// entry is empty when block is 0; otherwise it names block-1.
type entry struct {
	tag   uint32
	block int32
}

const minIndexBits = 6

func newIndex() index {
	return index{entries: make([]entry, 1<<minIndexBits), shift: 32 - minIndexBits}
}

func tagOf(h SequenceHash) uint32 { return uint32(h) ^ uint32(h>>32) }

func (x *index) home(tag uint32) int { return int((tag * 0x9E3779B1) >> x.shift) }

// find returns the slot that holds h, or the empty slot where it would go.
func (x *index) find(h SequenceHash, blocks []block) (slot int, ok bool) {
	tag, mask := tagOf(h), len(x.entries)-1
	for slot = x.home(tag); ; slot = (slot + 1) & mask {
		e := x.entries[slot]
		if e.block == 0 {
			return slot, false
		}
		if e.tag == tag && blocks[e.block-1].hash == h {
			return slot, true
		}
	}
}

// insert puts h at the empty slot find returned for it.
func (x *index) insert(slot int, h SequenceHash, b Block) {
	x.entries[slot] = entry{tag: tagOf(h), block: int32(b) + 1}
	x.count++
	if 2*x.count > len(x.entries) {
		x.grow()
	}
}

func (x *index) grow() {
	old := x.entries
	x.entries = make([]entry, 2*len(old))
	x.shift--
	mask := len(x.entries) - 1
	for _, e := range old {
		if e.block == 0 {
			continue
		}
		slot := x.home(e.tag)
		for x.entries[slot].block != 0 {
			slot = (slot + 1) & mask
		}
		x.entries[slot] = e
	}
}

// remove empties a slot and moves later entries of the same cluster back, so no tombstones are needed.
func (x *index) remove(slot int) {
	mask := len(x.entries) - 1
	x.count--
	hole := slot
	for next := (hole + 1) & mask; ; next = (next + 1) & mask {
		e := x.entries[next]
		if e.block == 0 {
			break
		}
		// e may fill the hole unless its home lies behind the hole on the way to it.
		if (next-x.home(e.tag))&mask >= (next-hole)&mask {
			x.entries[hole] = e
			hole = next
		}
	}
	x.entries[hole] = entry{}
}
