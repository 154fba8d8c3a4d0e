package timing

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"fakellm/engine"

	"pgregory.net/rapid"
)

func mustNew(t testing.TB, src Source, speedup, decodeSpeedup float64) engine.StepModel {
	t.Helper()
	m, err := New(src, speedup, decodeSpeedup)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ns turns the goldens' milliseconds with six digits into nanoseconds.
func ns(ms float64) time.Duration { return time.Duration(math.Round(ms * 1e6)) }

func TestPolynomialGoldens(t *testing.T) {
	m := mustNew(t, Polynomial{}, 1, 1)
	// Source: spec engine-core §6.2 and §2.10, taken from the reference binary.
	for tokens, want := range map[int]float64{
		1: 16.516604, 12: 16.683682, 128: 18.451798, 1024: 32.490712, 2048: 49.362902, 4096: 85.755980, 8192: 169.136918,
	} {
		got, err := m.Prefill(engine.PrefillBatch{Requests: 1, MeanISL: tokens})
		if err != nil || got != ns(want) {
			t.Errorf("prefill of %d tokens = %v, %v; want %v", tokens, got, err, ns(want))
		}
	}
	for _, c := range []struct {
		active, total int
		want          float64
	}{
		{0, 1 << 20, 5.74},
		{64, 1 << 20, 5.743296},
		{128, 1 << 20, 5.746593},
		{129, 1 << 20, 5.746644},
		{130, 1 << 20, 5.746696},
		{1024, 1 << 20, 5.792720},
		{100000, 1 << 20, 10.656691},
		{524288, 1 << 20, 26.31},
		{1 << 20, 1 << 20, 34.01},
		{1 << 21, 1 << 20, 34.01},
		{8, 24, 20.883333},
		{9, 24, 22.374062},
		{5, 0, 34.01},
	} {
		got, err := m.Decode(engine.DecodeBatch{Requests: 1, ActiveKV: c.active, MeanContext: c.active, TotalKV: c.total})
		if err != nil || got != ns(c.want) {
			t.Errorf("decode %d of %d = %v, %v; want %v", c.active, c.total, got, err, ns(c.want))
		}
	}
	got, err := m.Prefill(engine.PrefillBatch{Requests: 2, MeanISL: 12, MeanPrefix: 6})
	if err != nil || got != ns(16.683682) {
		t.Errorf("two requests of six new tokens = %v, %v; want 16.683682ms", got, err)
	}
}

func TestScaling(t *testing.T) {
	src := Fixed{Prefill: 10, Decode: 2}
	// Source: spec engine-core §6.5, runs of the reference binary.
	for _, c := range []struct {
		why                    string
		speedup, decodeSpeedup float64
		prefill, decode        float64
	}{
		{"unscaled", 1, 1, 10, 2},
		{"ratio 0 leaves durations alone", 0, 0, 10, 2},
		{"decode is divided once by the product", 2, 4, 5, 0.25},
		{"a decode ratio of 0 makes the product 0: unscaled", 2, 0, 5, 2},
	} {
		m := mustNew(t, src, c.speedup, c.decodeSpeedup)
		p, err1 := m.Prefill(engine.PrefillBatch{Requests: 1, MeanISL: 7})
		d, err2 := m.Decode(engine.DecodeBatch{Requests: 1})
		if err1 != nil || err2 != nil || p != ns(c.prefill) || d != ns(c.decode) {
			t.Errorf("%s: %v %v, %v %v", c.why, p, d, err1, err2)
		}
	}
}

// fake is a keyed source with coverage that counts its evaluations.
type fake struct {
	asked int
	ms    float64
	err   error
}

func (f *fake) PrefillMS(b engine.PrefillBatch) (float64, error) {
	f.asked++
	return f.ms + float64(b.New()), f.err
}

func (f *fake) DecodeMS(b engine.DecodeBatch) (float64, error) {
	f.asked++
	return f.ms + float64(b.MeanContext), f.err
}
func (f *fake) PrefillKey(b engine.PrefillBatch) engine.PrefillBatch { return b }
func (f *fake) DecodeKey(b engine.DecodeBatch) engine.DecodeBatch {
	return engine.DecodeBatch{MeanContext: b.MeanContext}
}
func (f *fake) CoversPrefill(b engine.PrefillBatch) bool       { return b.New() <= 100 }
func (f *fake) CoversDecode(b engine.DecodeBatch) bool         { return b.MeanContext <= 100 }
func (f *fake) CheckPrefill(parts []engine.PrefillShape) error { return f.err }

func TestMemoIsInvisible(t *testing.T) {
	memoised, plain := mustNew(t, &fake{ms: 1}, 3, 1), mustNew(t, struct{ Source }{&fake{ms: 1}}, 3, 1)
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(0, 20)
		p := engine.PrefillBatch{Requests: small.Draw(t, "r"), MeanISL: small.Draw(t, "isl"), MeanPrefix: small.Draw(t, "p")}
		d := engine.DecodeBatch{Requests: small.Draw(t, "n"), ActiveKV: small.Draw(t, "kv"), MeanContext: small.Draw(t, "c")}
		p1, _ := memoised.Prefill(p)
		p2, _ := plain.Prefill(p)
		d1, _ := memoised.Decode(d)
		d2, _ := plain.Decode(d)
		if p1 != p2 || d1 != d2 {
			t.Fatalf("memoised %v %v, plain %v %v", p1, d1, p2, d2)
		}
	})
}

func TestMemoAsksOncePerKey(t *testing.T) {
	src := &fake{ms: 1}
	m := mustNew(t, src, 1, 1)
	for kv := range 5 {
		if _, err := m.Decode(engine.DecodeBatch{Requests: 1 + kv, ActiveKV: kv}); err != nil {
			t.Fatal(err)
		}
	}
	if src.asked != 1 {
		t.Errorf("five shapes with one key were evaluated %d times, want 1", src.asked)
	}
}

func TestExtrapolations(t *testing.T) {
	m := mustNew(t, &fake{ms: 1}, 1, 1)
	for range 2 { // the remembered answer counts as well
		for _, size := range []int{99, 100, 101} {
			_, _ = m.Prefill(engine.PrefillBatch{Requests: 1, MeanISL: size})
			_, _ = m.Decode(engine.DecodeBatch{Requests: 1, MeanContext: size})
		}
	}
	if got := m.(Extrapolator).Extrapolations(); got != 4 {
		t.Errorf("Extrapolations() = %d, want 4", got)
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("no such row")
	m := mustNew(t, &fake{err: broken}, 1, 1)
	if _, err := m.Decode(engine.DecodeBatch{Requests: 3, MeanContext: 7}); !errors.Is(err, broken) {
		t.Errorf("error of the source is lost: %v", err)
	}
	if err := m.(engine.PrefillChecker).CheckPrefill(nil); !errors.Is(err, broken) {
		t.Errorf("the source's check is not passed on: %v", err)
	}
	if _, ok := mustNew(t, Zero{}, 1, 1).(engine.PrefillChecker); ok {
		t.Error("a source without a check must give a model without one")
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		m := mustNew(t, &fake{ms: bad}, 1, 1)
		if _, err := m.Prefill(engine.PrefillBatch{Requests: 1, MeanISL: 1, MeanPrefix: 0}); err == nil && bad != -1 {
			t.Errorf("raw %v ms must be refused", bad)
		}
		if _, err := m.Decode(engine.DecodeBatch{Requests: 1}); err == nil {
			t.Errorf("raw %v ms must be refused", bad)
		}
		for _, r := range [][2]float64{{bad, 1}, {1, bad}} {
			if _, err := New(Zero{}, r[0], r[1]); err == nil || !strings.Contains(err.Error(), "speedup_ratio") {
				t.Errorf("ratios %v: error %v does not name the field", r, err)
			}
		}
	}
	if _, err := New(Zero{}, math.MaxFloat64, 2); err == nil {
		t.Error("a product of ratios that overflows must be refused")
	}
	if _, err := New(nil, 1, 1); err == nil {
		t.Error("a missing source must be refused")
	}
}

func TestConfig(t *testing.T) {
	bad := Config{Model: "magic", PrefillMS: -1, DecodeMS: math.NaN(), SpeedupRatio: math.Inf(1), DecodeSpeedupRatio: -2}
	if errs := bad.Validate(); len(errs) != 5 {
		t.Errorf("Validate() = %v, want five problems", errs)
	}
	for name, want := range map[string]Source{
		"": Polynomial{}, NamePolynomial: Polynomial{}, NameZero: Zero{}, NameFixed: Fixed{Prefill: 3, Decode: 4},
	} {
		got, err := Config{Model: name, PrefillMS: 3, DecodeMS: 4}.Source()
		if err != nil || got != want {
			t.Errorf("model %q: %v, %v; want %v", name, got, err, want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for name, src := range map[string]Source{"polynomial": Polynomial{}, "keyed": &fake{ms: 1}} {
		m, i := mustNew(t, src, 2, 2), 0
		if got := testing.AllocsPerRun(1000, func() {
			i++
			_, _ = m.Prefill(engine.PrefillBatch{Requests: 3, MeanISL: i})
			_, _ = m.Decode(engine.DecodeBatch{Requests: 3, ActiveKV: i, MeanContext: i, TotalKV: 1 << 20})
		}); got != 0 {
			t.Errorf("%s: %v allocations per pass", name, got)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, src := range map[string]Source{"polynomial": Polynomial{}, "memoised": &fake{ms: 1}} {
		b.Run(name, func(b *testing.B) {
			m, i := mustNew(b, src, 1, 1), 0
			for b.Loop() {
				i++
				_, _ = m.Decode(engine.DecodeBatch{Requests: 8, ActiveKV: i & 1023, MeanContext: i & 1023, TotalKV: 1 << 20})
			}
		})
	}
}

func BenchmarkPrefill(b *testing.B) {
	m, i := mustNew(b, Polynomial{}, 1, 1), 0
	for b.Loop() {
		i++
		_, _ = m.Prefill(engine.PrefillBatch{Requests: 2, MeanISL: i & 1023})
	}
}
