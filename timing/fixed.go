package timing

import "fakellm/engine"

// Fixed answers with two constants, whatever the shape. There is no floor: zero and fractions of a millisecond are used
// as they are (spec engine-core §6.4). The zero value makes every pass take no time.
type Fixed struct {
	// Prefill and Decode are milliseconds, finite and not negative.
	Prefill, Decode float64
}

// PrefillMS returns the prefill constant in milliseconds.
func (f Fixed) PrefillMS(engine.PrefillBatch) (float64, error) { return f.Prefill, nil }

// DecodeMS returns the decode constant in milliseconds.
func (f Fixed) DecodeMS(engine.DecodeBatch) (float64, error) { return f.Decode, nil }

// Zero is the source behind `--fast`: no pass takes any time. The zero value is ready for use.
type Zero struct{}

// PrefillMS returns 0.
func (Zero) PrefillMS(engine.PrefillBatch) (float64, error) { return 0, nil }

// DecodeMS returns 0.
func (Zero) DecodeMS(engine.DecodeBatch) (float64, error) { return 0, nil }
