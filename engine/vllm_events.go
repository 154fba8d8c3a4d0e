package engine

import "fakellm/engine/kv"

// eventLog collects the cache events of a pass. Its arenas are reused from pass to pass.
type eventLog struct {
	list   []kv.Event
	blocks []kv.EventBlock
	tokens []uint32
	next   uint64
	// open says that the last event may still grow by the next block of the same decision.
	open bool
}

// reset starts a pass; list is the reused slice of the Pass.
func (l *eventLog) reset(list []kv.Event) {
	l.list, l.blocks, l.tokens, l.open = list[:0], l.blocks[:0], l.tokens[:0], false
}

// add appends an event with the blocks from the arena index on.
func (l *eventLog) add(e kv.Event, from int) {
	e.ID, e.Blocks = l.next, l.blocks[from:len(l.blocks):len(l.blocks)]
	l.next++
	l.list = append(l.list, e)
}

// noteRemoved reports the hashes evicted since the last call as one event.
func (c *vllm) noteRemoved() {
	if !c.cfg.EmitKVEvents {
		return
	}
	l := &c.events
	from := len(l.blocks)
	for _, h := range c.pool.Removed() {
		l.blocks = append(l.blocks, kv.EventBlock{Sequence: h})
	}
	if len(l.blocks) > from {
		l.add(kv.Event{Removed: true}, from)
	}
	l.open = false
}

// noteStored reports that block i of s was published. Consecutive blocks that became visible in one decision form one
// event; one that was visible before splits it (spec §5.4).
func (c *vllm) noteStored(s *seq, i int, visible bool) {
	l := &c.events
	if !visible {
		l.open = false
		return
	}
	b := kv.EventBlock{Sequence: c.hash(s, i), Local: c.local(s, i)}
	if source, ok := s.req.Content.(kv.TokenSource); ok && c.cfg.EmitKVTokenIDs {
		from := len(l.tokens)
		l.tokens = source.AppendTokens(l.tokens, i*c.cfg.BlockSize, (i+1)*c.cfg.BlockSize)
		b.Tokens = l.tokens[from:len(l.tokens):len(l.tokens)]
	}
	l.blocks = append(l.blocks, b)
	if l.open {
		last := &l.list[len(l.list)-1]
		n := len(last.Blocks)
		last.Blocks = l.blocks[len(l.blocks)-n-1 : len(l.blocks) : len(l.blocks)]
		return
	}
	e := kv.Event{HasParent: i > 0}
	if i > 0 {
		e.Parent = c.hash(s, i-1)
	}
	l.add(e, len(l.blocks)-1)
	l.open = true
}
