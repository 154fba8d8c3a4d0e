package engine

import "time"

// Time is an instant on the timeline, in whole nanoseconds since its origin. The zero value is the origin.
type Time int64

// Add returns the instant d after t.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns the span from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Milliseconds returns t in milliseconds.
func (t Time) Milliseconds() float64 { return float64(t) / 1e6 }
