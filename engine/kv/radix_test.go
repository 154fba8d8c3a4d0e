package kv

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// pageKeys turns tokens into page keys as a page of size tokens would.
func pageKeys(size int, tokens ...uint32) (keys []LocalHash) {
	for i := 0; i+size <= len(tokens); i += size {
		keys = append(keys, HashTokens(tokens[i:i+size]))
	}
	return keys
}

// put inserts behind the root and leaves everything unlocked.
func put(t *Radix, keys []LocalHash) (held int) {
	_, held = t.Insert(RadixRoot, keys, nil)
	return held
}

func TestRadixMatch(t *testing.T) {
	tree := NewRadix(false)
	put(tree, pageKeys(1, 1, 2, 3, 4, 5))
	if held := put(tree, pageKeys(1, 1, 2, 3, 4, 5, 6, 7)); held != 5 {
		t.Errorf("the longer insert found %d pages, want the 5 of the shorter one", held)
	}
	if n := tree.Match(pageKeys(1, 1, 2, 3, 4, 5, 9, 9)); n != 5 {
		t.Errorf("match inside an edge is %d, want 5", n)
	}
	paged := NewRadix(false)
	put(paged, pageKeys(4, 1, 2, 3, 4))
	put(paged, pageKeys(4, 1, 2, 3, 5))
	if n := paged.Match(pageKeys(4, 1, 2, 3, 6)); n != 0 {
		t.Errorf("pages that differ in one token match %d, want 0: only whole pages are keys", n)
	}
}

func TestRadixLocks(t *testing.T) {
	tree := NewRadix(false)
	put(tree, pageKeys(1, 1, 2, 3, 4, 5))
	put(tree, pageKeys(1, 1, 2, 8, 9))
	a, _ := tree.MatchLock(pageKeys(1, 1, 2, 3, 4, 5))
	b, _ := tree.MatchLock(pageKeys(1, 1, 2, 8, 9))
	if tree.Protected() != 7 || tree.Evictable() != 0 {
		t.Errorf("both branches locked: protected %d, want 7", tree.Protected())
	}
	if n, _ := tree.Evict(7, nil); n != 0 {
		t.Errorf("%d locked pages were evicted", n)
	}
	tree.Unlock(a)
	tree.Unlock(b)
	if tree.Protected() != 0 || tree.Evictable() != 7 {
		t.Errorf("unlocked: protected %d, evictable %d, want 0 and 7", tree.Protected(), tree.Evictable())
	}
}

func TestRadixEvict(t *testing.T) {
	tree := NewRadix(false)
	first, second := pageKeys(1, 1, 2, 3, 4), pageKeys(1, 5, 6, 7, 8)
	put(tree, first)
	put(tree, second)
	if n, _ := tree.Evict(2, nil); n != 2 || tree.Match(first) != 2 || tree.Match(second) != 4 {
		t.Errorf("evict(2) dropped %d; left %d and %d, want the oldest leaf cut to 2", n, tree.Match(first), tree.Match(second))
	}
	put(tree, pageKeys(1, 1, 2, 9))
	tree.Evict(4, nil) // second is the oldest now
	if tree.Match(second) != 0 {
		t.Errorf("the least recently used leaf kept %d pages", tree.Match(second))
	}
	// 9 was put behind 1, 2 in place or as a child; when it goes, what is in front of it becomes a leaf and goes next.
	if n, _ := tree.Evict(9, nil); n != 3 || tree.Evictable() != 0 {
		t.Errorf("evicting the rest dropped %d, want 3: an emptied branch promotes its parent", n)
	}
}

func TestRadixExtension(t *testing.T) {
	tree := NewRadix(false)
	put(tree, pageKeys(1, 1, 2))
	a, _ := tree.MatchLock(pageKeys(1, 1, 2))
	end, _ := tree.Insert(a, pageKeys(1, 3), nil)
	if end != a {
		t.Error("a leaf that only its holder has locked grows in place")
	}
	b, _ := tree.MatchLock(pageKeys(1, 1, 2, 3))
	if a != b {
		t.Fatal("both hold the same leaf")
	}
	if end, _ = tree.Insert(a, pageKeys(1, 4), nil); end == a {
		t.Error("a leaf that two have locked gets a child")
	}
}

func TestPages(t *testing.T) {
	for _, tc := range []struct{ tokens, want int }{{33, 3}, {48, 3}, {49, 4}, {0, 0}} {
		if got := PagesFor(tc.tokens, 16); got != tc.want {
			t.Errorf("%d tokens take %d pages of 16, want %d", tc.tokens, got, tc.want)
		}
	}
	p := NewPages(64)
	if !p.Take(64) || p.Take(1) || p.Free() != 0 || p.Total() != 64 {
		t.Error("a refused claim must change nothing")
	}
	p.Give(2)
	if p.Free() != 2 {
		t.Errorf("free %d, want 2", p.Free())
	}
}

// TestRadixBooks checks after random operations that pages put in are pages held plus pages evicted, that what is locked
// stays, and that the sequence hashes go out deepest first.
func TestRadixBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := NewRadix(true)
		type held struct {
			at   Node
			keys []LocalHash
		}
		var locks []held
		stored := map[SequenceHash]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				keys, seqs := drawPath(t)
				at, n := tree.MatchLock(keys)
				if n < len(keys) {
					tree.Insert(at, keys[n:], seqs[n:])
				}
				tree.Unlock(at)
				for _, s := range seqs {
					stored[s] = true
				}
			},
			"lock": func(t *rapid.T) {
				keys, _ := drawPath(t)
				at, n := tree.MatchLock(keys)
				locks = append(locks, held{at, keys[:n]})
			},
			"unlock": func(t *rapid.T) {
				if n := len(locks); n > 0 {
					tree.Unlock(locks[n-1].at)
					locks = locks[:n-1]
				}
			},
			"evict": func(t *rapid.T) {
				n := rapid.IntRange(1, 5).Draw(t, "pages")
				before := tree.Evictable()
				dropped, gone := tree.Evict(n, nil)
				if dropped != min(n, before) || len(gone) != dropped {
					t.Fatalf("evict(%d) of %d dropped %d, named %d", n, before, dropped, len(gone))
				}
				for _, s := range gone {
					if !stored[s] {
						t.Fatalf("evicted %d, which was not there", s)
					}
					delete(stored, s)
				}
			},
			"": func(t *rapid.T) {
				if tree.Evictable()+tree.Protected() != len(stored) {
					t.Fatalf("%d evictable, %d protected, want %d", tree.Evictable(), tree.Protected(), len(stored))
				}
				for _, l := range locks {
					if tree.Match(l.keys) != len(l.keys) {
						t.Fatal("a locked prefix has gone")
					}
				}
			},
		})
	})
}

// drawPath draws keys over a small alphabet with their sequence hashes.
func drawPath(t *rapid.T) (keys []LocalHash, seqs []SequenceHash) {
	for i, k := range rapid.SliceOfN(rapid.Uint64Range(1, 3), 1, 6).Draw(t, "path") {
		keys = append(keys, LocalHash(k))
		if i == 0 {
			seqs = append(seqs, First(keys[0]))
		} else {
			seqs = append(seqs, Chain(seqs[i-1], keys[i]))
		}
	}
	return slices.Clone(keys), seqs
}
