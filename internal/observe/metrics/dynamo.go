package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fakellm/engine"
)

// dynamo is the set of Dynamo's front end (spec openai-endpoint §3.5) as far as the engine knows it: what it counts as
// requests are those that reached a worker.
type dynamo struct {
	inflight, queued                  prometheus.Gauge
	outputTokens, cancelled, rejected prometheus.Counter
	duration, ttft, itl               prometheus.Observer
	inputLength, outputLength, cached prometheus.Observer
	running, waiting                  []int
	sumRunning, sumWaiting            int
	success, failed, stopped          prometheus.Counter
}

// NewDynamo registers the front end's set and returns the sink that feeds it.
func NewDynamo(reg prometheus.Registerer, c Config) engine.Sink {
	label := prometheus.Labels{"model": c.Model}
	counter := func(name, help string) prometheus.Counter {
		return register(reg, prometheus.NewCounter(prometheus.CounterOpts{Name: "dynamo_frontend_" + name, Help: help, ConstLabels: label}))
	}
	gauge := func(name, help string) prometheus.Gauge {
		return register(reg, prometheus.NewGauge(prometheus.GaugeOpts{Name: "dynamo_frontend_" + name, Help: help, ConstLabels: label}))
	}
	histogram := func(name, help string, buckets []float64) prometheus.Observer {
		return register(reg, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dynamo_frontend_" + name, Help: help, ConstLabels: label, Buckets: buckets,
		}))
	}
	lengths := lengthBuckets(c.MaxModelLen)
	requests := register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dynamo_frontend_requests_total", Help: "Requests that ended, by status.", ConstLabels: label,
	}, []string{"status"}))
	d := &dynamo{
		success: requests.WithLabelValues("success"), failed: requests.WithLabelValues("error"),
		stopped:      requests.WithLabelValues("cancelled"),
		inflight:     gauge("inflight_requests", "Requests that have not ended."),
		queued:       gauge("queued_requests", "Requests in the workers' queues."),
		outputTokens: counter("output_tokens_total", "Tokens generated."),
		cancelled:    counter("model_cancellation_total", "Requests that were cancelled."),
		rejected:     counter("model_rejection_total", "Requests that no worker can ever run."),
		duration:     histogram("request_duration_seconds", "From arrival to last token.", dynamoDurationBuckets()),
		ttft:         histogram("time_to_first_token_seconds", "From arrival to first token.", dynamoTTFTBuckets()),
		itl:          histogram("inter_token_latency_seconds", "Between two tokens of a request.", dynamoITLBuckets()),
		inputLength:  histogram("input_sequence_tokens", "Prompt tokens per request.", lengths),
		outputLength: histogram("output_sequence_tokens", "Generated tokens per finished request.", lengths),
		cached:       histogram("cached_tokens", "Prompt tokens reused from the cache, per request.", lengths),
		running:      make([]int, c.engines()), waiting: make([]int, c.engines()),
	}
	counter("model_migration_total", "Requests that moved to another worker: none ever do.")
	for _, v := range []struct {
		name, help string
		value      int
	}{
		{"model_context_length", "Longest prompt plus output in tokens.", c.MaxModelLen},
		{"model_kv_cache_block_size", "Tokens per KV block.", c.BlockSize},
		{"model_total_kv_blocks", "KV blocks per rank.", c.Blocks},
		{"model_max_num_seqs", "Most requests running at once per rank.", c.MaxNumSeqs},
		{"model_max_num_batched_tokens", "Token budget of a pass.", c.MaxNumBatchedTokens},
	} {
		gauge(v.name, v.help).Set(float64(v.value))
	}
	if c.Disconnected != nil {
		register(reg, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "dynamo_frontend_disconnected_clients", Help: "Clients that left before the end, so far.", ConstLabels: label,
		}, func() float64 { return float64(c.Disconnected()) }))
	}
	return newSink(d, c.Ranks)
}

func (d *dynamo) admitted(_ int, a engine.Admission, _ *timeline) {
	d.inputLength.Observe(float64(a.Req.PromptTokens))
	d.cached.Observe(float64(min(a.Cached, a.Req.PromptTokens)))
}

func (d *dynamo) preempted(int, *engine.Request, *timeline) {}
func (d *dynamo) prefilled(int, *engine.Request, *timeline) {}

func (d *dynamo) stepped(_, tokens int, gap time.Duration, first bool) {
	d.outputTokens.Add(float64(tokens))
	if first {
		d.ttft.Observe(gap.Seconds())
		return
	}
	d.itl.Observe(gap.Seconds())
}

func (d *dynamo) ended(_ int, o *engine.Output, t *timeline) {
	switch o.End {
	case engine.Completed:
		d.success.Inc()
		if t != nil {
			d.duration.Observe(t.last.Sub(t.arrival).Seconds())
			d.outputLength.Observe(float64(t.tokens))
		}
	case engine.Cancelled:
		d.stopped.Inc()
		d.cancelled.Inc()
	case engine.Rejected:
		d.failed.Inc()
		d.rejected.Inc()
	case engine.Failed, engine.Running:
		d.failed.Inc()
	}
}

func (d *dynamo) began(i int, p *engine.Pass) { d.gauges(i, &p.After) }
func (d *dynamo) done(i int, p *engine.Pass)  { d.gauges(i, &p.After) }

func (d *dynamo) gauges(i int, r *engine.RankState) {
	d.sumRunning += r.Running - d.running[i]
	d.sumWaiting += r.Waiting - d.waiting[i]
	d.running[i], d.waiting[i] = r.Running, r.Waiting
	d.inflight.Set(float64(d.sumRunning + d.sumWaiting))
	d.queued.Set(float64(d.sumWaiting))
}
