package schema

import (
	"encoding/json"
	"math"
	"math/big"
)

// bounds is an interval of rationals; nil is open-ended.
type bounds struct {
	lo, hi         *big.Rat
	loOpen, hiOpen bool // the end itself is excluded
}

func (b *bounds) atLeast(r *big.Rat, open bool) {
	if c := 0; r != nil {
		if b.lo != nil {
			c = r.Cmp(b.lo)
		}
		if b.lo == nil || c > 0 {
			b.lo, b.loOpen = r, open
		} else if c == 0 {
			b.loOpen = b.loOpen || open
		}
	}
}

func (b *bounds) atMost(r *big.Rat, open bool) {
	if c := 0; r != nil {
		if b.hi != nil {
			c = r.Cmp(b.hi)
		}
		if b.hi == nil || c < 0 {
			b.hi, b.hiOpen = r, open
		} else if c == 0 {
			b.hiOpen = b.hiOpen || open
		}
	}
}

// reach is how many steps above its lowest a number may be: values stay of a size that people use.
const reach = 1000

// number makes a number between all bounds that is a multiple of all multipleOf; whole for an integer, and else, if
// nothing is said, with two decimals.
func (g *generator) number(sp *spec, whole bool) (any, *Error) {
	var b bounds
	var step *big.Rat
	var factors []*big.Rat
	var by *object
	for _, o := range sp.objects {
		b.atLeast(rat(o.m["minimum"]), o.m["exclusiveMinimum"] == true)
		b.atLeast(rat(o.m["exclusiveMinimum"]), true)
		b.atMost(rat(o.m["maximum"]), o.m["exclusiveMaximum"] == true)
		b.atMost(rat(o.m["exclusiveMaximum"]), true)
		if m := rat(o.m["multipleOf"]); m != nil && m.Sign() > 0 {
			factors = append(factors, m)
			step = lcm(step, m)
			by = o
		}
	}
	free := step == nil
	switch large := b.floatStep(); {
	case free && large != nil:
		step = large
	case whole:
		step = lcm(step, big.NewRat(1, 1))
	case free:
		step = big.NewRat(1, 100)
	}
	keyword := "minimum"
	if !free {
		keyword = "multipleOf"
	}
	if by == nil {
		by = sp.objects[0]
	}
	for range 40 {
		if low, high := b.multiples(step); low.Cmp(high) <= 0 {
			return g.multiple(low, high, step, factors), nil
		}
		if !free || whole && step.Cmp(big.NewRat(1, 1)) <= 0 {
			break
		}
		if whole {
			step = big.NewRat(1, 1)
			continue
		}
		step.Mul(step, big.NewRat(1, 10)) // the interval is narrow
	}
	return nil, impossible(by, keyword, "no number is left between the bounds")
}

// floatStep is nil unless all numbers between the bounds are beyond 2^53. Then it is a whole number whose multiples
// near the bound are exact in a reader's floats.
func (b *bounds) floatStep() *big.Rat {
	near := b.lo
	if near == nil || near.Sign() < 0 {
		if near = b.hi; near == nil || near.Sign() > 0 {
			return nil
		}
	}
	bits := floor(near).BitLen()
	if bits <= 53 {
		return nil
	}
	return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(bits-50)))
}

// multiples returns the range of k for which k·step is within the bounds; open ends are closed at a common size.
func (b *bounds) multiples(step *big.Rat) (low, high *big.Int) {
	one := big.NewInt(1)
	if b.lo != nil {
		low = floor(new(big.Rat).Quo(b.lo, step))
		for k := new(big.Rat).SetInt(low); ; k.SetInt(low) {
			if c := k.Mul(k, step).Cmp(b.lo); c > 0 || c == 0 && !b.loOpen {
				break
			}
			low.Add(low, one)
		}
	}
	if b.hi != nil {
		high = floor(new(big.Rat).Quo(b.hi, step))
		if k := new(big.Rat).SetInt(high); b.hiOpen && k.Mul(k, step).Cmp(b.hi) == 0 {
			high.Sub(high, one)
		}
	}
	width := new(big.Rat).Quo(big.NewRat(100, 1), step)
	steps := floor(width)
	if steps.Sign() == 0 {
		steps.SetInt64(10)
	}
	if low != nil && high != nil && low.Sign() < 0 && high.Sign() > 0 && new(big.Int).Sub(high, low).BitLen() > 10 {
		low = new(big.Int) // small numbers are likelier than those near a far bound
	}
	switch {
	case low == nil && high == nil:
		low, high = new(big.Int), steps
	case low == nil && high.Sign() >= 0:
		low = new(big.Int)
	case low == nil:
		low = new(big.Int).Sub(high, steps)
	case high == nil && low.Sign() < 0:
		low, high = new(big.Int), steps
	case high == nil:
		high = new(big.Int).Add(low, steps)
	}
	return low, high
}

// multiple chooses one multiple of step. Other validators divide floats: of a few, the first is taken that is a
// multiple for them as well.
func (g *generator) multiple(low, high *big.Int, step *big.Rat, factors []*big.Rat) json.Number {
	span := new(big.Int).Sub(high, low)
	n := 10 * reach
	if span.IsInt64() && span.Int64() < int64(n) {
		n = int(span.Int64())
	}
	var r *big.Rat
	for range 32 {
		k := new(big.Int).Add(low, big.NewInt(int64(g.below(n+1))))
		r = new(big.Rat).Mul(new(big.Rat).SetInt(k), step)
		if floatMultiple(r, factors) {
			break
		}
	}
	return decimal(r)
}

func floatMultiple(r *big.Rat, factors []*big.Rat) bool {
	v, _ := r.Float64()
	for _, m := range factors {
		f, _ := m.Float64()
		if q := v / f; q != math.Trunc(q) {
			return false
		}
	}
	return true
}

// decimal writes a rational that has a finite decimal expansion.
func decimal(r *big.Rat) json.Number {
	n, _ := r.FloatPrec()
	return json.Number(r.FloatString(n))
}

func floor(r *big.Rat) *big.Int {
	return new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: rounds down for a positive denominator
}

// lcm returns the least common multiple of two positive rationals, nil standing for none.
func lcm(a, b *big.Rat) *big.Rat {
	if a == nil {
		return new(big.Rat).Set(b)
	}
	// lcm(p/q, r/s) = lcm(ps, rq) / qs
	p := new(big.Int).Mul(a.Num(), b.Denom())
	r := new(big.Int).Mul(b.Num(), a.Denom())
	d := new(big.Int).GCD(nil, nil, p, r)
	l := p.Mul(p.Div(p, d), r)
	return new(big.Rat).SetFrac(l, new(big.Int).Mul(a.Denom(), b.Denom()))
}
