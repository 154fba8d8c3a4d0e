package kv

import "math/bits"

// slab lends slices in sizes of powers of two and takes them back for reuse.
type slab[T any] struct {
	free [32][][]T
}

// get returns an empty slice with room for n.
func (s *slab[T]) get(n int) []T {
	class := bits.Len(uint(n - 1))
	if n <= 1 {
		class = 0
	}
	if f := s.free[class]; len(f) > 0 {
		out := f[len(f)-1]
		s.free[class] = f[:len(f)-1]
		return out
	}
	return make([]T, 0, 1<<class)
}

// put takes a slice back; nil is fine.
func (s *slab[T]) put(v []T) {
	if cap(v) > 0 {
		class := bits.Len(uint(cap(v))) - 1
		s.free[class] = append(s.free[class], v[:0])
	}
}

// append is the built-in append within the slab.
func (s *slab[T]) append(v, more []T) []T {
	if need := len(v) + len(more); need > cap(v) {
		wider := append(s.get(need), v...)
		s.put(v)
		v = wider
	}
	return append(v, more...)
}

// cut removes the first n elements.
func (s *slab[T]) cut(v []T, n int) []T {
	if rest := v[n:]; cap(v) >= 4*len(rest) {
		out := append(s.get(len(rest)), rest...)
		s.put(v)
		return out
	}
	return v[:copy(v, v[n:])]
}
