//go:build !linux

package openai

import "errors"

// canMeasure tells whether unsent works on this system; without it every stream is written by its own goroutine, through
// net/http.
const canMeasure = false

func unsent(uintptr) (int, bool) { return 0, false }

func write(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
