package metrics

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// vllmVectors are the metric families of the set, before a value of the label engine is chosen.
type vllmVectors struct {
	gauges     map[string]*prometheus.GaugeVec
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	byReason   *prometheus.GaugeVec
	bySource   *prometheus.CounterVec
	success    *prometheus.CounterVec
	acceptedAt *prometheus.CounterVec // nil without speculation
}

type family struct{ name, help string }

// vllmDefinitions registers every family. Helps say what fakellm counts, in its own words.
func vllmDefinitions(reg prometheus.Registerer, c Config) *vllmVectors {
	labels := []string{"model_name", "engine"}
	d := &vllmVectors{
		gauges: map[string]*prometheus.GaugeVec{}, counters: map[string]*prometheus.CounterVec{},
		histograms: map[string]*prometheus.HistogramVec{},
	}
	for _, f := range []family{
		{"num_requests_running", "Requests in the running set."},
		{"num_requests_waiting", "Requests in the queue."},
		{"kv_cache_usage_perc", "Share of KV blocks held by requests, 0 to 1."},
		{"gpu_cache_usage_perc", "Deprecated name of kv_cache_usage_perc."},
	} {
		d.gauges[f.name] = register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "vllm:" + f.name, Help: f.help}, labels))
	}
	counters := []family{
		{"prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache."},
		{"prefix_cache_hits_total", "Prompt tokens found in the prefix cache."},
		{"gpu_prefix_cache_queries_total", "Deprecated name of prefix_cache_queries."},
		{"gpu_prefix_cache_hits_total", "Deprecated name of prefix_cache_hits."},
		{"external_prefix_cache_queries_total", "Prompt tokens looked up in an external cache."},
		{"external_prefix_cache_hits_total", "Prompt tokens found in an external cache."},
		{"mm_cache_queries_total", "Items looked up in the multimodal cache."},
		{"mm_cache_hits_total", "Items found in the multimodal cache."},
		{"num_preemptions_total", "Requests that lost their blocks to others."},
		{"prompt_tokens_total", "Prompt tokens of requests whose prefill is done."},
		{"prompt_tokens_cached_total", "Of these, tokens reused from a cache."},
		{"generation_tokens_total", "Tokens generated."},
	}
	if c.Drafts > 0 {
		counters = append(counters,
			family{"spec_decode_num_drafts_total", "Drafts verified."},
			family{"spec_decode_num_draft_tokens_total", "Draft tokens proposed."},
			family{"spec_decode_num_accepted_tokens_total", "Draft tokens accepted."})
	}
	for _, f := range counters {
		d.counters[f.name] = register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vllm:" + f.name, Help: f.help}, labels))
	}
	d.byReason = register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "vllm:num_requests_waiting_by_reason", Help: "Waiting requests by what they wait for.",
	}, append(slices.Clone(labels), "reason")))
	d.bySource = register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vllm:prompt_tokens_by_source_total", Help: "Prompt tokens by where their KV came from.",
	}, append(slices.Clone(labels), "source")))
	d.success = register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vllm:request_success_total", Help: "Requests that ended, by reason.",
	}, append(slices.Clone(labels), "finished_reason")))
	if c.Drafts > 0 {
		d.acceptedAt = register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vllm:spec_decode_num_accepted_tokens_per_pos_total", Help: "Draft tokens accepted, by position in the draft.",
		}, append(slices.Clone(labels), "position")))
	}
	d.defineHistograms(reg, c, labels)
	defineInfo(reg, c)
	return d
}

func (d *vllmVectors) defineHistograms(reg prometheus.Registerer, c Config, labels []string) {
	add := func(buckets []float64, families ...family) {
		for _, f := range families {
			d.histograms[f.name] = register(reg, prometheus.NewHistogramVec(
				prometheus.HistogramOpts{Name: "vllm:" + f.name, Help: f.help, Buckets: buckets}, labels))
		}
	}
	add(lengthBuckets(c.MaxModelLen),
		family{"request_prompt_tokens", "Prompt tokens per finished request."},
		family{"request_generation_tokens", "Generated tokens per finished request."},
		family{"request_max_num_generation_tokens", "Longest choice per finished request, in tokens."},
		family{"request_params_max_tokens", "max_tokens asked for."},
		family{"request_prefill_kv_computed_tokens", "Prompt tokens computed, not reused, per finished request."})
	add([]float64{1, 2, 5, 10, 20}, family{"request_params_n", "Choices asked for."})
	add(stepBuckets(), family{"iteration_tokens_total", "Tokens per pass: generated ones, and whole prompts when their prefill is done."})
	add(ttftBuckets(), family{"time_to_first_token_seconds", "From arrival to first token."})
	add(itlBuckets(),
		family{"inter_token_latency_seconds", "Between two tokens of a request."},
		family{"time_per_output_token_seconds", "Deprecated name of inter_token_latency_seconds."},
		family{"request_time_per_output_token_seconds", "Mean time per output token after the first, per request."})
	add(latencyBuckets(),
		family{"e2e_request_latency_seconds", "From arrival to last token."},
		family{"request_queue_time_seconds", "From arrival to first admission."},
		family{"request_inference_time_seconds", "From first admission to last token."},
		family{"request_prefill_time_seconds", "From first admission to first token."},
		family{"request_decode_time_seconds", "From first token to last token."})
}

// defineInfo registers the constant gauges: the sleep state (always awake), the cache configuration and adapters (none).
func defineInfo(reg prometheus.Registerer, c Config) {
	sleep := register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "vllm:engine_sleep_state", Help: "1 for the state the engine is in.",
	}, []string{"model_name", "engine", "sleep_state"}))
	register(reg, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "vllm:lora_requests_info", Help: "Time of the scrape in Unix seconds; adapters are labels, and there are none.",
		ConstLabels: prometheus.Labels{"max_lora": "0", "waiting_lora_adapters": "", "running_lora_adapters": ""},
	}, func() float64 { return float64(time.Now().UnixNano()) / 1e9 }))
	names := slices.Sorted(maps.Keys(c.Cache))
	info := register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "vllm:cache_config_info", Help: "Settings of the KV cache, as labels.",
	}, append([]string{"engine"}, names...)))
	for i := range c.engines() {
		engine := strconv.Itoa(i)
		for _, state := range []string{"awake", "weights_offloaded", "discard_all"} {
			on := 0.0
			if state == "awake" {
				on = 1
			}
			sleep.WithLabelValues(c.Model, engine, state).Set(on)
		}
		values := []string{engine}
		for _, n := range names {
			values = append(values, c.Cache[n])
		}
		info.WithLabelValues(values...).Set(1)
	}
}

// engine resolves the children of one engine once.
func (d *vllmVectors) engine(c Config, name string) vllmEngine {
	l := []string{c.Model, name}
	g := func(n string) prometheus.Gauge { return d.gauges[n].WithLabelValues(l...) }
	k := func(n string) prometheus.Counter { return d.counters[n].WithLabelValues(l...) }
	h := func(n string) prometheus.Observer { return d.histograms[n].WithLabelValues(l...) }
	source := func(s string) prometheus.Counter { return d.bySource.WithLabelValues(c.Model, name, s) }
	e := vllmEngine{
		running: g("num_requests_running"), waiting: g("num_requests_waiting"),
		kvUsage: g("kv_cache_usage_perc"), gpuUsage: g("gpu_cache_usage_perc"),
		capacity: d.byReason.WithLabelValues(c.Model, name, "capacity"),
		deferred: d.byReason.WithLabelValues(c.Model, name, "deferred"),
		queries:  k("prefix_cache_queries_total"), hits: k("prefix_cache_hits_total"),
		gpuQueries: k("gpu_prefix_cache_queries_total"), gpuHits: k("gpu_prefix_cache_hits_total"),
		preemptions: k("num_preemptions_total"), prompt: k("prompt_tokens_total"),
		promptCached: k("prompt_tokens_cached_total"), generation: k("generation_tokens_total"),
		local: source("local_compute"), localHit: source("local_cache_hit"), external: source("external_kv_transfer"),
		success:   d.success.MustCurryWith(prometheus.Labels{"model_name": c.Model, "engine": name}),
		iteration: h("iteration_tokens_total"), ttft: h("time_to_first_token_seconds"),
		itl: h("inter_token_latency_seconds"), tpotOld: h("time_per_output_token_seconds"),
		tpot: h("request_time_per_output_token_seconds"), e2e: h("e2e_request_latency_seconds"),
		queue: h("request_queue_time_seconds"), inference: h("request_inference_time_seconds"),
		prefill: h("request_prefill_time_seconds"), decode: h("request_decode_time_seconds"),
		promptLen: h("request_prompt_tokens"), generationLen: h("request_generation_tokens"),
		maxGeneration: h("request_max_num_generation_tokens"), paramMax: h("request_params_max_tokens"),
		paramN: h("request_params_n"), computed: h("request_prefill_kv_computed_tokens"),
	}
	for _, n := range []string{"external_prefix_cache_queries_total", "external_prefix_cache_hits_total", "mm_cache_queries_total", "mm_cache_hits_total"} {
		k(n)
	}
	for _, reason := range []string{"stop", "length", "abort", "error"} {
		e.success.WithLabelValues(reason)
	}
	if c.Drafts > 0 {
		e.drafts, e.draftTokens = k("spec_decode_num_drafts_total"), k("spec_decode_num_draft_tokens_total")
		e.accepted = k("spec_decode_num_accepted_tokens_total")
		for at := range c.Drafts {
			e.acceptedAt = append(e.acceptedAt, d.acceptedAt.WithLabelValues(c.Model, name, strconv.Itoa(at)))
		}
	}
	return e
}

func register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	reg.MustRegister(c)
	return c
}
