package timing

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// bigRound is the naive twin of roundSeconds: the exact product in arbitrary precision, half to even.
func bigRound(q float64) *big.Int {
	exact := new(big.Rat).SetFloat64(q)
	exact.Mul(exact, big.NewRat(1_000_000_000, 1))
	twice := new(big.Int).Mul(exact.Num(), big.NewInt(2))
	twice.Add(twice, exact.Denom())
	den := new(big.Int).Mul(exact.Denom(), big.NewInt(2))
	quo, rem := new(big.Int).QuoRem(twice, den, new(big.Int))
	if rem.Sign() == 0 && quo.Bit(0) == 1 {
		quo.Sub(quo, big.NewInt(1))
	}
	return quo
}

func checkRounding(t interface {
	Helper()
	Fatalf(string, ...any)
}, raw float64,
) {
	t.Helper()
	got, err := roundMS(raw)
	if !(raw >= 0) || math.IsInf(raw, 0) {
		if err == nil {
			t.Fatalf("roundMS(%v) = %v, want an error", raw, got)
		}
		return
	}
	want := bigRound(raw / 1000)
	if !want.IsInt64() {
		if err == nil {
			t.Fatalf("roundMS(%v) = %v, want an overflow error", raw, got)
		}
		return
	}
	if err != nil || int64(got) != want.Int64() {
		t.Fatalf("roundMS(%v) = %d, %v; want %v", raw, int64(got), err, want)
	}
}

func FuzzRounding(f *testing.F) {
	for _, raw := range []float64{
		0, 1e-6, 5e-7, 1.5e-6, 2.5e-6, 4e-7, 16.683682, 1e9, 4.6e12, 9.1e12, 9.3e12, math.MaxFloat64,
		math.SmallestNonzeroFloat64, -1, math.NaN(), math.Inf(1), 4503599627370.4965, 9007199254740.993,
	} {
		f.Add(math.Float64bits(raw))
	}
	f.Fuzz(func(t *testing.T, bits uint64) { checkRounding(t, math.Float64frombits(bits)) })
}

func TestRoundingEqualsExactArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Near halves of a nanosecond, where the product's own rounding could decide wrongly.
		n := rapid.Int64Range(0, 1<<rapid.IntRange(1, 62).Draw(t, "bits")).Draw(t, "n")
		raw := (float64(n) + 0.5) / 1e6
		for range rapid.IntRange(0, 3).Draw(t, "up") {
			raw = math.Nextafter(raw, math.Inf(1))
		}
		for range rapid.IntRange(0, 3).Draw(t, "down") {
			raw = math.Nextafter(raw, 0)
		}
		checkRounding(t, raw)
		checkRounding(t, rapid.Float64().Draw(t, "any"))
	})
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		why   string
		d     time.Duration
		ratio float64
		want  time.Duration
	}{
		{"ratio 0 means unscaled", 10, 0, 10},
		{"1.6 ns were rounded to 2 before the ratio", 2, 0.5, 4},
		{"5 ms by 2·3", 5 * time.Millisecond, 6, 833333},
		{"nothing stays nothing", 0, 1e-300, 0},
		{"2.5 ns is no tie: its seconds lie a little above", 5, 2, 3},
		{"3.5 ns is no tie: its seconds lie a little below", 7, 2, 3},
	} {
		got, err := scale(c.d, c.ratio)
		if err != nil || got != c.want {
			t.Errorf("%s: scale(%d, %v) = %d, %v; want %d", c.why, c.d, c.ratio, got, err, c.want)
		}
	}
	if _, err := scale(time.Hour, 1e-300); err == nil {
		t.Error("a quotient beyond the range must be an error")
	}
}

func TestRatioOneChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(maxSteady)-1).Draw(t, "d"))
		if got, err := roundSeconds(seconds(d)); err != nil || got != d {
			t.Fatalf("%d ns to seconds and back = %d, %v", d, got, err)
		}
	})
}
