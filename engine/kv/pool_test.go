package kv_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fakellm/engine/kv"
)

// cached puts a block under each hash into the pool and releases it, in order.
func cached(t *testing.T, p *kv.Pool, hashes ...kv.SequenceHash) (blocks []kv.Block) {
	t.Helper()
	for _, h := range hashes {
		if !p.Reserve(nil, 1) {
			t.Fatal("pool too small for the test")
		}
		b := p.Take()
		p.Publish(b, h)
		p.Release(b)
		blocks = append(blocks, b)
	}
	return blocks
}

// TestDuplicates: copies of one hash are never merged (spec engine-core §12, scenario 35).
func TestDuplicates(t *testing.T) {
	p := kv.NewPool(2, true)
	if !p.Reserve(nil, 2) {
		t.Fatal("two blocks must fit")
	}
	a, b := p.Take(), p.Take()
	if !p.Publish(a, 7) || p.Publish(b, 7) {
		t.Error("only the first copy makes a hash visible")
	}
	if p.Reserve(nil, 1) {
		t.Error("a third block must not fit")
	}
	if p.Active() != 2 || p.Inactive() != 0 {
		t.Errorf("active %d, inactive %d after a failed reservation", p.Active(), p.Inactive())
	}
}

// TestHitTakesRoom: a pool of one cannot give a hit and a fresh block.
func TestHitTakesRoom(t *testing.T) {
	p := kv.NewPool(1, false)
	hit := cached(t, p, 7)
	if p.Reserve(hit, 1) {
		t.Error("the hit is not a victim")
	}
	if !p.Reserve(hit, 0) || !p.InUse(hit[0]) {
		t.Error("the hit alone must fit")
	}
}

// TestLastCopyIsRemoved: four copies of a hash leave it only with the fourth eviction; when the primary goes, the oldest
// duplicate takes its place.
func TestLastCopyIsRemoved(t *testing.T) {
	p := kv.NewPool(4, true)
	copies := cached(t, p, 7, 7, 7, 7)
	for i := range 4 {
		if b, ok := p.Lookup(7); !ok || b != copies[i] {
			t.Errorf("after %d evictions the primary is %d, want %d", i, b, copies[i])
		}
		if !p.Reserve(nil, 1) {
			t.Fatal("an idle copy must give way")
		}
		if removed := p.Removed(); (len(removed) == 1) != (i == 3) {
			t.Errorf("eviction %d removed %v", i+1, removed)
		}
		if err := p.Audit(); err != nil {
			t.Error(err)
		}
	}
}

// TestLeafFirst: a cancelled reservation of parent and leaf gives the leaf up first (scenario 36).
func TestLeafFirst(t *testing.T) {
	p := kv.NewPool(2, true)
	hits := cached(t, p, 1, 2) // parent, leaf
	if !p.Reserve(hits, 0) {
		t.Fatal("both are hits")
	}
	p.Cancel(hits, 0)
	p.Reserve(nil, 1)
	if got := p.Removed(); !slices.Equal(got, []kv.SequenceHash{2}) {
		t.Errorf("removed %v, want the leaf", got)
	}
}

// TestPinnedIsSpared: LRU 1, 2, 3; pinning 2 with one fresh evicts 1; after cancelling, pressure of 2 evicts 3.
func TestPinnedIsSpared(t *testing.T) {
	p := kv.NewPool(3, true)
	blocks := cached(t, p, 1, 2, 3)
	if !p.Reserve(blocks[1:2], 1) {
		t.Fatal("1 can give way")
	}
	if got := p.Removed(); !slices.Equal(got, []kv.SequenceHash{1}) {
		t.Errorf("removed %v, want 1", got)
	}
	p.Cancel(blocks[1:2], 1)
	if !p.Reserve(nil, 2) {
		t.Fatal("one free block and 3 can give way")
	}
	if got := p.Removed(); !slices.Equal(got, []kv.SequenceHash{3}) {
		t.Errorf("removed %v, want 3", got)
	}
}

// TestPool drives the pool at random and audits it after each step; the hashes collide on purpose, also in the index.
func TestPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := kv.NewPool(rapid.IntRange(1, 200).Draw(t, "capacity"), false)
		type held struct {
			b      kv.Block
			cached bool
		}
		var mine []held
		pick := func(t *rapid.T) int {
			if len(mine) == 0 {
				t.Skip("nothing held")
			}
			return rapid.IntRange(0, len(mine)-1).Draw(t, "which")
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				n := rapid.IntRange(1, 5).Draw(t, "blocks")
				want := n <= p.Available()
				if got := p.Reserve(nil, n); got != want {
					t.Fatalf("Reserve(%d) = %v with %d available", n, got, p.Available())
				}
				for i := 0; want && i < n; i++ {
					mine = append(mine, held{b: p.Take()})
				}
			},
			"publish": func(t *rapid.T) {
				if i := pick(t); !mine[i].cached {
					h := kv.SequenceHash(rapid.Uint64Range(0, 40).Draw(t, "hash"))
					_, there := p.Lookup(h)
					if p.Publish(mine[i].b, h) == there {
						t.Fatalf("visibility of %d", h)
					}
					mine[i].cached = true
				}
			},
			"hit": func(t *rapid.T) {
				h := kv.SequenceHash(rapid.Uint64Range(0, 40).Draw(t, "hash"))
				if b, ok := p.Lookup(h); ok && p.Reserve([]kv.Block{b}, 0) {
					mine = append(mine, held{b, true})
				}
			},
			"release": func(t *rapid.T) {
				i := pick(t)
				p.Release(mine[i].b)
				mine = slices.Delete(mine, i, i+1)
			},
			"clear": func(t *rapid.T) { p.Clear() },
			"": func(t *rapid.T) {
				if err := p.Audit(); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// TestIndexWithoutTags: a pool so large that a link has no bits left for a tag finds its blocks all the same.
func TestIndexWithoutTags(t *testing.T) {
	p := kv.NewPool(math.MaxInt, false)
	for h := range kv.SequenceHash(500) {
		cached(t, p, h)
	}
	for h := range kv.SequenceHash(1000) {
		if _, ok := p.Lookup(h); ok != (h < 500) {
			t.Errorf("hash %d: found %v", h, ok)
		}
	}
	p.Clear()
	if err := p.Audit(); err != nil || p.Inactive() != 0 {
		t.Errorf("after clearing: %v, %d inactive", err, p.Inactive())
	}
}
