package rng

import (
	"encoding/binary"
	"math/bits"
)

// StdRng is the generator the reference samples with: ChaCha with 12 rounds, 64-bit block counter from 0, stream 0,
// whose key comes from a 64-bit seed through PCG32 (spec engine-core §8). The zero value is not seeded; use
// [NewStdRng].
type StdRng struct {
	key  [8]uint32
	buf  [16]uint32
	used int
	next uint64
}

// NewStdRng returns the generator for a seed.
func NewStdRng(seed uint64) *StdRng {
	r := &StdRng{used: 16}
	for i := range r.key {
		seed = seed*6364136223846793005 + 11634580027462260723
		x := uint32((seed>>18 ^ seed) >> 27)
		r.key[i] = bits.RotateLeft32(x, -int(seed>>59))
	}
	return r
}

// Uint32 returns the next word of the key stream.
func (r *StdRng) Uint32() uint32 {
	if r.used == 16 {
		r.refill()
	}
	v := r.buf[r.used]
	r.used++
	return v
}

// Uint64 returns the next two words, low first. It satisfies rand.Source of math/rand/v2.
func (r *StdRng) Uint64() uint64 {
	lo := uint64(r.Uint32())
	return lo | uint64(r.Uint32())<<32
}

// Fill writes the key stream to p as little-endian words, a word for a trailing part of one.
func (r *StdRng) Fill(p []byte) {
	for len(p) >= 4 {
		binary.LittleEndian.PutUint32(p, r.Uint32())
		p = p[4:]
	}
	if len(p) > 0 {
		var w [4]byte
		binary.LittleEndian.PutUint32(w[:], r.Uint32())
		copy(p, w[:])
	}
}

// refill computes the next block.
func (r *StdRng) refill() {
	in := [16]uint32{
		0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,
		r.key[0], r.key[1], r.key[2], r.key[3], r.key[4], r.key[5], r.key[6], r.key[7],
		uint32(r.next), uint32(r.next >> 32), 0, 0,
	}
	s := in
	for range 6 {
		quarter(&s, 0, 4, 8, 12)
		quarter(&s, 1, 5, 9, 13)
		quarter(&s, 2, 6, 10, 14)
		quarter(&s, 3, 7, 11, 15)
		quarter(&s, 0, 5, 10, 15)
		quarter(&s, 1, 6, 11, 12)
		quarter(&s, 2, 7, 8, 13)
		quarter(&s, 3, 4, 9, 14)
	}
	for i := range s {
		r.buf[i] = s[i] + in[i]
	}
	r.next++
	r.used = 0
}

// quarter is the ChaCha quarter round.
func quarter(s *[16]uint32, a, b, c, d int) {
	s[a] += s[b]
	s[d] = bits.RotateLeft32(s[d]^s[a], 16)
	s[c] += s[d]
	s[b] = bits.RotateLeft32(s[b]^s[c], 12)
	s[a] += s[b]
	s[d] = bits.RotateLeft32(s[d]^s[a], 8)
	s[c] += s[d]
	s[b] = bits.RotateLeft32(s[b]^s[c], 7)
}
