package aic

import (
	"maps"
	"sync/atomic"
)

// cache keeps immutable values by key without a lock: every Put publishes a new map. Two callers may load the same
// table at the same time; one result stays. The zero value is empty.
type cache struct {
	published atomic.Pointer[map[string]any]
}

// maxCached bounds the entries; the cache starts afresh beyond it. One deployment needs about fifteen.
const maxCached = 160

// Get implements perf.Cache.
func (c *cache) Get(key string) (any, bool) {
	m := c.published.Load()
	if m == nil {
		return nil, false
	}
	v, ok := (*m)[key]
	return v, ok
}

// Put implements perf.Cache.
func (c *cache) Put(key string, v any) {
	for {
		old := c.published.Load()
		next := map[string]any{}
		if old != nil && len(*old) < maxCached {
			next = maps.Clone(*old)
		}
		next[key] = v
		if c.published.CompareAndSwap(old, &next) {
			return
		}
	}
}

// shape is the question that a memo answers: which pass, and its three numbers.
type shape struct {
	kind    uint8
	a, b, c int
}

// answer is one remembered result.
type answer struct {
	shape
	ms float64
}

// memo remembers results in a direct-mapped table: a newer question replaces an older one in its place. It is safe for
// concurrent use without a lock, and whether it remembers never changes an answer. 16384 places, 128 kB, and 40 bytes
// for each that is used.
type memo struct {
	slots [1 << 14]atomic.Pointer[answer]
}

func (s shape) hash() uint {
	x := uint64(s.a)*0x9E3779B97F4A7C15 ^ uint64(s.b)*0xC2B2AE3D27D4EB4F ^ uint64(s.c)*0x165667B19E3779F9 ^ uint64(s.kind)
	x ^= x >> 32
	x *= 0xD6E8FEB86659FD93
	return uint(x >> 50)
}

func (m *memo) get(s shape) (float64, bool) {
	if a := m.slots[s.hash()].Load(); a != nil && a.shape == s {
		return a.ms, true
	}
	return 0, false
}

func (m *memo) put(s shape, ms float64) {
	m.slots[s.hash()].Store(&answer{s, ms})
}
