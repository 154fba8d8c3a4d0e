package engine

import (
	"slices"

	"fakellm/engine/kv"
)

// identify makes the keys of the first pages of a request known. Each page is hashed once.
func (c *sglangCore) identify(s *sglSeq, pages int) {
	if len(s.keys) >= pages {
		return
	}
	if n := len(c.longKeys); n > 0 && pages > smallKeys && cap(s.keys) <= smallKeys {
		s.keys = append(c.longKeys[n-1], s.keys...)
		c.longKeys = c.longKeys[:n-1]
	}
	s.keys = slices.Grow(s.keys, pages-len(s.keys))
	if bulk, ok := s.req.Content.(kv.BulkContent); ok {
		before := len(s.keys)
		if s.keys = bulk.AppendLocals(s.keys, before, pages, c.page); len(s.keys) > before {
			s.known = len(s.keys)
		}
	}
	for i := len(s.keys); i < pages; i++ {
		key, ok := kv.LocalHash(0), false
		if s.req.Content != nil {
			key, ok = s.req.Content.Local(i, c.page)
		}
		if ok {
			s.known = i + 1
		} else {
			key = kv.Own(s.owner, i)
		}
		s.keys = append(s.keys, key)
	}
}

// insert gives the complete pages of a request to the tree, up to its first upTo tokens, and frees its copies of pages
// that the tree held already. It returns the node where they end; without a page beyond those already given it does not
// touch the tree (spec engine-core §4.7).
func (c *sglangCore) insert(s *sglSeq, upTo int) kv.Node {
	pages, given := upTo/c.page, s.cached/c.page
	if pages <= given {
		return s.node
	}
	c.identify(s, pages)
	c.announce(s, pages)
	end, held := c.tree.Insert(s.node, s.keys[given:pages], c.sequences(s, given, pages))
	c.freePages(s, given, given+held)
	s.cached = pages * c.page
	return end
}

// insertUnfinished caches what a request has so far and moves its lock to where that ends.
func (c *sglangCore) insertUnfinished(s *sglSeq) {
	if !c.cfg.EnablePrefixCaching {
		return
	}
	if end := c.insert(s, min(s.length, s.materialized)); end != s.node {
		c.tree.Lock(end)
		c.tree.Unlock(s.node)
		s.node = end
	}
}

// finish gives back everything an ended request holds, its complete pages to the tree.
func (c *sglangCore) finish(s *sglSeq) {
	if !c.cfg.EnablePrefixCaching {
		c.release(s)
		return
	}
	keep := min(s.length, s.materialized)
	c.freePages(s, max(s.cached, keep)/c.page, s.allocated/c.page)
	c.insert(s, keep)
	c.tree.Unlock(s.node)
	c.disown(s)
}

// release frees what a request holds outside the tree and unlocks the rest: it stays evictable.
func (c *sglangCore) release(s *sglSeq) {
	c.freePages(s, s.cached/c.page, s.allocated/c.page)
	c.tree.Unlock(s.node)
	c.disown(s)
}

func (c *sglangCore) disown(s *sglSeq) {
	s.materialized, s.allocated, s.cached, s.announced, s.node = 0, 0, 0, 0, kv.RadixRoot
}

// freePages returns the pages [from, to) of a request to the pool.
func (c *sglangCore) freePages(s *sglSeq, from, to int) {
	if from >= to {
		return
	}
	c.pool.Give(to - from)
	if to = min(to, s.announced); c.cache != nil && from < to {
		c.cache.forget(s.seqs[from:to])
	}
}

// evict drops pages of the tree that nobody has locked, as many as there are up to n.
func (c *sglangCore) evict(n int) {
	if n <= 0 {
		return
	}
	if c.cache == nil {
		dropped, _ := c.tree.Evict(n, nil)
		c.pool.Give(dropped)
		return
	}
	dropped, gone := c.tree.Evict(n, c.cache.gone[:0])
	c.pool.Give(dropped)
	c.cache.gone = gone
	c.cache.forget(gone)
}

// take claims n pages for a request, evicting the shortage. The caller knows that there is room.
func (c *sglangCore) take(n int) {
	c.evict(n - c.pool.Free())
	if !c.pool.Take(n) {
		panic("engine: sglang core took pages it had not checked for")
	}
}
