package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fakellm/engine"
)

// sglang is SGLang's set (spec openai-endpoint §3.4; occupancy counts what the tree holds, as SGLang does).
type sglang struct {
	c       Config
	engines []sglangEngine

	ttft, e2e, itl, queue prometheus.Observer
	prompt, generation    prometheus.Counter
	cached, requests      prometheus.Counter
	aborted               prometheus.Counter
	retractions           prometheus.Observer

	retractedInput, retractedOutput           prometheus.Counter
	prefillCompute, prefillCache, decodeCount prometheus.Counter
}

// sglangEngine holds the children of one rank.
type sglangEngine struct {
	running, queued, used, usage, throughput, hitRate, ratio, retracted, acceptLength prometheus.Gauge
	acceptRate, decodeLengths                                                         prometheus.Gauge
	retractions                                                                       prometheus.Counter

	lastRetracted uint64
	hits, queried int
	windowStart   engine.Time
	windowTokens  int
}

// throughputWindow is the span over which gen_throughput is averaged, as SGLang logs it about once a second.
const throughputWindow = time.Second

// NewSGLang registers SGLang's set and returns the sink that feeds it.
func NewSGLang(reg prometheus.Registerer, c Config) engine.Sink {
	s := &sglang{c: c}
	model := prometheus.Labels{"model_name": c.Model, "engine_type": "unified"}
	counter := func(name, help string) prometheus.Counter {
		return register(reg, prometheus.NewCounter(prometheus.CounterOpts{Name: "sglang:" + name, Help: help, ConstLabels: model}))
	}
	histogram := func(name, help string, buckets []float64) prometheus.Observer {
		return register(reg, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sglang:" + name, Help: help, ConstLabels: model, Buckets: buckets,
		}))
	}
	s.prompt = counter("prompt_tokens_total", "Prompt tokens of requests whose prefill is done.")
	s.generation = counter("generation_tokens_total", "Tokens generated.")
	s.cached = counter("cached_tokens_total", "Prompt tokens reused from the radix cache.")
	s.requests = counter("num_requests_total", "Requests that ended.")
	s.aborted = counter("num_aborted_requests_total", "Requests that were cancelled.")
	s.ttft = histogram("time_to_first_token_seconds", "From arrival to first token.", sglangTTFTBuckets())
	s.e2e = histogram("e2e_request_latency_seconds", "From arrival to last token.", sglangE2EBuckets())
	s.itl = histogram("inter_token_latency_seconds", "Between two tokens of a request.", sglangITLBuckets())
	s.queue = histogram("queue_time_seconds", "From arrival to first admission.", sglangQueueBuckets())
	s.retractions = histogram("num_retractions", "How often a request was retracted, per ended request.", sglangRetractionBuckets())
	s.retractedInput = counter("num_retracted_input_tokens_total", "Prompt tokens of retracted requests.")
	s.retractedOutput = counter("num_retracted_output_tokens_total", "Tokens that retracted requests had generated.")
	counter("num_so_requests_total", "Requests with a structured answer; the engine knows none.")
	modes := register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sglang:realtime_tokens_total", Help: "Tokens as passes end, by what became of them.", ConstLabels: model,
	}, []string{"mode"}))
	s.prefillCompute, s.prefillCache = modes.WithLabelValues("prefill_compute"), modes.WithLabelValues("prefill_cache")
	s.decodeCount = modes.WithLabelValues("decode")
	s.defineRanks(reg)
	return newSink(s, c.Ranks)
}

func (s *sglang) defineRanks(reg prometheus.Registerer) {
	labels := []string{"model_name", "engine_type", "tp_rank", "pp_rank", "moe_ep_rank", "dp_rank"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sglang:" + name, Help: help}, labels))
	}
	running, queued := gauge("num_running_reqs", "Requests in the running batch."), gauge("num_queue_reqs", "Requests in the queue.")
	used, usage := gauge("num_used_tokens", "KV tokens in use, the cache included."), gauge("token_usage", "The same as a share of the pool.")
	throughput, hit := gauge("gen_throughput", "Tokens generated per second."), gauge("cache_hit_rate", "Share of the prompt found in the cache.")
	ratio, retracted := gauge("new_token_ratio", "Share of output reserved at admission."), gauge("num_retracted_reqs", "Requests retracted so far.")
	total := gauge("max_total_num_tokens", "Tokens that the pool holds.")
	accept, rate := gauge("spec_accept_length", "Mean tokens per speculative step."), gauge("spec_accept_rate", "Share of draft tokens accepted.")
	lengths := gauge("decode_sum_seq_lens", "Tokens of all requests in the decode batch.")
	zeros := []*prometheus.GaugeVec{
		gauge("num_grammar_queue_reqs", "Requests that wait for a grammar: none, grammars take no time."),
		gauge("num_paused_reqs", "Requests paused: none ever are."),
		gauge("num_running_reqs_offline_batch", "Running requests of an offline batch: none, all are online."),
		gauge("is_cuda_graph", "1 when the batch runs as a CUDA graph: never, passes are only timed."),
		gauge("utilization", "Load against what a latency target allows: 0, no target is set."),
		gauge("max_running_requests_under_SLO", "Running requests that a latency target allows: 0, no target is set."),
	}
	retractions := register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sglang:num_retracted_requests_total", Help: "Requests that lost their pages to others.",
	}, labels))
	for i := range s.c.engines() {
		l := []string{s.c.Model, "unified", "0", "0", "0", strconv.Itoa(i)}
		total.WithLabelValues(l...).Set(float64(s.c.Blocks * s.c.BlockSize))
		s.engines = append(s.engines, sglangEngine{
			running: running.WithLabelValues(l...), queued: queued.WithLabelValues(l...), used: used.WithLabelValues(l...),
			usage: usage.WithLabelValues(l...), throughput: throughput.WithLabelValues(l...), hitRate: hit.WithLabelValues(l...),
			ratio: ratio.WithLabelValues(l...), retracted: retracted.WithLabelValues(l...),
			acceptLength: accept.WithLabelValues(l...), retractions: retractions.WithLabelValues(l...),
			acceptRate: rate.WithLabelValues(l...), decodeLengths: lengths.WithLabelValues(l...),
		})
		for _, zero := range zeros {
			zero.WithLabelValues(l...)
		}
	}
}

func (s *sglang) admitted(i int, a engine.Admission, t *timeline) {
	e := &s.engines[i]
	s.prefillCache.Add(float64(a.Cached))
	e.hits += a.Cached
	e.queried += a.Req.PromptTokens
	s.queue.Observe(t.admitted.Sub(t.arrival).Seconds())
}

func (s *sglang) preempted(_ int, r *engine.Request, t *timeline) {
	s.retractedInput.Add(float64(r.PromptTokens))
	s.retractedOutput.Add(float64(t.tokens))
}

func (s *sglang) prefilled(_ int, r *engine.Request, t *timeline) {
	s.prompt.Add(float64(r.PromptTokens))
	s.cached.Add(float64(min(t.cached, r.PromptTokens)))
}

func (s *sglang) stepped(i, tokens int, gap time.Duration, first bool) {
	s.generation.Add(float64(tokens))
	s.engines[i].windowTokens += tokens
	if first {
		s.ttft.Observe(gap.Seconds())
		return
	}
	s.decodeCount.Add(float64(tokens))
	s.itl.Observe(gap.Seconds())
}

func (s *sglang) ended(_ int, o *engine.Output, t *timeline) {
	s.requests.Inc()
	if o.End == engine.Cancelled {
		s.aborted.Inc()
	}
	if t != nil {
		s.retractions.Observe(float64(t.retracted))
	}
	if t != nil && o.End == engine.Completed {
		s.e2e.Observe(t.last.Sub(t.arrival).Seconds())
	}
}

func (s *sglang) began(i int, p *engine.Pass) {
	e := &s.engines[i]
	if e.queried > 0 { // a pass that admits nobody keeps the last rate
		e.hitRate.Set(float64(e.hits) / float64(e.queried))
		e.hits, e.queried = 0, 0
	}
	s.gauges(e, &p.After)
}

func (s *sglang) done(i int, p *engine.Pass) {
	e := &s.engines[i]
	if p.Forwards > 0 {
		e.acceptLength.Set(float64(p.Accepted) / float64(p.Forwards))
		if s.c.Drafts > 0 {
			e.acceptRate.Set(float64(p.Accepted-p.Forwards) / float64(p.Forwards*s.c.Drafts))
		}
	}
	e.decodeLengths.Set(float64(p.Decode.ActiveKV))
	s.prefillCompute.Add(float64(p.PromptTokens))
	if span := p.End.Sub(e.windowStart); span >= throughputWindow {
		e.throughput.Set(float64(e.windowTokens) / span.Seconds())
		e.windowStart, e.windowTokens = p.End, 0
	}
	s.gauges(e, &p.After)
}

func (s *sglang) gauges(e *sglangEngine, r *engine.RankState) {
	e.running.Set(float64(r.Running))
	e.queued.Set(float64(r.Waiting))
	used := r.ActiveBlocks + r.InactiveBlocks // SGLang counts what the tree keeps as used
	e.used.Set(float64(used * s.c.BlockSize))
	if r.TotalBlocks > 0 {
		e.usage.Set(float64(used) / float64(r.TotalBlocks))
	}
	e.ratio.Set(r.NewTokenRatio)
	e.retracted.Set(float64(r.Preemptions))
	if r.Preemptions > e.lastRetracted {
		e.retractions.Add(float64(r.Preemptions - e.lastRetracted))
		e.lastRetracted = r.Preemptions
	}
}
