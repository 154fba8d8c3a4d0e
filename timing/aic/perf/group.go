package perf

import "fakellm/timing/aic/fault"

// Fallback is one operator, or where its rows are missing the sum of finer ones.
type Fallback struct {
	Base
	Primary Op
	Rest    []Op
}

// MS implements Op. The primary is asked from tables alone where the mode is Hybrid; only missing rows make room for
// the rest. In mode Empirical the primary's estimate stands or fails alone, as in the reference.
func (o Fallback) MS(db *DB, sh Shape) (float64, error) {
	primary := db
	if db.strict != nil {
		primary = db.strict
	}
	ms, err := o.Primary.MS(primary, sh)
	if db.Mode != Empirical && fault.Missing(err) {
		ms, err = Sum(db, o.Rest, sh)
	}
	return o.times(ms, err)
}

// Needs implements Op.
func (o Fallback) Needs() Needs { return o.Primary.Needs() | NeedsOf(o.Rest) }

// Weight implements Op: the primary's, or the rest's where the primary counts none.
func (o Fallback) Weight() float64 {
	if w := o.Primary.Weight(); w > 0 {
		return w * o.Count
	}
	return WeightOf(o.Rest) * o.Count
}

// Overlap is two groups that run at the same time: the longer one counts.
type Overlap struct {
	Base
	A, B []Op
}

// MS implements Op.
func (o Overlap) MS(db *DB, sh Shape) (float64, error) {
	a, err := Sum(db, o.A, sh)
	if err != nil {
		return 0, err
	}
	b, err := Sum(db, o.B, sh)
	return o.times(max(a, b), err)
}

// Needs implements Op.
func (o Overlap) Needs() Needs { return NeedsOf(o.A) | NeedsOf(o.B) }

// Weight implements Op.
func (o Overlap) Weight() float64 { return (WeightOf(o.A) + WeightOf(o.B)) * o.Count }

// Sum adds the times of operators, in ms.
func Sum(db *DB, ops []Op, sh Shape) (float64, error) {
	sum := 0.0
	for _, op := range ops {
		ms, err := op.MS(db, sh)
		if err != nil {
			return 0, err
		}
		sum += ms
	}
	return sum, nil
}

// NeedsOf joins the tables of operators.
func NeedsOf(ops []Op) Needs {
	var n Needs
	for _, op := range ops {
		n |= op.Needs()
	}
	return n
}

// WeightOf adds the bytes of operators.
func WeightOf(ops []Op) float64 {
	sum := 0.0
	for _, op := range ops {
		sum += op.Weight()
	}
	return sum
}
