package engine

import (
	"fakellm/engine/kv"
)

// Constants of the SGLang shape (spec engine-core §4.1).
const (
	// initialRatio is the new-token ratio at the start per unit of conservativeness, leastRatio its floor in parts of
	// that, ratioSteps the number of passes in which it falls from one to the other.
	initialRatio, leastRatio, ratioSteps = 0.7, 0.14, 600
	// retractLookAhead is how many tokens per survivor the estimate after a retraction adds.
	retractLookAhead = 20
	// lpmFallback is the queue length above which longest-prefix-match ordering is skipped.
	lpmFallback = 128
	// sharedPrefix is the length in tokens below which a match counts as none when equal prompts are spread over passes.
	sharedPrefix = 32
)

// sglangCore is one rank of the SGLang shape: prefill first, then decode; a radix tree over pages; retraction when the
// pool runs dry (spec engine-core §4). All lengths are in tokens unless a name says pages.
type sglangCore struct {
	cfg         Config
	page, chunk int
	model       StepModel
	// bursts is nil without speculation.
	bursts *sampler

	ratio, ratioInit, ratioMin, ratioDecay float64

	pool  kv.Pages
	tree  *kv.Radix
	cache *announcer

	waiting sglQueue
	running []*sglSeq
	byID    map[RequestID]*sglSeq
	// overlong counts the waiting requests whose prompt alone exceeds max_model_len.
	overlong int
	// owner numbers requests for the identities of pages that nobody can ask for.
	owner uint64
	// preemptions counts retractions since the start.
	preemptions uint64
	// decoded says whether the last pass had anything to decode.
	decoded bool
	// headFirst keeps the order of the queue for one pass, decodeOnly keeps new requests out until a token comes out;
	// barren counts passes that only took pages back (see unblock and watch).
	headFirst, decodeOnly bool
	barren                int
	// repeats counts the passes without effect at the instant repeatAt.
	repeats  int
	repeatAt Time

	plan plannedRun

	// Scratch of one pass, kept for its capacity.
	batch, fresh, ended, retracted, rejected []*sglSeq
	shapes                                   []PrefillShape
	order                                    []ranked
	seen                                     []uint64
	spare                                    []*sglSeq
	longKeys                                 [][]kv.LocalHash
	load                                     Load
}

// sglSeq is a request inside the core.
type sglSeq struct {
	req *Request
	// prompt, length (prompt and output so far) and maxOutput, as capped by max_model_len.
	prompt, length, maxOutput int
	// materialized tokens have KV; allocated is the multiple of the page size they may grow to without a new page. Of
	// those cached lie in the tree, protected by a lock on node; the rest is the request's own.
	materialized, allocated, cached int
	node                            kv.Node
	// keys and seqs identify its complete pages as far as anybody asked; they outlive a retraction.
	keys []kv.LocalHash
	seqs []kv.SequenceHash
	// known is the number of keys up to the last that identifies content; the later ones are this request's alone.
	known int
	// announced pages, counted from the start of the sequence, are known to listeners of cache events.
	announced int
	// begin and end bound the chunk of the prefill batch that is being formed.
	begin, end int
	// reused is the match of the first admission.
	reused   int
	admitted bool
	owner    uint64
}

func (s *sglSeq) output() int    { return s.length - s.prompt }
func (s *sglSeq) remaining() int { return s.maxOutput - s.output() }

// newSGLang returns the core of one rank. The Engine has already divided the chunk and the conservativeness of a group
// (spec engine-core §1.1).
func newSGLang(cfg Config, rank int, model StepModel) core {
	first := initialRatio * cfg.SGLang.ScheduleConservativeness
	c := &sglangCore{
		cfg: cfg, page: cfg.BlockSize, chunk: cfg.SGLang.ChunkedPrefillSize, model: model,
		ratio: first, ratioInit: first, ratioMin: leastRatio * first,
		pool: kv.NewPages(cfg.NumGPUBlocks),
		tree: kv.NewRadix(cfg.EmitKVEvents && cfg.EnablePrefixCaching),
		byID: map[RequestID]*sglSeq{}, longKeys: make([][]kv.LocalHash, 0, longKeys),
		// Ranks of one cluster must not invent equal identities: listeners of their events would see shared pages.
		owner: uint64(cfg.WorkerID*max(1, cfg.DPSize)+rank) << 40,
	}
	c.ratioDecay = (c.ratioInit - c.ratioMin) / ratioSteps
	if cfg.EmitKVEvents && cfg.EnablePrefixCaching {
		c.cache = newAnnouncer(cfg)
	}
	if cfg.NumSpeculativeTokens > 0 {
		c.bursts = newSampler(cfg, rank)
	}
	return c
}

// submit implements core.
func (c *sglangCore) submit(r *Request) {
	s := c.newSeq()
	c.owner++
	*s = sglSeq{
		req: r, prompt: r.PromptTokens, length: r.PromptTokens, maxOutput: r.MaxOutput, owner: c.owner,
		keys: s.keys[:0], seqs: s.seqs[:0],
	}
	if limit := c.cfg.MaxModelLen; limit > 0 {
		s.maxOutput = min(s.maxOutput, max(0, limit-s.prompt))
		if s.prompt >= limit {
			c.overlong++
		}
	}
	c.byID[r.ID] = s
	c.waiting.pushBack(s)
}

// newSeq takes a record that an ended request left behind, or makes one.
func (c *sglangCore) newSeq() *sglSeq {
	if n := len(c.spare); n > 0 {
		s := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return s
	}
	return &sglSeq{}
}

// forget drops an ended request, which owns nothing any more. Its record is reused, so callers read it first.
func (c *sglangCore) forget(s *sglSeq) {
	delete(c.byID, s.req.ID)
	s.req = nil
	if cap(s.keys) > smallKeys {
		if len(c.longKeys) < cap(c.longKeys) {
			c.longKeys = append(c.longKeys, s.keys[:0])
		}
		s.keys = nil
	}
	c.spare = append(c.spare, s)
}

// smallKeys is the number of keys up to which every record of an ended request keeps its slice; of longer ones, which
// only tiny pages bring about, a rank keeps longKeys for whoever needs one next.
const smallKeys, longKeys = 1 << 10, 8

// cancel implements core. It takes O(waiting + running).
func (c *sglangCore) cancel(id RequestID) bool {
	s := c.byID[id]
	if s == nil {
		return false
	}
	if !c.waiting.remove(s) {
		c.running = without(c.running, s)
	} else if c.tooLong(s) {
		c.overlong--
	}
	c.release(s)
	c.forget(s)
	return true
}

func without(list []*sglSeq, s *sglSeq) []*sglSeq {
	for i, other := range list {
		if other == s {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// tooLong says whether max_model_len leaves no room for a single token.
func (c *sglangCore) tooLong(s *sglSeq) bool {
	return c.cfg.MaxModelLen > 0 && s.prompt >= c.cfg.MaxModelLen
}

// ready implements core.
func (c *sglangCore) ready() bool { return len(c.running) > 0 || c.waiting.len() > 0 }

// resetPrefixCache implements core.
func (c *sglangCore) resetPrefixCache() { c.evict(c.tree.Evictable()) }

// changes implements core.
func (c *sglangCore) changes() []kv.Event {
	if c.cache == nil {
		return nil
	}
	c.cache.reuse()
	c.cache.taken = len(c.cache.events)
	return c.cache.events
}

// state implements core. Pages of the tree that nobody has locked count as inactive, although SGLang's own gauge calls
// them used (spec engine-core §4.8).
func (c *sglangCore) state() RankState {
	return RankState{
		Running: len(c.running), Waiting: c.waiting.len(),
		ActiveBlocks:   c.pool.Total() - c.pool.Free() - c.tree.Evictable(),
		InactiveBlocks: c.tree.Evictable(), TotalBlocks: c.pool.Total(),
		Preemptions: c.preemptions, NewTokenRatio: c.ratio,
	}
}

// pages is the number of pages that hold n tokens, ceil the tokens those can hold.
func (c *sglangCore) pages(n int) int { return kv.PagesFor(n, c.page) }
func (c *sglangCore) ceil(n int) int  { return c.pages(n) * c.page }

// room is what prefill and decode may still claim, in pages: free or evictable.
func (c *sglangCore) room() int { return c.pool.Free() + c.tree.Evictable() }
