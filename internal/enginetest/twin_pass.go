package enginetest

import (
	"slices"

	"fakellm/engine"
	"fakellm/engine/kv"
)

// twinPass is the state of one pass of the twin.
type twinPass struct {
	*Twin
	p         *engine.Pass
	budget    int
	preempted bool
	rejected  []engine.Output
}

// pass runs one iteration (spec §2.3).
func (t *Twin) pass() *engine.Pass {
	x := &twinPass{Twin: t, p: &engine.Pass{Start: t.now}, budget: t.cfg.MaxNumBatchedTokens}
	x.removed(t.cleared)
	t.cleared = nil
	for _, s := range slices.Concat(t.running, t.waiting) {
		s.scheduled = nil
	}
	for i := 0; i < len(t.running) && x.budget > 0; {
		s := t.running[i]
		ok := x.schedule(s, 0, nil)
		if ok {
			i++
		} else if !s.evicted {
			break
		}
	}
	x.admit()
	var shares []*twinShare
	for _, s := range t.running {
		if s.scheduled != nil {
			shares = append(shares, s.scheduled)
			x.p.ScheduledTokens += s.scheduled.tokens
			if s.scheduled.prompt > 0 {
				x.p.PromptTokens += s.scheduled.tokens
			}
		}
	}
	t.prefillTime(x.p, shares)
	x.emit()
	if len(x.p.Outputs) > 0 {
		x.evictions = 0
	}
	x.p.Outputs = append(x.p.Outputs, x.rejected...)
	return x.p
}

// admit looks at the queue (spec §2.4, §3).
func (x *twinPass) admit() {
	if x.evictions > 64+2*(len(x.running)+len(x.waiting)) && len(x.waiting) > 0 {
		x.evictions = 0
		x.rejected = append(x.rejected, x.endHead())
	}
	for !x.preempted && len(x.running) < x.cfg.MaxNumSeqs && len(x.waiting) > 0 {
		s := x.waiting[0]
		if why := x.never(s); why != nil {
			x.waiting = x.waiting[1:]
			x.rejected = append(x.rejected, engine.Output{Req: s.req, Cached: s.cached, End: engine.Rejected, Why: why})
			continue
		}
		if x.mtp() && s.evicted && x.blocks(s.length+min(x.width(), x.remaining(s))) > x.cfg.NumGPUBlocks {
			return
		}
		hits, inUse := x.probe(s)
		needed, free := x.blocks(s.length), x.cfg.NumGPUBlocks-x.pool.active()
		if x.trt() {
			needed = x.blocks(s.prompt() + s.limit)
			for _, r := range x.running {
				free -= x.blocks(r.prompt()+r.limit) - len(r.ids)
			}
			free = max(0, free)
		}
		if needed-min(inUse, len(hits)) > free {
			return
		}
		cached := len(hits) * x.cfg.BlockSize
		if !x.schedule(s, cached, hits) {
			return
		}
		x.waiting = slices.DeleteFunc(x.waiting, func(o *twinSeq) bool { return o == s })
		x.p.Admitted = append(x.p.Admitted, engine.Admission{Req: s.req, Cached: cached, Again: s.admitted})
		if !s.admitted {
			s.cached = cached
		}
		s.admitted, s.evicted = true, false
		x.running = append(x.running, s)
		if s.scheduled.tokens == 0 && x.budget == 0 {
			return
		}
	}
}

func (x *twinPass) never(s *twinSeq) *engine.Refusal {
	limit := x.cfg.MaxModelLen
	if s.prompt() == 0 {
		return &engine.Refusal{Setting: "prompt", Need: 1}
	}
	if limit > 0 && s.prompt() >= limit {
		return &engine.Refusal{Setting: "max_model_len", Need: s.prompt() + 1, Have: limit}
	}
	need := x.blocks(s.length)
	if x.trt() {
		need = x.blocks(s.prompt() + s.limit)
	}
	if !s.evicted && need > x.cfg.NumGPUBlocks {
		return &engine.Refusal{Setting: "num_gpu_blocks", Need: need, Have: x.cfg.NumGPUBlocks}
	}
	return nil
}

// probe finds what the cache has of s, and how much of it is in use.
func (x *twinPass) probe(s *twinSeq) (hits []int, inUse int) {
	if !x.cfg.EnablePrefixCaching {
		return nil, 0
	}
	for i := 0; (i+1)*x.cfg.BlockSize <= s.length; i++ {
		hash, _ := x.hash(s, i)
		id, ok := x.pool.lookup(hash)
		if !ok {
			break
		}
		hits = append(hits, id)
		if x.pool.copies[id].refs > 0 {
			inUse++
		}
	}
	if !x.trt() && s.limit > s.length-s.prompt() {
		if len(hits)*x.cfg.BlockSize == s.length {
			hits = hits[:len(hits)-1]
		}
		if x.mtp() && len(hits) > 0 {
			hits = hits[:len(hits)-1]
		}
	}
	return hits, inUse
}

// schedule gives s tokens of this pass (spec §2.5); false if it got none or was evicted itself.
func (x *twinPass) schedule(s *twinSeq, cached int, hits []int) bool {
	before := s.computed
	if before == 0 {
		before = cached
	}
	promptBefore := min(before, s.prompt())
	if !x.cfg.EnableChunkedPrefill && s.prompt()-promptBefore > x.budget {
		return false
	}
	after := before + min(s.length-before, x.budget)
	if after == before && s.length > before {
		return false
	}
	for !x.cover(s, after, hits) {
		if x.trt() || len(x.running) == 0 {
			return false
		}
		if x.evict(true) == s {
			return false
		}
	}
	s.computed = after
	x.publish(s)
	s.scheduled = &twinShare{after - before, min(after, s.prompt()) - promptBefore, promptBefore}
	x.budget -= after - before
	return true
}

// cover allocates blocks for the first tokens of s.
func (x *twinPass) cover(s *twinSeq, tokens int, hits []int) bool {
	if tokens <= s.allocated {
		return true
	}
	if s.allocated > 0 {
		hits = nil
	}
	ids, removed, ok := x.pool.allocate(hits, x.blocks(tokens)-len(s.ids)-len(hits))
	if !ok {
		return false
	}
	x.removed(removed)
	s.ids = append(s.ids, ids...)
	s.shown += len(hits)
	s.allocated = tokens
	return true
}

// evict preempts a victim (spec §2.6).
func (x *twinPass) evict(scheduling bool) *twinSeq {
	i := len(x.running) - 1
	if x.cfg.PreemptionMode == "fifo" {
		i = 0
	}
	s := x.running[i]
	x.running = slices.Delete(x.running, i, i+1)
	x.waiting = slices.Insert(x.waiting, 0, s)
	x.p.Preempted = append(x.p.Preempted, engine.Preemption{Req: s.req, Blocks: len(s.ids)})
	x.release(s)
	s.computed, s.evicted = 0, true
	x.preempted = true
	x.preemptions++
	x.evictions++
	if scheduling && s.scheduled != nil {
		x.budget += s.scheduled.tokens
		s.scheduled = nil
	}
	return s
}

// publish makes the full computed blocks of s visible, with their events (spec §5.4).
func (x *twinPass) publish(s *twinSeq) {
	open := false
	for ; (s.shown+1)*x.cfg.BlockSize <= s.computed; s.shown++ {
		if !x.cfg.EnablePrefixCaching {
			continue
		}
		hash, local := x.hash(s, s.shown)
		if !x.pool.publish(s.ids[s.shown], hash) {
			open = false
			continue
		}
		if !x.cfg.EmitKVEvents {
			continue
		}
		b := kv.EventBlock{Sequence: kv.SequenceHash(hash), Local: local}
		if source, ok := s.req.Content.(kv.TokenSource); ok && x.cfg.EmitKVTokenIDs {
			b.Tokens = source.AppendTokens(nil, s.shown*x.cfg.BlockSize, (s.shown+1)*x.cfg.BlockSize)
		}
		if !open {
			e := kv.Event{ID: x.eventID, HasParent: s.shown > 0}
			if s.shown > 0 {
				parent, _ := x.hash(s, s.shown-1)
				e.Parent = kv.SequenceHash(parent)
			}
			x.eventID++
			x.p.Events = append(x.p.Events, e)
		}
		last := &x.p.Events[len(x.p.Events)-1]
		last.Blocks = append(last.Blocks, b)
		open = true
	}
}

func (x *twinPass) removed(hashes []uint64) {
	if len(hashes) == 0 || !x.cfg.EmitKVEvents {
		return
	}
	e := kv.Event{ID: x.eventID, Removed: true}
	x.eventID++
	for _, h := range hashes {
		e.Blocks = append(e.Blocks, kv.EventBlock{Sequence: kv.SequenceHash(h)})
	}
	x.p.Events = append(x.p.Events, e)
}
