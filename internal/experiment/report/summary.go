package report

// Totals are the figures of a run that no record carries.
type Totals struct {
	// Released counts the requests let go, whatever became of them.
	Released int
	// CommittedPrefill counts the tokens computed in finished passes by requests that had prompt tokens in them.
	CommittedPrefill int64
	// WorkerMS is the time that workers were up, summed over them, GPUs the number behind each.
	WorkerMS float64
	GPUs     int
	// WallMS is the real time of the run; 0 if nobody measured.
	WallMS float64
	// Gaps are those between the tokens of the records that count.
	Gaps *Gaps
}

// Summary is the report of a run (spec simulation-harness §12.1).
type Summary struct {
	Totals
	Completed, Input, Output            int64
	DurationMS                          float64
	FirstReuse, Reuse                   float64
	TTFT, TTST, TPOT, E2E, ITL, PerUser Dist
}

// Summarize computes the report of records, in their order, which should be that of their ends. O(n log n).
func Summarize(records []Record, totals Totals) *Summary {
	s := &Summary{Totals: totals}
	var first, most int64
	var ttft, ttst, tpot, e2e []float64
	for i := range records {
		r := &records[i]
		if !r.Counts() {
			continue
		}
		s.Completed++
		s.Input += int64(r.Input)
		s.Output += int64(r.Output)
		s.DurationMS = max(s.DurationMS, r.Terminal)
		first += int64(r.FirstReused)
		most += int64(r.Reused)
		ttft = appendIf(ttft, r.TTFT)
		ttst = appendIf(ttst, r.TTST)
		tpot = appendIf(tpot, r.TPOT)
		e2e = appendIf(e2e, r.E2E)
	}
	if s.Input > 0 {
		s.FirstReuse = float64(first) / float64(s.Input)
		s.Reuse = float64(most) / float64(s.Input)
	}
	s.TTFT, s.TTST, s.TPOT, s.E2E = Exact(ttft), Exact(ttst), Exact(tpot), Exact(e2e)
	if totals.Gaps != nil {
		s.ITL, s.PerUser = totals.Gaps.Gap(), totals.Gaps.Rate()
	}
	return s
}

func appendIf(list []float64, get func() (float64, bool)) []float64 {
	if v, ok := get(); ok {
		list = append(list, v)
	}
	return list
}

// Field is one figure under its key.
type Field struct {
	Key   string
	Value any
}

// Fields returns the figures under the reference's keys, in its order. What has no counterpart here is left out.
func (s *Summary) Fields() []Field {
	seconds := max(s.DurationMS/1000, 1e-9)
	rate := func(n int64) float64 { return float64(n) / seconds }
	wall := func(n int64) float64 {
		if s.WallMS <= 0 {
			return 0
		}
		return float64(n) / (s.WallMS / 1000)
	}
	workerSeconds := s.WorkerMS / 1000
	out := []Field{
		{"kv_eviction_policy", "lru"},
		{"committed_prefill_tokens", s.CommittedPrefill},
		{"num_requests", s.Released},
		{"completed_requests", s.Completed},
		{"total_input_tokens", s.Input},
		{"total_output_tokens", s.Output},
		{"duration_ms", s.DurationMS},
		{"wall_time_ms", s.WallMS},
		{"request_throughput_rps", rate(s.Completed)},
		{"input_throughput_tok_s", rate(s.Input)},
		{"output_throughput_tok_s", rate(s.Output)},
		{"total_throughput_tok_s", rate(s.Input + s.Output)},
		{"prefill_worker_seconds", 0.0},
		{"decode_worker_seconds", workerSeconds},
		{"prefill_gpus_per_worker", 0},
		{"decode_gpus_per_worker", s.GPUs},
		{"gpu_hours", workerSeconds * float64(s.GPUs) / 3600},
		{"processed_tokens", s.Input + s.Output},
		{"processed_tokens_per_s", wall(s.Input + s.Output)},
		{"processed_output_tokens_per_s", wall(s.Output)},
		{"prefix_cache_reused_ratio", s.Reuse},
		{"first_admission_prefix_cache_reused_ratio", s.FirstReuse},
		{"num_ttft_samples", s.TTFT.Count},
		{"num_tpot_samples", s.TPOT.Count},
		{"num_e2e_latency_samples", s.E2E.Count},
	}
	out = append(out, s.TTFT.fields("_ttft_ms")...)
	out = append(out, s.TTST.fields("_ttst_ms")...)
	out = append(out, s.TPOT.fields("_tpot_ms")...)
	out = append(out, s.ITL.fields("_itl_ms")...)
	out = append(out, s.E2E.fields("_e2e_latency_ms")...)
	return append(out, s.PerUser.fields("_output_token_throughput_per_user")...)
}

func (d Dist) fields(suffix string) []Field {
	return []Field{
		{"mean" + suffix, d.Mean},
		{"min" + suffix, d.Min},
		{"max" + suffix, d.Max},
		{"median" + suffix, d.Median},
		{"p75" + suffix, d.P75},
		{"p90" + suffix, d.P90},
		{"p95" + suffix, d.P95},
		{"p99" + suffix, d.P99},
		{"std" + suffix, d.Std},
	}
}
