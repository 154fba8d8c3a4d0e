package engine

import (
	"cmp"
	"slices"

	"fakellm/internal/rng"
)

// ranked is a waiting request with its place under longest prefix match.
type ranked struct {
	seq *sglSeq
	// later is set for a request that should wait until the one before it has cached the prefix they share.
	later bool
	match int
}

// applyPolicy orders the queue (spec engine-core §4.3). FIFO leaves it alone. Longest prefix match puts the requests with
// the longest cached prefix first, keeps the order of equals, and moves those to the end whose first tokens are cold and
// equal to those of an earlier one. It costs O(pages matched) over at most 128 requests, and nothing beyond that.
func (c *sglangCore) applyPolicy() {
	n := c.waiting.len()
	if c.cfg.SGLang.SchedulePolicy != "lpm" || !c.cfg.EnablePrefixCaching || n < 2 || n > lpmFallback {
		return
	}
	c.order, c.seen = c.order[:0], c.seen[:0]
	for i := range n {
		s := c.waiting.at(i)
		pages := c.matchable(s.length)
		c.identify(s, pages)
		r := ranked{seq: s, match: c.tree.Match(s.keys[:pages]) * c.page}
		r.later = r.match <= sharedPrefix && c.seenBefore(s)
		c.order = append(c.order, r)
	}
	slices.SortStableFunc(c.order, func(a, b ranked) int {
		if a.later != b.later {
			if b.later {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.match, a.match)
	})
	for i := range c.order {
		c.waiting.set(i, c.order[i].seq)
	}
}

// seenBefore says whether an earlier request of this scan begins with the same tokens, and remembers these.
func (c *sglangCore) seenBefore(s *sglSeq) bool {
	pages := c.pages(sharedPrefix)
	if s.length < pages*c.page {
		return false
	}
	var prefix uint64
	for _, k := range s.keys[:pages] {
		prefix = rng.Mix(prefix ^ uint64(k))
	}
	if slices.Contains(c.seen, prefix) {
		return true
	}
	c.seen = append(c.seen, prefix)
	return false
}
