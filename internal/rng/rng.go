// Package rng holds the random streams of the simulated world. Every consumer has a stream of its own, derived from one
// seed and a name, so that adding a consumer does not change what the others draw. Nothing here is global.
package rng

import (
	"hash/fnv"
	"math/rand/v2"
)

// New returns the stream with a name under a seed: a PCG seeded by splitmix64 over seed and name. Equal arguments give
// equal streams on every platform.
func New(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	s := SplitMix(seed ^ h.Sum64())
	return rand.New(rand.NewPCG(s.Next(), s.Next()))
}

// SplitMix is Steele, Lea and Flood's splitmix64 generator. It is good for seeding and for hashing counters; its value
// is its state.
type SplitMix uint64

// Next returns the next 64 bits.
func (s *SplitMix) Next() uint64 {
	*s += 0x9E3779B97F4A7C15
	return Mix(uint64(*s))
}

// Mix is the finaliser of splitmix64, a bijection of 64 bits.
func Mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xBF58476D1CE4E5B9
	v = (v ^ v>>27) * 0x94D049BB133111EB
	return v ^ v>>31
}
