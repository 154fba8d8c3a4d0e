package engine

import (
	"slices"
	"sort"

	"fakellm/engine/kv"
)

// twinCore is the slow, obvious SGLang scheduler: every quantity is computed from scratch when it is needed, pages are
// numbers, and the code follows the text of spec engine-core §4 line by line.
type twinCore struct {
	cfg              Config
	page             int
	model            StepModel
	bursts           *sampler
	waiting, running []*twinSeq
	ratio            float64
	pool             twinPool
	tree             *twinTree
	owners           uint64
	retractions      uint64
	decoded          bool
	// What is ours, where the reference hangs: see unblock and watch of the core.
	headFirst, decodeOnly bool
	barren, repeats       int
	at                    Time

	table  map[int]kv.SequenceHash
	live   map[kv.SequenceHash]int
	events []kv.Event
	nextID uint64
}

type twinSeq struct {
	req                *Request
	owner              uint64
	prompt, len, max   int
	materialized       int
	pages              []int // all pages, those in the tree first
	cached             int   // tokens in the tree
	node               *twinNode
	reused, begin, end int
	admitted           bool
}

func newTwin(cfg Config, rank int, model StepModel) core {
	c := &twinCore{
		cfg: cfg, page: cfg.BlockSize, model: model, ratio: 0.7 * cfg.SGLang.ScheduleConservativeness,
		pool: twinPool{total: cfg.NumGPUBlocks}, tree: newTwinTree(),
		owners: uint64(cfg.WorkerID*max(1, cfg.DPSize)+rank) << 40,
		table:  map[int]kv.SequenceHash{}, live: map[kv.SequenceHash]int{},
	}
	if cfg.NumSpeculativeTokens > 0 {
		c.bursts = newSampler(cfg, rank)
	}
	return c
}

func (c *twinCore) ceil(n int) int { return (n + c.page - 1) / c.page * c.page }
func (s *twinSeq) output() int     { return s.len - s.prompt }
func (s *twinSeq) remaining() int  { return s.max - s.output() }

func (c *twinCore) available() int { return c.pool.free() * c.page }
func (c *twinCore) evictable() int { return c.tree.evictable() * c.page }

func (c *twinCore) keys(s *twinSeq, pages int) (keys []kv.LocalHash) {
	for i := range pages {
		k, ok := kv.LocalHash(0), false
		if s.req.Content != nil {
			k, ok = s.req.Content.Local(i, c.page)
		}
		if !ok {
			k = kv.Own(s.owner, i)
		}
		keys = append(keys, k)
	}
	return keys
}

func (c *twinCore) submit(r *Request) {
	c.owners++
	s := &twinSeq{
		req: r, owner: c.owners, prompt: r.PromptTokens, len: r.PromptTokens, max: r.MaxOutput, node: c.tree.root,
	}
	if c.cfg.MaxModelLen > 0 {
		s.max = min(s.max, max(0, c.cfg.MaxModelLen-s.prompt))
	}
	c.waiting = append(c.waiting, s)
}

func (c *twinCore) cancel(id RequestID) bool {
	for _, list := range []*[]*twinSeq{&c.waiting, &c.running} {
		for i, s := range *list {
			if s.req.ID == id {
				*list = slices.Delete(*list, i, i+1)
				c.release(s)
				return true
			}
		}
	}
	return false
}

func (c *twinCore) ready() bool                                    { return len(c.waiting)+len(c.running) > 0 }
func (c *twinCore) changes() []kv.Event                            { return nil }
func (c *twinCore) resetPrefixCache()                              { c.evict(c.tree.evictable()) }
func (c *twinCore) run(_ Time, ends []Time, _ int) ([]Time, error) { return ends, nil }
func (c *twinCore) holds(*Request) bool                            { return false }
func (c *twinCore) commit(int, *Run)                               { panic("the twin plans no runs") }

func (c *twinCore) free(pages []int) {
	c.pool.stack = append(c.pool.stack, pages...)
	c.forget(pages)
}

func (c *twinCore) state() RankState {
	evictable := c.tree.evictable()
	return RankState{
		Running: len(c.running), Waiting: len(c.waiting), ActiveBlocks: c.pool.total - c.pool.free() - evictable,
		InactiveBlocks: evictable, TotalBlocks: c.pool.total, Preemptions: c.retractions, NewTokenRatio: c.ratio,
	}
}

func (c *twinCore) settle(worked, deferred bool) {
	if deferred && !worked && !c.decoded {
		c.ratio = 0.7 * c.cfg.SGLang.ScheduleConservativeness
	}
}

func (c *twinCore) evict(pages int) {
	if pages > 0 {
		c.free(c.tree.evict(pages))
	}
}

// release frees what is not in the tree.
func (c *twinCore) release(s *twinSeq) {
	c.free(s.pages[s.cached/c.page:])
	c.tree.lock(s.node, -1)
	s.pages, s.cached, s.materialized, s.node = nil, 0, 0, c.tree.root
}

// insert caches the complete pages of the first upTo tokens.
func (c *twinCore) insert(s *twinSeq, upTo int) *twinNode {
	from, to := s.cached/c.page, upTo/c.page
	if to <= from {
		return s.node
	}
	c.announce(s, to)
	keys := c.keys(s, to)
	end, duplicates := c.tree.insert(s.node, keys[from:], s.pages[from:to])
	c.free(append([]int(nil), duplicates...))
	s.cached = to * c.page
	return end
}

func (c *twinCore) insertUnfinished(s *twinSeq) {
	if !c.cfg.EnablePrefixCaching {
		return
	}
	end := c.insert(s, min(s.len, s.materialized))
	c.tree.lock(end, 1)
	c.tree.lock(s.node, -1)
	s.node = end
	copy(s.pages, c.path(end))
}

// path returns the page numbers from the root to a node.
func (c *twinCore) path(n *twinNode) (pages []int) {
	for ; n != c.tree.root; n = n.parent {
		pages = append(append([]int(nil), n.pages...), pages...)
	}
	return pages
}

func (c *twinCore) finish(s *twinSeq) {
	if !c.cfg.EnablePrefixCaching {
		c.release(s)
		return
	}
	complete := min(s.len, s.materialized) / c.page
	complete = max(complete, s.cached/c.page)
	c.free(s.pages[complete:])
	c.insert(s, min(s.len, s.materialized))
	c.tree.lock(s.node, -1)
}

// Events: a table from pages to identities, a count of live pages per identity.

func (c *twinCore) chain(s *twinSeq, pages int) (out []kv.SequenceHash) {
	for i, k := range c.keys(s, pages) {
		if i == 0 {
			out = append(out, kv.First(k))
		} else {
			out = append(out, kv.Chain(out[i-1], k))
		}
	}
	return out
}

func (c *twinCore) announce(s *twinSeq, pages int) {
	if !c.cfg.EmitKVEvents || !c.cfg.EnablePrefixCaching {
		return
	}
	seqs, keys := c.chain(s, pages), c.keys(s, pages)
	var e *kv.Event
	for i := range pages {
		if _, known := c.table[s.pages[i]]; known {
			continue
		}
		h := seqs[i]
		c.table[s.pages[i]] = h
		c.live[h]++
		if e == nil && c.live[h] > 1 {
			continue
		}
		if e == nil {
			e = &kv.Event{ID: c.nextID}
			c.nextID++
			if i > 0 {
				e.Parent, e.HasParent = seqs[i-1], true
			}
		}
		e.Blocks = append(e.Blocks, kv.EventBlock{Sequence: h, Local: keys[i]})
	}
	if e != nil {
		c.events = append(c.events, *e)
	}
}

func (c *twinCore) forget(pages []int) {
	e := kv.Event{ID: c.nextID, Removed: true}
	for _, p := range pages {
		h, known := c.table[p]
		if !known {
			continue
		}
		delete(c.table, p)
		if c.live[h]--; c.live[h] == 0 {
			e.Blocks = append(e.Blocks, kv.EventBlock{Sequence: h})
		}
	}
	if len(e.Blocks) > 0 {
		c.nextID++
		c.events = append(c.events, e)
	}
}

// policy orders the queue.
func (c *twinCore) policy() {
	if c.cfg.SGLang.SchedulePolicy != "lpm" || !c.cfg.EnablePrefixCaching || len(c.waiting) > 128 {
		return
	}
	match, later := map[*twinSeq]int{}, map[*twinSeq]bool{}
	seen := map[kv.SequenceHash]bool{}
	for _, s := range c.waiting {
		pages := s.len / c.page
		match[s] = c.tree.match(c.keys(s, pages)) * c.page
		l := c.ceil(32)
		if match[s] <= 32 && s.len >= l {
			h := c.chain(s, l/c.page)[l/c.page-1]
			later[s] = seen[h]
			seen[h] = true
		}
	}
	sort.SliceStable(c.waiting, func(i, j int) bool {
		a, b := c.waiting[i], c.waiting[j]
		if later[a] != later[b] {
			return later[b]
		}
		return match[a] > match[b]
	})
}
