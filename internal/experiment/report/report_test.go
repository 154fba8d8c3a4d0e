package report

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestExact(t *testing.T) {
	got := Exact([]float64{4, 1, 2, 3})
	// Halves round up, nothing is interpolated: the median of four is the third.
	want := Dist{Count: 4, Mean: 2.5, Min: 1, Max: 4, Median: 3, P75: 3, P90: 4, P95: 4, P99: 4, Std: math.Sqrt(1.25)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Exact(nil); got != (Dist{}) {
		t.Errorf("no samples: %+v", got)
	}
}

// naive folds values in one by one, as the reference does.
type naive struct {
	m        sketchMath
	sketch   *sketch
	n        float64
	mean, m2 float64
	min, max float64
}

func (w *naive) add(x float64) {
	if w.n == 0 {
		w.min, w.max = x, x
	}
	w.n++
	old := w.mean
	w.mean += (x - w.mean) / w.n
	w.m2 += (x - old) * (x - w.mean)
	w.min, w.max = min(w.min, x), max(w.max, x)
	key := int32(0)
	if x > 0 {
		key = w.m.key(x)
	}
	w.sketch.add(x, key, 1)
}

func (w *naive) dist() Dist {
	if w.n == 0 {
		return Dist{}
	}
	p := w.sketch.percentiles(50, 75, 90, 95, 99)
	return Dist{int(w.n), w.mean, w.min, w.max, p[0], p[1], p[2], p[3], p[4], math.Sqrt(w.m2 / w.n)}
}

func newNaive() *naive {
	m := newSketchMath()
	return &naive{m: m, sketch: newSketch(m)}
}

func TestGapsAgainstOneByOne(t *testing.T) {
	near := cmpopts.EquateApprox(1e-11, 1e-12)
	rapid.Check(t, func(t *rapid.T) {
		g, gaps, rates := NewGaps(), newNaive(), newNaive()
		base := rapid.Int64Range(1, 1e10).Draw(t, "base")
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			ns := rapid.OneOf(
				rapid.Int64Range(0, 3), rapid.Int64Range(1, 1e13), rapid.Int64Range(base, base+base/100),
			).Draw(t, "gap")
			n := rapid.Int64Range(1, 5).Draw(t, "weight")
			g.Add(ns, n)
			for range n {
				ms := float64(ns) / 1e6
				gaps.add(ms)
				if ms > 0 {
					rates.add(1000 / ms)
				}
			}
		}
		if diff := cmp.Diff(sameStd(gaps.dist(), g.Gap()), g.Gap(), near); diff != "" {
			t.Fatalf("gaps, one by one (-) and together (+):\n%s", diff)
		}
		if diff := cmp.Diff(sameStd(rates.dist(), g.Rate()), g.Rate(), near); diff != "" {
			t.Fatalf("rates, one by one (-) and together (+):\n%s", diff)
		}
	})
}

// sameStd gives one the other's standard deviation where the two differ by no more than the twin's own rounding: a
// sample of size x is known to x·2^-53, and so is a deviation among samples up to x, however close they lie.
func sameStd(one, together Dist) Dist {
	if math.Abs(one.Std-together.Std) <= 32*0x1p-53*one.Max {
		one.Std = together.Std
	}
	return one
}

// TestEqualGapsDoNotDeviate uses gaps whose squares do not fit a float64; a gate once failed on 4,343 ns.
func TestEqualGapsDoNotDeviate(t *testing.T) {
	for _, ns := range []int64{1, 4343, 20_000_003, 9_999_999_999_999} {
		g := NewGaps()
		for range 7 {
			g.Add(ns, 3)
		}
		if gap, rate := g.Gap().Std, g.Rate().Std; gap != 0 || rate != 0 {
			t.Errorf("21 gaps of %d ns: deviations %g ms and %g tokens/s, want none", ns, gap, rate)
		}
	}
}

// TestRowsAreTheirGaps gives rows in parts and one gap at a time.
func TestRowsAreTheirGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row, single := NewGaps(), NewGaps()
		var ends []int64
		var change []int32
		at := rapid.Int64Range(0, 1e12).Draw(t, "start")
		prev, weight := at, int64(0)
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			at += rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(5e6, 6e6)).Draw(t, "gap")
			ends = append(ends, at)
			c := rapid.Int64Range(-weight, 3).Draw(t, "change")
			change = append(change, int32(c))
			weight += c
			if weight > 0 {
				last := prev
				if n := len(ends); n > 1 {
					last = ends[n-2]
				}
				single.Add(at-last, weight)
			}
		}
		cut := rapid.IntRange(0, len(ends)).Draw(t, "cut")
		mid, w := AddRow(row, prev, 0, ends[:cut], change)
		if _, w = AddRow(row, mid, w, ends[cut:], change[cut:]); w != weight {
			t.Fatalf("weight %d at the end, want %d", w, weight)
		}
		if diff := cmp.Diff(single.Gap(), row.Gap()); diff != "" {
			t.Fatalf("gap by gap (-) and as a row (+):\n%s", diff)
		}
		if diff := cmp.Diff(single.Rate(), row.Rate()); diff != "" {
			t.Fatalf("gap by gap (-) and as a row (+):\n%s", diff)
		}
	})
}

func TestCellsAreExact(t *testing.T) {
	g := NewGaps()
	for ns := int64(1); ns < 1e12; ns = ns*3/2 + 1 {
		c := g.newCell(ns)
		a, b := g.keys(ns)
		for _, x := range []int64{c.lo, c.hi} {
			if p, q := g.keys(x); p != a || q != b {
				t.Errorf("gap %d: bound %d has keys %d %d, want %d %d", ns, x, p, q, a, b)
			}
		}
		for _, x := range []int64{c.lo - 1, c.hi + 1} {
			if p, q := g.keys(x); x > 0 && p == a && q == b {
				t.Errorf("gap %d: %d belongs to the cell %d to %d", ns, x, c.lo, c.hi)
			}
		}
	}
}

func record() Record {
	return Record{
		ID: 4, Session: "s\"1", Turn: 2, Named: true, Arrival: 1.5, FirstAdmit: 2, FirstToken: 10,
		SecondToken: 12, LastToken: 16.25,
		Terminal: 16.25, Status: "completed", Input: 100, Requested: 9, Output: 4, FirstReused: 16, Reused: 32, Admissions: 2,
		Again: []Admission{{At: 13, Reused: 32}}, Worker: 1, Rank: 0, Scheduler: 2,
	}
}

func TestJSONLines(t *testing.T) {
	refused := Record{
		Arrival: 3, FirstAdmit: None(), FirstToken: None(), SecondToken: None(), LastToken: None(),
		Terminal: 3, Status: "rejected",
		Why: "num_gpu_blocks 4: 7 blocks needed", Input: 400, Requested: 3, Worker: -1, Rank: -1, Scheduler: -1,
	}
	var buf bytes.Buffer
	if err := WriteJSONL(&buf, []Record{record(), refused}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, part := range []string{
		`{"session_id": "s\"1", "turn_index": 2, "uuid": "4", "arrival_time_ms": 1.5,`,
		`"ttft_ms": 8.5, "ttst_ms": 2, "e2e_latency_ms": 14.75, `,
		`"itl_ms": 2.0833333333333335, "input_length": 100, "requested_output_length": 9, "output_length": 4,`,
		`"reused_input_tokens": 32,`,
		`"decode_worker_idx": 2,`, `{"admission_ordinal": 1, "pool_admission_ordinal": 1, "pool": "agg", "at_ms": 13, `,
		`"admission_count": 2, "readmission_count": 1}`,
	} {
		if !strings.Contains(lines[0], part) {
			t.Errorf("%s\nlacks %s", lines[0], part)
		}
	}
	for _, part := range []string{
		`{"session_id": null, "turn_index": null,`,
		`"first_admit_ms": null,`,
		`"terminal_status": "rejected", "terminal_reason": "num_gpu_blocks 4: `,
		`"first_token_ms": null, "last_token_ms": null, "ttft_ms": null,`,
		`"decode_worker_idx": null,`,
		`"routing_history": [], "admission_history": [], `,
	} {
		if !strings.Contains(lines[1], part) {
			t.Errorf("%s\nlacks %s", lines[1], part)
		}
	}
}

func TestSummaryCountsOnlyWhatCompleted(t *testing.T) {
	cancelled := record()
	cancelled.Status = "canceled"
	gaps := NewGaps()
	gaps.Add(2e6, 1)
	s := Summarize([]Record{record(), cancelled}, Totals{Released: 3, WorkerMS: 5000, GPUs: 2, WallMS: 10, Gaps: gaps})
	got := map[string]any{}
	for _, f := range s.Fields() {
		if _, twice := got[f.Key]; twice {
			t.Errorf("%s is reported twice", f.Key)
		}
		got[f.Key] = f.Value
	}
	for key, want := range map[string]any{
		"num_requests": 3, "completed_requests": int64(1), "total_input_tokens": int64(100), "duration_ms": 16.25,
		"decode_worker_seconds": 5.0, "gpu_hours": 10.0 / 3600, "prefix_cache_reused_ratio": 0.32,
		"first_admission_prefix_cache_reused_ratio": 0.16, "num_ttft_samples": 1, "mean_ttft_ms": 8.5, "mean_itl_ms": 2.0,
		"p99_itl_ms": 2.0, "mean_output_token_throughput_per_user": 500.0, "processed_tokens_per_s": 10400.0,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	var table, object bytes.Buffer
	const head = "3 requests, 1 completed, 0.016 s simulated"
	if err := s.WriteTable(&table); err != nil || !strings.HasPrefix(table.String(), head) {
		t.Errorf("table %q, %v", table.String(), err)
	}
	const open = "{\n \"summary\": {\n  \"kv_eviction_policy\": \"lru\","
	if err := s.WriteJSON(&object); err != nil || !strings.HasPrefix(object.String(), open) {
		t.Errorf("object %q, %v", object.String(), err)
	}
}

func TestEmptyRun(t *testing.T) {
	for _, f := range Summarize(nil, Totals{Gaps: NewGaps()}).Fields() {
		if v, ok := f.Value.(float64); ok && v != 0 {
			t.Errorf("%s is %v in an empty run", f.Key, v)
		}
	}
}

func TestSortByArrival(t *testing.T) {
	records := []Record{{ID: 3, Arrival: 1}, {ID: 1, Arrival: 2}, {ID: 2, Arrival: 1}}
	SortByArrival(records)
	if !slices.EqualFunc(records, []uint64{2, 3, 1}, func(r Record, id uint64) bool { return r.ID == id }) {
		t.Errorf("order %+v", records)
	}
}
