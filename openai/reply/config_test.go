package reply

import (
	"math"
	"testing"

	"fakellm/tokenize"
)

func TestValidate(t *testing.T) {
	bad := Config{Mode: "x", Length: Length{Kind: "y", Mean: -1, Max: -1, Sigma: math.NaN()}, ToolRounds: -1}
	if errs := bad.Validate(); len(errs) != 6 {
		t.Errorf("Validate() = %v, want six problems", errs)
	}
	if errs := (Config{}).Validate(); errs != nil {
		t.Errorf("the zero value is valid, not %v", errs)
	}
	if _, err := New(encoding(t, tokenize.Approx), bad); err == nil {
		t.Error("New must refuse what Validate refuses")
	}
}

// TestLengths: the distributions have the mean that was asked for and keep their bounds.
func TestLengths(t *testing.T) {
	for _, tt := range []struct {
		l         Length
		mean      float64
		low, high int
	}{
		{Length{Kind: LengthFixed, Mean: 77, Sigma: 3}, 77, 77, 77},
		{Length{Kind: LengthUniform, Mean: 100, Sigma: 0.5}, 100, 50, 150},
		{Length{Mean: 300, Sigma: 0.5}, 300, 1, 4096},
		{Length{}, 200, 200, 200},
		{Length{Kind: LengthPrompt}, 1234, 1234, 1234},
		{Length{Kind: LengthPrompt, Max: 99}, 99, 99, 99},
		{Length{Mean: 1, Sigma: 5, Max: 10}, math.NaN(), 1, 10},
	} {
		sum := 0.0
		const draws = 20_000
		for i := range draws {
			n := tt.l.draw(uint64(i), 1234)
			if n < tt.low || n > tt.high {
				t.Fatalf("%+v: %d is outside [%d, %d]", tt.l, n, tt.low, tt.high)
			}
			sum += float64(n)
		}
		if got := sum / draws; math.Abs(got-tt.mean) > 0.02*tt.mean {
			t.Errorf("%+v: mean %.1f, want %.1f", tt.l, got, tt.mean)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	p := planner(b, tokenize.O200kBase, Config{})
	prompt := make([]uint32, 2000)
	b.ReportAllocs()
	for b.Loop() {
		p.Plan(&Request{Prompt: prompt, Limits: exactly(1000)})
	}
}
