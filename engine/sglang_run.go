package engine

import (
	"slices"
)

// plannedRun is steady decode that has been timed but not applied (spec engine-core §14.8).
type plannedRun struct {
	// passes is how many were planned.
	passes int
	// growers orders the requests by residue of their length modulo the page size, then by place in the running list.
	growers []uint64
	// cursor ends the growers of smaller residues than the last that were asked for.
	cursor int
}

// run implements core. Steady decode is possible while nothing waits, or while FIFO keeps all waiting behind full slots.
// It costs O(running) plus O(1) per pass.
func (c *sglangCore) run(now Time, ends []Time, limit int) ([]Time, error) {
	c.plan.passes = 0
	n := len(c.running)
	if n == 0 || c.bursts != nil || c.cfg.PrefillDecodeInterval > 0 || c.cfg.EmitKVEvents || c.cfg.EmitLoad ||
		c.waiting.len() > 0 && !c.closed() {
		return ends, nil
	}
	passes, active := limit, 0
	for _, s := range c.running {
		passes = min(passes, s.remaining())
		active += s.length
		if c.cfg.EnablePrefixCaching && s.length-s.cached >= c.page {
			return ends, nil // its prompt is not in the tree yet
		}
	}
	passes = c.covered(passes)
	total := c.pool.Total() * c.page
	for range passes {
		d, err := c.model.Decode(DecodeBatch{Requests: n, ActiveKV: active, MeanContext: active / n, TotalKV: total})
		if err != nil {
			return ends, err
		}
		now = now.Add(d)
		ends = append(ends, now)
		active += n
	}
	c.plan.passes = max(0, passes)
	return ends, nil
}

// closed says that no waiting request can enter, leave or change its place before something finishes.
func (c *sglangCore) closed() bool {
	return c.slots() <= 0 && c.overlong == 0 && (c.cfg.SGLang.SchedulePolicy != "lpm" || c.waiting.len() < 2)
}

// holds implements core.
func (c *sglangCore) holds(r *Request) bool {
	limit := c.cfg.MaxModelLen
	return c.slots() <= 0 && c.cfg.SGLang.SchedulePolicy != "lpm" && (limit == 0 || r.PromptTokens < limit)
}

// covered is how many of so many passes surely find their pages, free or evictable. Equal pages that the tree turns out
// to hold can only leave more.
func (c *sglangCore) covered(passes int) int {
	room, n := c.room(), len(c.running)
	if n*c.pages(passes) <= room {
		return passes
	}
	low, high := 0, passes
	for low < high {
		mid := (low + high + 1) / 2
		need := 0
		for _, s := range c.running {
			need += c.growth(s, mid)
		}
		if need <= room {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// commit implements core. It leaves exactly what n passes would: pages are claimed, evicted and inserted pass by pass,
// but only the requests that cross a page boundary in a pass are visited in it.
func (c *sglangCore) commit(n int, r *Run) {
	c.plan.passes = 0
	c.sortGrowers()
	alone := c.cfg.EnablePrefixCaching && c.unknownPages(n)
	growing := c.nextBoundary(0)
	for k := range n {
		c.evict(len(growing) - c.pool.Free())
		if !c.pool.Take(len(growing)) {
			panic("engine: sglang run was planned beyond the pool")
		}
		growing = c.nextBoundary(k + 1)
		if c.cfg.EnablePrefixCaching {
			c.insertCompleted(growing, k, n, alone)
		}
		c.ratio = max(c.ratio-c.ratioDecay, c.ratioMin)
	}
	c.ended = c.ended[:0]
	kept := c.running[:0]
	for _, s := range c.running {
		s.length += n
		s.materialized += n
		s.allocated = max(s.allocated, c.ceil(s.length))
		r.Requests = append(r.Requests, s.req)
		if s.remaining() > 0 {
			kept = append(kept, s)
			continue
		}
		r.Outputs = append(r.Outputs, Output{Req: s.req, Cached: s.reused, End: Completed})
		c.ended = append(c.ended, s)
	}
	clear(c.running[len(kept):])
	c.running = kept
	for _, s := range c.ended {
		c.finish(s)
		c.forget(s)
	}
	if n > 0 {
		c.decoded, c.barren, c.repeats, c.decodeOnly = true, 0, 0, false
	}
	r.After = c.state()
}

// sortGrowers prepares nextBoundary.
func (c *sglangCore) sortGrowers() {
	c.plan.growers = c.plan.growers[:0]
	for i, s := range c.running {
		c.plan.growers = append(c.plan.growers, uint64(s.length%c.page)<<32|uint64(i))
	}
	slices.Sort(c.plan.growers)
}

// nextBoundary returns the requests whose length is a multiple of the page size before pass k of the run: they claim a
// page in it, and completed one in the pass before. They are in running order. It is called for each k in turn, so that
// the residues come in falling order and a cursor finds them.
func (c *sglangCore) nextBoundary(k int) []uint64 {
	residue := (c.page - k%c.page) % c.page
	if k == 0 {
		c.plan.cursor = c.plan.lead()
		return c.plan.growers[:c.plan.cursor]
	}
	if residue == c.page-1 {
		c.plan.cursor = len(c.plan.growers)
	}
	to := c.plan.cursor
	from := to
	for from > 0 && c.plan.growers[from-1]>>32 == uint64(residue) {
		from--
	}
	c.plan.cursor = from
	return c.plan.growers[from:to]
}

// lead is the number of growers with residue 0.
func (r *plannedRun) lead() int {
	n, _ := slices.BinarySearch(r.growers, 1<<32)
	return n
}

// insertCompleted gives the pages completed in pass k of n to the tree, except those of requests that end with it. If no
// page of the run can equal another, a request that has a leaf of its own only lengthens it: then just its last page
// counts, as the time of use, and the others go with it.
func (c *sglangCore) insertCompleted(completed []uint64, k, n int, alone bool) {
	for _, g := range completed {
		s := c.running[uint32(g)]
		left := s.remaining() - (k + 1)
		if left == 0 || alone && k+c.page < n && left != c.page && c.tree.Alone(s.node) {
			continue
		}
		length, materialized := s.length, s.materialized
		s.length, s.materialized = length+k+1, materialized+k+1
		c.insertUnfinished(s)
		s.length, s.materialized = length, materialized
	}
}

// unknownPages identifies the pages that a run of n passes completes and says whether none of them has a content that
// anybody could ask for.
func (c *sglangCore) unknownPages(n int) bool {
	unknown := true
	for _, s := range c.running {
		c.identify(s, (s.length+n)/c.page)
		unknown = unknown && s.known <= s.cached/c.page
	}
	return unknown
}
