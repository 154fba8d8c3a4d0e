package limit

import (
	"math/bits"
	"time"
)

// bucket is a token bucket that holds one minute's worth and refills evenly. Its level is exact: whole units plus a
// fraction in 60·10⁹ths, since one nanosecond adds perMinute / 60·10⁹ units. The level may be below zero when more was
// used than estimated; it never goes below minus one minute's worth.
type bucket struct {
	perMinute int64
	// units and frac/minute are the level at instant at (nanoseconds of any epoch).
	units int64
	frac  uint64
	at    int64
}

// minute in nanoseconds is also the denominator of a level's fraction.
const minute = uint64(time.Minute)

// maxPerMinute keeps every product in bucket within 128 bits and every quotient within 63.
const maxPerMinute = 1 << 50

func newBucket(perMinute, now int64) bucket {
	return bucket{perMinute: perMinute, units: perMinute, at: now}
}

// refill brings the level forward to now. A clock that goes back changes nothing. O(1).
func (b *bucket) refill(now int64) {
	gone := now - b.at
	if gone <= 0 {
		return
	}
	b.at = now
	if wait := b.until(b.perMinute); gone >= int64(wait) {
		b.units, b.frac = b.perMinute, 0
		return
	}
	hi, lo := bits.Mul64(uint64(gone), uint64(b.perMinute))
	lo, carry := bits.Add64(lo, b.frac, 0)
	whole, frac := bits.Div64(hi+carry, lo, minute)
	b.units += int64(whole)
	b.frac = frac
}

// until is how long the bucket needs to hold n units, exactly, rounded up to a nanosecond: ⌈((n−units)·60·10⁹ − frac) /
// perMinute⌉.
func (b *bucket) until(n int64) time.Duration {
	if n <= b.units {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n-b.units), minute)
	lo, borrow := bits.Sub64(lo, b.frac, 0)
	q, r := bits.Div64(hi-borrow, lo, uint64(b.perMinute))
	if r > 0 {
		q++
	}
	return time.Duration(q)
}

// take uses n units, which may be negative to give some back. The level stays between minus and plus one minute's
// worth.
func (b *bucket) take(n int64) {
	switch level := b.units - n; {
	case level >= b.perMinute:
		b.units, b.frac = b.perMinute, 0
	case level < -b.perMinute:
		b.units, b.frac = -b.perMinute, 0
	default:
		b.units = level
	}
}

// state is the bucket as a client sees it.
func (b *bucket) state() State {
	return State{Limit: b.perMinute, Remaining: max(b.units, 0), Reset: b.until(b.perMinute)}
}
