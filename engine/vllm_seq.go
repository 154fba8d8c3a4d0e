package engine

import (
	"fakellm/engine/kv"
)

// seq is the scheduler's state of one request. Blocks are numbered from the start of the prompt; blocks[i] is the
// physical copy of block i, hashes[i] its identity, computed when first asked for.
type seq struct {
	req *Request
	// ordinal numbers submissions to this rank.
	ordinal uint64
	// prompt, limit (output tokens asked for) and len (prompt plus generated so far) are in tokens; stop is the length at
	// which the request is complete, limits included.
	prompt, limit, len, stop int
	// computed tokens have KV; allocated tokens are covered by blocks; published blocks are in the cache index.
	computed, allocated, published int
	blocks                         []kv.Block
	hashes                         []kv.SequenceHash
	// ownFrom is the first block whose content nobody else can ask for, as far as known. Once evicted, the request itself
	// may come back for it.
	ownFrom int
	evicted bool
	// cached is the reuse of the first admission.
	cached             int
	admitted           bool
	running, preempted bool
	prev, next         *seq // in the waiting queue

	// What the pass with this stamp scheduled: tokens, those of the prompt, and the prompt tokens before them.
	stamp                    uint64
	used, prompted, prefixed int
}

// generated returns the number of output tokens so far.
func (s *seq) generated() int { return s.len - s.prompt }

// complete says that no token is left to generate.
func (s *seq) complete() bool { return s.len >= s.stop }

// prebuilt says that the whole prompt has KV (spec §2.1).
func (s *seq) prebuilt() bool { return s.computed >= s.prompt && s.allocated >= s.prompt }

// hashAhead is how many blocks are identified at once when the content can do that.
const hashAhead = 64

// hash returns the identity of block i, which must be full. From the first block on that nobody can ask for, identities
// are the request's own: they need no chain.
func (c *vllm) hash(s *seq, i int) kv.SequenceHash {
	for len(s.hashes) <= i && i < s.ownFrom {
		c.identify(s)
	}
	if i >= s.ownFrom {
		owner := s.ordinal*uint64(c.cfg.DPSize) + uint64(c.rank) + uint64(c.cfg.WorkerID)<<40
		return kv.SequenceHash(kv.Own(owner, i))
	}
	return s.hashes[i]
}

// identify extends the identities of s by the next block, or by several at once, or finds that the content ends.
func (c *vllm) identify(s *seq) {
	n, size := len(s.hashes), c.cfg.BlockSize
	locals := c.locals[:0]
	if bulk, ok := s.req.Content.(kv.BulkContent); ok {
		locals = bulk.AppendLocals(locals, n, max(n+1, min(s.len/size, n+hashAhead)), size)
	} else if h, ok := s.req.Content.Local(n, size); ok {
		locals = append(locals, h)
	}
	c.locals = locals
	if len(locals) == 0 {
		s.ownFrom = n
		return
	}
	if n == 0 {
		s.hashes = append(s.hashes, kv.First(locals[0]))
		locals = locals[1:]
	}
	for _, local := range locals {
		s.hashes = append(s.hashes, kv.Chain(s.hashes[len(s.hashes)-1], local))
	}
}

// local returns the hash of the content of block i, for events.
func (c *vllm) local(s *seq, i int) kv.LocalHash {
	if i < s.ownFrom {
		if h, ok := s.req.Content.Local(i, c.cfg.BlockSize); ok {
			return h
		}
	}
	return kv.LocalHash(c.hash(s, i))
}

// queue is the waiting line: a doubly linked list through the states, so that both ends and removal cost O(1).
type queue struct {
	head, tail *seq
	n          int
}

func (q *queue) pushBack(s *seq) {
	s.prev, s.next = q.tail, nil
	if q.tail == nil {
		q.head = s
	} else {
		q.tail.next = s
	}
	q.tail = s
	q.n++
}

func (q *queue) pushFront(s *seq) {
	s.prev, s.next = nil, q.head
	if q.head == nil {
		q.tail = s
	} else {
		q.head.prev = s
	}
	q.head = s
	q.n++
}

func (q *queue) remove(s *seq) {
	if s.prev == nil {
		q.head = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		q.tail = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
	q.n--
}
