package timing

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fakellm/engine"
)

// TestRowEqualsDecode holds rows against passes priced one by one.
func TestRowEqualsDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SampledFrom([]Source{Polynomial{}, Fixed{Decode: 2}, Zero{}, &fake{ms: 1}, byRow{}}).Draw(t, "source")
		speedup := rapid.SampledFrom([]float64{0, 1, 3, 0.7}).Draw(t, "speedup")
		m, err := New(src, speedup, 1)
		if err != nil {
			t.Fatal(err)
		}
		b := engine.DecodeBatch{
			Requests: rapid.IntRange(1, 300).Draw(t, "requests"), ActiveKV: rapid.IntRange(0, 2_000_000).Draw(t, "active"),
			TotalKV: rapid.IntRange(0, 1<<20).Draw(t, "total"),
		}
		b.MeanContext = b.ActiveKV / b.Requests
		now := engine.Time(rapid.Int64Range(0, 1e15).Draw(t, "now"))
		n := rapid.IntRange(0, 400).Draw(t, "passes")
		got, err := m.(engine.RowModel).DecodeRow(now, []engine.Time{7}, b, n)
		if err != nil {
			t.Fatal(err)
		}
		want := []engine.Time{7}
		for range n {
			d, err := m.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if d <= 0 {
				break
			}
			now = now.Add(d)
			want = append(want, now)
			b.ActiveKV += b.Requests
			b.MeanContext = b.ActiveKV / b.Requests
		}
		if !slices.Equal(got, want) {
			t.Fatalf("row of %d ends and passes of %d differ", len(got), len(want))
		}
	})
}

// byRow takes one nanosecond and then none from a context of 5,000 on, so that rows also end.
type byRow struct{ Zero }

func (byRow) DecodeMS(b engine.DecodeBatch) (float64, error) {
	if b.MeanContext >= 5000 {
		return 0, nil
	}
	return 1e-6 * float64(b.MeanContext+b.Requests), nil
}

func (s byRow) DecodeRowMS(out []float64, b engine.DecodeBatch) (int, error) {
	for i := range out {
		out[i], _ = s.DecodeMS(b)
		b.MeanContext++
	}
	return 0, nil
}
