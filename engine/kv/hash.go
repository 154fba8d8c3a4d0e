package kv

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// hashSeed is the seed of both hashes (spec engine-core §5.1).
const hashSeed = 1337

// HashTokens returns the local hash of one full block of token ids. It takes O(len(ids)) and does not allocate for
// blocks of up to 512 tokens.
func HashTokens(ids []uint32) LocalHash {
	var small [2048]byte
	buf := small[:]
	if need := 4 * len(ids); need > len(buf) {
		buf = make([]byte, need)
	}
	buf = buf[:4*len(ids)]
	for i, id := range ids {
		binary.LittleEndian.PutUint32(buf[4*i:], id)
	}
	return LocalHash(xxh3.HashSeed(buf, hashSeed))
}

// First returns the sequence hash of a block with nothing before it.
func First(local LocalHash) SequenceHash { return SequenceHash(local) }

// Chain returns the sequence hash of the block with the given local hash behind parent.
func Chain(parent SequenceHash, local LocalHash) SequenceHash {
	var buf [16]byte
	binary.LittleEndian.PutUint64(buf[:8], uint64(parent))
	binary.LittleEndian.PutUint64(buf[8:], uint64(local))
	return SequenceHash(xxh3.HashSeed(buf[:], hashSeed))
}

// Own returns an identity for block i of the owner-th request of a cache, for content that nobody can ask for again. It
// is a bijective mix of its arguments (splitmix64's finaliser), so different blocks of one request never collide.
func Own(owner uint64, i int) LocalHash {
	v := owner*0x9E3779B97F4A7C15 + uint64(i)
	v = (v ^ v>>30) * 0xBF58476D1CE4E5B9
	v = (v ^ v>>27) * 0x94D049BB133111EB
	return LocalHash(v ^ v>>31)
}
