package timing

import (
	"time"

	"fakellm/engine"
)

// memoSlots is the size of each half of a memo, a power of two: 4096 entries are 192 kB and hold the shapes that a
// batch passes through in a few thousand passes.
const memoSlots = 1 << 12

// memoKey is the part of a shape that decides its price.
type memoKey [4]int

type memoEntry struct {
	key    memoKey
	d      time.Duration
	filled bool
}

func (e *memoEntry) set(key memoKey, d time.Duration) { e.key, e.d, e.filled = key, d, true }

// memo is a direct-mapped cache from shapes to durations: O(1), never grows, a collision only costs a new evaluation. A
// lookup that was not found and failed leaves the old entry in place.
type memo struct{ prefill, decode [memoSlots]memoEntry }

type memoSlot struct {
	entry *memoEntry
	key   memoKey
	hit   bool
}

func newMemo() *memo { return new(memo) }

func (m *memo) prefillSlot(b engine.PrefillBatch) memoSlot {
	return find(&m.prefill, memoKey{b.Requests, b.MeanISL, b.MeanPrefix, 0})
}

func (m *memo) decodeSlot(b engine.DecodeBatch) memoSlot {
	return find(&m.decode, memoKey{b.Requests, b.ActiveKV, b.MeanContext, b.TotalKV})
}

func find(entries *[memoSlots]memoEntry, key memoKey) memoSlot {
	e := &entries[key.hash()&(memoSlots-1)]
	return memoSlot{entry: e, key: key, hit: e.filled && e.key == key}
}

// hash mixes the four numbers by multiplication with odd constants and folds the high bits down.
func (k memoKey) hash() uint64 {
	h := uint64(k[0])*0x9e3779b97f4a7c15 ^ uint64(k[1])*0xbf58476d1ce4e5b9
	h ^= uint64(k[2])*0x94d049bb133111eb ^ uint64(k[3])*0xd6e8feb86659fd93
	return h ^ h>>29 ^ h>>47
}
