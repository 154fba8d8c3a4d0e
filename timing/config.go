package timing

import (
	"fmt"
	"math"
)

// Names of the sources that need no data.
const (
	NamePolynomial = "polynomial"
	NameFixed      = "fixed"
	NameZero       = "zero"
)

// Config chooses one of the sources that need no data and the speed-ups. The zero value is the unscaled polynomial.
type Config struct {
	// Model is one of the names above; empty means polynomial.
	Model string
	// PrefillMS and DecodeMS are the constants of the fixed model in milliseconds; other models ignore them.
	PrefillMS, DecodeMS float64
	// SpeedupRatio divides every duration, DecodeSpeedupRatio decode once more; 0 means unscaled.
	SpeedupRatio, DecodeSpeedupRatio float64
}

// Validate returns every problem of the config, each with its field and value.
func (c Config) Validate() []error {
	var errs []error
	switch c.Model {
	case "", NamePolynomial, NameFixed, NameZero:
	default:
		errs = append(errs, fmt.Errorf("model %q: known models are %s, %s and %s",
			c.Model, NamePolynomial, NameFixed, NameZero))
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"prefill_ms", c.PrefillMS},
		{"decode_ms", c.DecodeMS},
		{"speedup_ratio", c.SpeedupRatio},
		{"decode_speedup_ratio", c.DecodeSpeedupRatio},
	} {
		if err := checkNumber(f.name, f.value); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Source returns the chosen source, or the first problem of the config.
func (c Config) Source() (Source, error) {
	if errs := c.Validate(); len(errs) > 0 {
		return nil, errs[0]
	}
	switch c.Model {
	case NameFixed:
		return Fixed{Prefill: c.PrefillMS, Decode: c.DecodeMS}, nil
	case NameZero:
		return Zero{}, nil
	}
	return Polynomial{}, nil
}

// checkNumber refuses what is not a finite number ≥ 0.
func checkNumber(name string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s %v: must be finite and not negative", name, v)
	}
	return nil
}
