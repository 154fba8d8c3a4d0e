package rng_test

import (
	"testing"

	"fakellm/internal/rng"
)

// TestStdRngGoldens pins the stream against the reference's numbers (spec engine-core §8).
func TestStdRngGoldens(t *testing.T) {
	r := rng.NewStdRng(42)
	for i, want := range []uint64{9713269763989775522, 10011513049433592189, 11740708795755607249} {
		if got := r.Uint64(); got != want {
			t.Errorf("seed 42, draw %d: got %d, want %d", i, got, want)
		}
	}
}

// TestStdRngLongRun crosses block borders: bytes, words and long words are one key stream.
func TestStdRngLongRun(t *testing.T) {
	a, b := rng.NewStdRng(7), rng.NewStdRng(7)
	buf := make([]byte, 8)
	for i := range 100 {
		b.Fill(buf)
		var want uint64
		for j := range buf {
			want |= uint64(buf[j]) << (8 * j)
		}
		if got := a.Uint64(); got != want {
			t.Fatalf("draw %d: got %d, want %d", i, got, want)
		}
	}
}

func TestNamedStreams(t *testing.T) {
	a, b := rng.New(1, "arrivals"), rng.New(1, "arrivals")
	if a.Uint64() != b.Uint64() {
		t.Error("equal seed and name must give equal streams")
	}
	if rng.New(1, "arrivals").Uint64() == rng.New(1, "lengths").Uint64() {
		t.Error("different names must give different streams")
	}
	if rng.New(1, "arrivals").Uint64() == rng.New(2, "arrivals").Uint64() {
		t.Error("different seeds must give different streams")
	}
}
