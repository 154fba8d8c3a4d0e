// Package kv holds the caches of an engine: identities of blocks, vLLM's block pool, SGLang's page pool and radix tree.
// It is pure and belongs to one goroutine.
package kv

// LocalHash identifies the tokens of one full block regardless of where it stands: XXH3-64, seed 1337, over the token
// ids as little-endian uint32 (spec engine-core §5.1).
type LocalHash uint64

// SequenceHash identifies a full block together with everything before it: local for the first block, then XXH3-64,
// seed 1337, over le64(parent) || le64(local).
type SequenceHash uint64

// Content identifies the blocks of one request: its prompt followed by its planned output. The engine asks only for
// blocks it needs to identify, at its own block size, and may ask more than once.
type Content interface {
	// Local returns the hash of the i-th full block of size tokens, positions [i*size, (i+1)*size). ok is false when
	// nobody can ever ask for that content again (random output of a trace): the block then gets an identity of its own.
	Local(i, size int) (h LocalHash, ok bool)
}

// TokenSource is a Content that can also spell its tokens, as cache events with token ids need.
type TokenSource interface {
	Content
	// AppendTokens appends the ids at positions [from, to) to dst.
	AppendTokens(dst []uint32, from, to int) []uint32
}

// Event is a change of what a rank's cache can be asked for.
type Event struct {
	// ID counts the events of a rank from 0, both kinds.
	ID uint64
	// Removed: Blocks carry only Sequence. Otherwise the blocks were stored, in order, behind Parent.
	Removed bool
	// Parent is the block before the first; HasParent is false at the root.
	Parent    SequenceHash
	HasParent bool
	Blocks    []EventBlock
}

// EventBlock is one block of an event. Tokens is nil unless token ids were asked for.
type EventBlock struct {
	Sequence SequenceHash
	Local    LocalHash
	Tokens   []uint32
}
