package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fakellm/engine"
)

// trtllm is TensorRT-LLM's set (spec openai-endpoint §3.5), summed over all ranks.
type trtllm struct {
	success                   *prometheus.CounterVec
	e2e, ttft, tpot, queue    prometheus.Observer
	hitRate, utilization      prometheus.Gauge
	hits, queried             float64
	active, total             []int
	sumActive, sumTotalBlocks int
}

// NewTRTLLM registers TensorRT-LLM's set and returns the sink that feeds it.
func NewTRTLLM(reg prometheus.Registerer, c Config) engine.Sink {
	labels := prometheus.Labels{"model_name": c.Model, "engine_type": "trtllm"}
	histogram := func(name, help string, buckets []float64) prometheus.Observer {
		return register(reg, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "trtllm_" + name, Help: help, ConstLabels: labels, Buckets: buckets,
		}))
	}
	gauge := func(name, help string) prometheus.Gauge {
		return register(reg, prometheus.NewGauge(prometheus.GaugeOpts{Name: "trtllm_" + name, Help: help, ConstLabels: labels}))
	}
	s := &trtllm{
		success: register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trtllm_request_success_total", Help: "Requests that ended, by reason.", ConstLabels: labels,
		}, []string{"finished_reason"})),
		e2e:         histogram("e2e_request_latency_seconds", "From arrival to last token.", latencyBuckets()),
		ttft:        histogram("time_to_first_token_seconds", "From arrival to first token.", ttftBuckets()),
		tpot:        histogram("time_per_output_token_seconds", "Mean time per output token after the first, per request.", itlBuckets()),
		queue:       histogram("request_queue_time_seconds", "From arrival to first admission.", latencyBuckets()),
		hitRate:     gauge("kv_cache_hit_rate", "Share of the prompts found in the cache so far."),
		utilization: gauge("kv_cache_utilization", "Share of KV blocks held by requests."),
		active:      make([]int, c.engines()),
		total:       make([]int, c.engines()),
	}
	return newSink(s, c.Ranks)
}

func (s *trtllm) admitted(_ int, a engine.Admission, t *timeline) {
	s.hits += float64(a.Cached)
	s.queried += float64(a.Req.PromptTokens)
	if s.queried > 0 {
		s.hitRate.Set(s.hits / s.queried)
	}
	s.queue.Observe(t.admitted.Sub(t.arrival).Seconds())
}

func (s *trtllm) preempted(int, *engine.Request, *timeline) {}
func (s *trtllm) prefilled(int, *engine.Request, *timeline) {}

func (s *trtllm) stepped(_, _ int, gap time.Duration, first bool) {
	if first {
		s.ttft.Observe(gap.Seconds())
	}
}

func (s *trtllm) ended(_ int, o *engine.Output, t *timeline) {
	s.success.WithLabelValues(finished(o)).Inc()
	if t == nil || o.End != engine.Completed {
		return
	}
	s.e2e.Observe(t.last.Sub(t.arrival).Seconds())
	if t.tokens > 1 {
		s.tpot.Observe(t.last.Sub(t.first).Seconds() / float64(t.tokens-1))
	}
}

func (s *trtllm) began(i int, p *engine.Pass) { s.gauges(i, &p.After) }
func (s *trtllm) done(i int, p *engine.Pass)  { s.gauges(i, &p.After) }

func (s *trtllm) gauges(i int, r *engine.RankState) {
	s.sumActive += r.ActiveBlocks - s.active[i]
	s.sumTotalBlocks += r.TotalBlocks - s.total[i]
	s.active[i], s.total[i] = r.ActiveBlocks, r.TotalBlocks
	if s.sumTotalBlocks > 0 {
		s.utilization.Set(float64(s.sumActive) / float64(s.sumTotalBlocks))
	}
}
