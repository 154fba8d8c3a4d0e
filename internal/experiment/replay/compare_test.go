package replay

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// sortRows orders rows as the reference's tool does: its requests have no stable name, so by what they are, then by
// what happened to them.
func sortRows(rows []map[string]any) {
	text := func(v any) string { s, _ := v.(string); return s }
	number := func(v any) float64 {
		if n, ok := v.(float64); ok {
			return n
		}
		return -1
	}
	slices.SortStableFunc(rows, func(a, b map[string]any) int {
		c := cmp.Or(
			cmp.Compare(number(a["arrival_time_ms"]), number(b["arrival_time_ms"])),
			cmp.Compare(text(a["session_id"]), text(b["session_id"])),
		)
		for _, key := range []string{
			"turn_index", "input_length", "requested_output_length", "first_admit_ms", "first_token_ms", "terminal_time_ms",
			"reused_input_tokens", "admission_count", "decode_worker_idx",
		} {
			c = cmp.Or(c, cmp.Compare(number(a[key]), number(b[key])))
		}
		return c
	})
}

// compareRows reports the first differences in the keys that want has.
func compareRows(t *testing.T, want, got []map[string]any) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("want %d requests, got %d", len(want), len(got))
	}
	sortRows(want)
	sortRows(got)
	shown := 0
	for i := range want {
		for key, w := range want[i] {
			g, ok := got[i][key]
			a, number := w.(float64)
			b, _ := g.(float64)
			if ok && (w == g || number && g != nil && math.Abs(a-b) <= timeTolerance) {
				continue
			}
			if shown++; shown <= 8 {
				t.Errorf("request %d %s: want %v, got %v", i, key, w, g)
			}
		}
	}
}
