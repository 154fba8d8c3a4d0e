package engine

import (
	"slices"

	"fakellm/engine/kv"
)

// announcer turns what happens to pages into cache events (spec engine-core §5.4, SGLang). Pages are announced when a
// prefill allocates them or when generated ones enter the tree; a page that is equal to a live one is only counted.
// Events wait here until the end of the pass; those of commands go with the next pass unless they are asked for before.
type announcer struct {
	withTokens bool
	// live counts the announced pages per identity.
	live   map[kv.SequenceHash]int32
	nextID uint64
	events []kv.Event
	// gone, blocks and tokens are scratch; events point into blocks and tokens. The first taken
	// events belong to a pass, which may still be in flight.
	gone   []kv.SequenceHash
	blocks []kv.EventBlock
	tokens []uint32
	taken  int
}

func newAnnouncer(cfg Config) *announcer {
	return &announcer{withTokens: cfg.EmitKVTokenIDs, live: map[kv.SequenceHash]int32{}}
}

// reuse frees the scratch of the events that were taken, once they have been heard. Those of commands that came while
// their pass was in flight stay, in the old scratch.
func (a *announcer) reuse() {
	switch a.taken {
	case 0:
		return
	case len(a.events):
		a.events, a.blocks, a.tokens = a.events[:0], a.blocks[:0], a.tokens[:0]
	default:
		a.events, a.blocks, a.tokens = a.events[:copy(a.events, a.events[a.taken:])], nil, nil
	}
	a.taken = 0
}

// take moves the events so far to a pass.
func (a *announcer) take(to []kv.Event) []kv.Event {
	a.taken = len(a.events)
	return append(to, a.events...)
}

// forget counts pages out; identities without a live page are reported as removed, in one event.
func (a *announcer) forget(pages []kv.SequenceHash) {
	from := len(a.blocks)
	for _, h := range pages {
		if a.live[h]--; a.live[h] == 0 {
			delete(a.live, h)
			a.blocks = append(a.blocks, kv.EventBlock{Sequence: h})
		}
	}
	if blocks := a.blocks[from:]; len(blocks) > 0 {
		a.emit(kv.Event{Removed: true, Blocks: slices.Clip(blocks)})
	}
}

func (a *announcer) emit(e kv.Event) {
	e.ID = a.nextID
	a.nextID++
	a.events = append(a.events, e)
}

// sequences returns the sequence hashes of the pages [from, to) of a request, nil when nobody needs them.
func (c *sglangCore) sequences(s *sglSeq, from, to int) []kv.SequenceHash {
	if c.cache == nil {
		return nil
	}
	c.chain(s, to)
	return s.seqs[from:to]
}

// chain makes the sequence hashes of the first pages known; their keys are.
func (c *sglangCore) chain(s *sglSeq, pages int) {
	for i := len(s.seqs); i < pages; i++ {
		if i == 0 {
			s.seqs = append(s.seqs, kv.First(s.keys[0]))
			continue
		}
		s.seqs = append(s.seqs, kv.Chain(s.seqs[i-1], s.keys[i]))
	}
}

// announce tells listeners of the first pages of a request, as far as they have not heard: leading ones that equal a
// live page are only counted, from the first new identity on all are listed.
func (c *sglangCore) announce(s *sglSeq, pages int) {
	if c.cache == nil || s.announced >= pages {
		return
	}
	c.chain(s, pages)
	at := s.announced
	for ; at < pages && c.cache.live[s.seqs[at]] > 0; at++ {
		c.cache.live[s.seqs[at]]++
	}
	s.announced = pages
	if at == pages {
		return
	}
	e := kv.Event{}
	if at > 0 {
		e.Parent, e.HasParent = s.seqs[at-1], true
	}
	from := len(c.cache.blocks)
	for ; at < pages; at++ {
		c.cache.live[s.seqs[at]]++
		c.cache.blocks = append(c.cache.blocks, kv.EventBlock{
			Sequence: s.seqs[at], Local: s.keys[at], Tokens: c.cache.spell(s, at, c.page),
		})
	}
	e.Blocks = slices.Clip(c.cache.blocks[from:])
	c.cache.emit(e)
}

// spell returns the token ids of a page if listeners want them and the request knows them.
func (a *announcer) spell(s *sglSeq, page, size int) []uint32 {
	source, ok := s.req.Content.(kv.TokenSource)
	if !a.withTokens || !ok {
		return nil
	}
	from := len(a.tokens)
	a.tokens = source.AppendTokens(a.tokens, page*size, (page+1)*size)
	return slices.Clip(a.tokens[from:])
}
