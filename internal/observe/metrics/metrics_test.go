package metrics

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"fakellm/engine"
)

const second = engine.Time(1e9)

// serve tells the sink of one request: admitted at 1 s after an arrival at 0, tokens at 2, 3 and 5 s.
func serve(s engine.Sink, r *engine.Request, cached int) {
	after := engine.RankState{Running: 1, Waiting: 2, ActiveBlocks: 3, InactiveBlocks: 3, TotalBlocks: 12, Preemptions: 1}
	s.Began(&engine.Pass{Start: second, Admitted: []engine.Admission{{Req: r, Cached: cached}}, After: after})
	for i, end := range []engine.Time{2 * second, 3 * second, 5 * second} {
		o := engine.Output{Req: r, Tokens: 1}
		if i == 2 {
			o.End = engine.Completed
			after.Running = 0
		}
		s.Ended(&engine.Pass{End: end, ScheduledTokens: 1, Outputs: []engine.Output{o}, After: after})
	}
}

func TestVLLMFollowsTheEffects(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	v := NewVLLM(reg, Config{Model: "m", Ranks: 1, Workers: 1, MaxModelLen: 4096, Cache: map[string]string{"block_size": "64"}})
	serve(v, &engine.Request{ID: 1, PromptTokens: 100, FinishReason: "length", ClientMaxTokens: 3, Choices: 1}, 64)
	cancelled := &engine.Request{ID: 2, PromptTokens: 9}
	v.Began(&engine.Pass{Admitted: []engine.Admission{{Req: cancelled}}})
	v.Left(engine.Departure{Output: engine.Output{Req: cancelled, End: engine.Cancelled}})
	want := `
# HELP vllm:generation_tokens_total Tokens generated.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 3
# HELP vllm:num_preemptions_total Requests that lost their blocks to others.
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} 1
# HELP vllm:prefix_cache_hits_total Prompt tokens found in the prefix cache.
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 64
# HELP vllm:prompt_tokens_by_source_total Prompt tokens by where their KV came from.
# TYPE vllm:prompt_tokens_by_source_total counter
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="external_kv_transfer"} 0
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_cache_hit"} 64
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"} 36
# HELP vllm:request_success_total Requests that ended, by reason.
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="abort",model_name="m"} 1
vllm:request_success_total{engine="0",finished_reason="error",model_name="m"} 0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 1
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "vllm:generation_tokens_total", "vllm:num_preemptions_total",
		"vllm:prefix_cache_hits_total", "vllm:prompt_tokens_by_source_total", "vllm:request_success_total"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]float64{
		"vllm:time_to_first_token_seconds": 2, "vllm:inter_token_latency_seconds": 3, "vllm:e2e_request_latency_seconds": 5,
		"vllm:request_queue_time_seconds": 1, "vllm:request_prefill_time_seconds": 1, "vllm:request_decode_time_seconds": 3,
		"vllm:request_inference_time_seconds": 4, "vllm:request_time_per_output_token_seconds": 1.5,
		"vllm:request_prefill_kv_computed_tokens": 36,
	} {
		if got := histogram(t, reg, name).GetSampleSum(); got != want {
			t.Errorf("%s sums to %v, want %v", name, got, want)
		}
	}
	if n := len(v.(*sink).book.live); n != 0 {
		t.Errorf("%d requests are remembered after their end", n)
	}
}

func histogram(t *testing.T, reg *prometheus.Registry, name string) *dto.Histogram {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetHistogram()
		}
	}
	t.Fatalf("no metric %s", name)
	return nil
}

// TestNames lints our own names and pins, for the engines' names, the very complaints that those names earn.
func TestNames(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	NewOwn(reg, "1", Gauges{Extrapolated: func() uint64 { return 0 }, OpenStreams: func() int64 { return 0 }}).Request("/", 200)
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	reg = prometheus.NewPedanticRegistry()
	NewVLLM(reg, Config{Model: "m", Ranks: 1, Workers: 1, MaxModelLen: 100, Drafts: 1})
	problems, err = testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	const colon = "metric names should not contain ':'"
	var rest []promlint.Problem
	for _, p := range problems {
		if p.Text != colon { // vLLM's prefix is what dashboards look for
			rest = append(rest, p)
		}
	}
	want := []promlint.Problem{
		{Metric: "vllm:iteration_tokens_total", Text: `non-counter metrics should not have "_total" suffix`},
	}
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Error(diff)
	}
}

func TestBuckets(t *testing.T) {
	if diff := cmp.Diff([]float64{1, 2, 5, 10, 20, 50, 100, 200}, lengthBuckets(256)); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkVLLMPass(b *testing.B) {
	v := NewVLLM(prometheus.NewRegistry(), Config{Model: "m", Ranks: 1, Workers: 1, MaxModelLen: 4096})
	p := &engine.Pass{End: second, ScheduledTokens: 256}
	for i := range 256 {
		r := &engine.Request{ID: engine.RequestID(i), PromptTokens: 10}
		p.Admitted = append(p.Admitted, engine.Admission{Req: r})
		p.Outputs = append(p.Outputs, engine.Output{Req: r, Tokens: 1})
	}
	v.Began(p)
	b.ReportAllocs()
	for b.Loop() {
		v.Ended(p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/token")
}

func TestOtherEnginesNames(t *testing.T) {
	for _, row := range []struct {
		make func(prometheus.Registerer, Config) engine.Sink
		want map[string]float64
	}{
		{NewSGLang, map[string]float64{
			"sglang:num_queue_reqs": 2, "sglang:num_used_tokens": 6 * 16, "sglang:token_usage": .5, "sglang:cache_hit_rate": .64,
			"sglang:prompt_tokens_total": 100, "sglang:cached_tokens_total": 64, "sglang:generation_tokens_total": 3,
			"sglang:num_requests_total": 1, "sglang:num_retracted_requests_total": 1, "sglang:time_to_first_token_seconds": 2,
			"sglang:inter_token_latency_seconds": 3, "sglang:e2e_request_latency_seconds": 5, "sglang:queue_time_seconds": 1,
		}},
		{NewTRTLLM, map[string]float64{
			"trtllm_kv_cache_hit_rate": .64, "trtllm_kv_cache_utilization": .25, "trtllm_request_success_total": 1,
			"trtllm_time_to_first_token_seconds": 2, "trtllm_time_per_output_token_seconds": 1.5,
			"trtllm_e2e_request_latency_seconds": 5, "trtllm_request_queue_time_seconds": 1,
		}},
		{NewDynamo, map[string]float64{
			"dynamo_frontend_requests_total": 1, "dynamo_frontend_inflight_requests": 2, "dynamo_frontend_queued_requests": 2,
			"dynamo_frontend_request_duration_seconds": 5, "dynamo_frontend_time_to_first_token_seconds": 2,
			"dynamo_frontend_inter_token_latency_seconds": 3, "dynamo_frontend_input_sequence_tokens": 100,
			"dynamo_frontend_output_sequence_tokens": 3, "dynamo_frontend_output_tokens_total": 3,
			"dynamo_frontend_cached_tokens": 64, "dynamo_frontend_model_context_length": 4096,
			"dynamo_frontend_model_kv_cache_block_size": 16, "dynamo_frontend_model_total_kv_blocks": 12,
			"dynamo_frontend_model_max_num_seqs": 8, "dynamo_frontend_model_cancellation_total": 0,
			"dynamo_frontend_disconnected_clients": 7,
		}},
	} {
		reg := prometheus.NewPedanticRegistry()
		s := row.make(reg, Config{
			Model: "m", Ranks: 1, Workers: 1, BlockSize: 16, Blocks: 12, MaxModelLen: 4096,
			MaxNumSeqs: 8, Disconnected: func() int64 { return 7 },
		})
		serve(s, &engine.Request{ID: 1, PromptTokens: 100, FinishReason: "length"}, 64)
		got := map[string]float64{}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if _, wanted := row.want[f.GetName()]; !wanted {
					continue
				}
				got[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
			}
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// speculative is one prompt of 8 tokens and an answer of 20, in bursts of up to 3 (two drafts), after one retraction.
func speculative(s engine.Sink) {
	r := &engine.Request{ID: 1, PromptTokens: 8, FinishReason: "length"}
	s.Began(&engine.Pass{Admitted: []engine.Admission{{Req: r}}})
	end := engine.Time(0)
	for _, n := range []int{1, 3, 3, 3, 2, 3, 3, 2} {
		end += second
		p := &engine.Pass{
			End: end, ScheduledTokens: 2, Forwards: 1, Accepted: n, Decode: engine.DecodeBatch{Requests: 1, ActiveKV: 9},
			Outputs: []engine.Output{{Req: r, Tokens: n}},
		}
		for at := range n - 1 {
			p.AcceptedAt[at] = 1
		}
		if end == 2*second {
			s.Began(&engine.Pass{Preempted: []engine.Preemption{{Req: r}}})
		}
		if end == 8*second {
			p.Outputs[0].End = engine.Completed
		}
		s.Ended(p)
	}
}

// TestSpeculation: what was drafted and accepted, by position, and iterations that count what vLLM counts.
func TestSpeculation(t *testing.T) {
	c := Config{Model: "m", Ranks: 1, Workers: 1, MaxModelLen: 4096, Drafts: 2}
	reg := prometheus.NewPedanticRegistry()
	speculative(NewVLLM(reg, c))
	want := `
# HELP vllm:spec_decode_num_accepted_tokens_per_pos_total Draft tokens accepted, by position in the draft.
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 7
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 5
# HELP vllm:spec_decode_num_accepted_tokens_total Draft tokens accepted.
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 12
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "vllm:spec_decode_num_accepted_tokens_per_pos_total",
		"vllm:spec_decode_num_accepted_tokens_total"); err != nil {
		t.Error(err)
	}
	if h := histogram(t, reg, "vllm:iteration_tokens_total"); h.GetSampleSum() != 28 || h.GetSampleCount() != 8 {
		t.Errorf("8 prompt and 20 answer tokens in 8 passes are %v in %d", h.GetSampleSum(), h.GetSampleCount())
	}
	if n, err := testutil.GatherAndCount(reg, "vllm:lora_requests_info"); n != 1 || err != nil {
		t.Errorf("%d adapter infos, %v", n, err)
	}

	reg = prometheus.NewPedanticRegistry()
	speculative(NewSGLang(reg, c))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		got[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
	}
	for name, want := range map[string]float64{
		"spec_accept_length": 2, "spec_accept_rate": .5, "decode_sum_seq_lens": 9, "num_retractions": 1,
		"num_retracted_input_tokens_total": 8, "num_retracted_output_tokens_total": 1, "realtime_tokens_total": 19,
		"num_grammar_queue_reqs": 0, "num_paused_reqs": 0, "is_cuda_graph": 0, "utilization": 0, "num_so_requests_total": 0,
	} {
		if v, ok := got["sglang:"+name]; !ok || v != want {
			t.Errorf("sglang:%s is %v, %v, want %v", name, v, ok, want)
		}
	}
}
