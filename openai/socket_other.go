//go:build !linux

package openai

// canMeasure tells whether unsent works on this system; without it every stream is written by its own goroutine.
const canMeasure = false

func unsent(uintptr) (int, bool) { return 0, false }
