package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fakellm/engine"
)

// Config names what the metrics describe.
type Config struct {
	// Model is the value of the label model_name.
	Model string
	// Ranks is the number of ranks per worker, at least 1; schedulers are numbered worker*Ranks + rank.
	Ranks, Workers int
	// BlockSize is the size of a KV block in tokens, Blocks their number per rank.
	BlockSize, Blocks int
	// MaxModelLen ends the buckets of lengths, in tokens.
	MaxModelLen int
	// Cache is shown by vllm:cache_config_info, as labels.
	Cache map[string]string
	// Drafts is the number of draft tokens per pass; 0 for no speculative decoding.
	Drafts int
	// MaxNumSeqs and MaxNumBatchedTokens are the limits of a rank, shown as they are.
	MaxNumSeqs, MaxNumBatchedTokens int
	// Disconnected counts the clients that left early; it is called from any goroutine. Nil: not shown.
	Disconnected func() int64
}

// engines is the number of schedulers.
func (c Config) engines() int { return max(1, c.Ranks*c.Workers) }

// vllm is the v1 metric set of vLLM (spec openai-endpoint §3.3).
type vllm struct {
	c       Config
	engines []vllmEngine
	// lastPreempted is per engine: RankState counts since the start, a counter wants the difference.
	lastPreempted []uint64
}

// vllmEngine holds the children of one value of the label engine, so that no label is looked up on the token path.
type vllmEngine struct {
	running, waiting, capacity, deferred, kvUsage, gpuUsage prometheus.Gauge

	queries, hits, gpuQueries, gpuHits, preemptions, prompt, promptCached, generation prometheus.Counter
	local, localHit, external                                                         prometheus.Counter
	drafts, draftTokens, accepted                                                     prometheus.Counter
	acceptedAt                                                                        []prometheus.Counter
	success                                                                           *prometheus.CounterVec

	iteration, ttft, itl, tpotOld, tpot, e2e, queue, inference, prefill, decode prometheus.Observer
	promptLen, generationLen, maxGeneration, paramMax, paramN, computed         prometheus.Observer

	// tokens is what the pass at hand counts for iteration.
	tokens int
}

// NewVLLM registers vLLM's set and returns the sink that feeds it.
func NewVLLM(reg prometheus.Registerer, c Config) engine.Sink {
	v := &vllm{c: c}
	d := vllmDefinitions(reg, c)
	for i := range c.engines() {
		v.engines = append(v.engines, d.engine(c, strconv.Itoa(i)))
	}
	v.lastPreempted = make([]uint64, len(v.engines))
	return newSink(v, c.Ranks)
}

func (v *vllm) admitted(i int, a engine.Admission, t *timeline) {
	e := &v.engines[i]
	n, hit := float64(a.Req.PromptTokens), float64(a.Cached)
	e.queries.Add(n)
	e.gpuQueries.Add(n)
	e.hits.Add(hit)
	e.gpuHits.Add(hit)
	e.queue.Observe(t.admitted.Sub(t.arrival).Seconds())
}

func (v *vllm) preempted(int, *engine.Request, *timeline) {} // RankState counts them

func (v *vllm) prefilled(i int, r *engine.Request, t *timeline) {
	e, hit := &v.engines[i], min(t.cached, r.PromptTokens)
	e.tokens += r.PromptTokens
	e.prompt.Add(float64(r.PromptTokens))
	e.promptCached.Add(float64(hit))
	e.local.Add(float64(r.PromptTokens - hit))
	e.localHit.Add(float64(hit))
}

// stepped counts the tokens of a burst as one step of latency, as vLLM does: they arrive at once.
func (v *vllm) stepped(i, tokens int, gap time.Duration, first bool) {
	e := &v.engines[i]
	e.tokens += tokens
	e.generation.Add(float64(tokens))
	if first {
		e.ttft.Observe(gap.Seconds())
		return
	}
	e.itl.Observe(gap.Seconds())
	e.tpotOld.Observe(gap.Seconds())
}

func (v *vllm) ended(i int, o *engine.Output, t *timeline) {
	e := &v.engines[i]
	if t != nil && o.End == engine.Completed {
		e.finish(o.Req, t)
	}
	e.success.WithLabelValues(finished(o)).Inc()
}

func (v *vllm) began(i int, p *engine.Pass) { v.gauges(i, &p.After) }

func (v *vllm) done(i int, p *engine.Pass) {
	e := &v.engines[i]
	if e.tokens > 0 {
		e.iteration.Observe(float64(e.tokens))
		e.tokens = 0
	}
	if v.c.Drafts > 0 && p.Forwards > 0 {
		e.drafts.Add(float64(p.Forwards))
		e.draftTokens.Add(float64(p.Forwards * v.c.Drafts))
		e.accepted.Add(float64(p.Accepted - p.Forwards))
		for at, c := range e.acceptedAt {
			c.Add(float64(p.AcceptedAt[at]))
		}
	}
	v.gauges(i, &p.After)
}

func (e *vllmEngine) finish(r *engine.Request, t *timeline) {
	e.e2e.Observe(t.last.Sub(t.arrival).Seconds())
	e.inference.Observe(t.last.Sub(t.admitted).Seconds())
	e.prefill.Observe(t.first.Sub(t.admitted).Seconds())
	e.decode.Observe(t.last.Sub(t.first).Seconds())
	if t.tokens > 1 {
		e.tpot.Observe(t.last.Sub(t.first).Seconds() / float64(t.tokens-1))
	}
	e.promptLen.Observe(float64(r.PromptTokens))
	e.generationLen.Observe(float64(t.tokens))
	e.maxGeneration.Observe(float64(t.tokens))
	e.computed.Observe(float64(r.PromptTokens - min(t.cached, r.PromptTokens)))
	e.paramN.Observe(float64(max(1, r.Choices)))
	if r.ClientMaxTokens > 0 {
		e.paramMax.Observe(float64(r.ClientMaxTokens))
	}
}

func (v *vllm) gauges(i int, s *engine.RankState) {
	e := &v.engines[i]
	e.running.Set(float64(s.Running))
	e.waiting.Set(float64(s.Waiting))
	e.capacity.Set(float64(s.Waiting))
	if s.TotalBlocks > 0 {
		u := float64(s.ActiveBlocks) / float64(s.TotalBlocks)
		e.kvUsage.Set(u)
		e.gpuUsage.Set(u)
	}
	if last := v.lastPreempted[i]; s.Preemptions > last {
		e.preemptions.Add(float64(s.Preemptions - last))
		v.lastPreempted[i] = s.Preemptions
	}
}
