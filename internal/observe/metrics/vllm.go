package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"fakellm/engine"
)

// Config names what the metrics describe.
type Config struct {
	// Model is the value of the label model_name.
	Model string
	// Ranks is the number of ranks per worker; the label engine is worker*Ranks + rank, the scheduler's number.
	Ranks, Workers int
	// MaxModelLen ends the buckets of lengths, in tokens.
	MaxModelLen int
	// Cache is shown by vllm:cache_config_info, as labels.
	Cache map[string]string
	// Speculative adds the metrics of speculative decoding; Drafts is the number of draft tokens per pass.
	Speculative bool
	Drafts      int
}

// VLLM is the v1 metric set of vLLM (spec openai-endpoint §3.3). It implements engine.Sink.
type VLLM struct {
	c       Config
	book    book
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
	success                                                                           *prometheus.CounterVec

	iteration, ttft, itl, tpotOld, tpot, e2e, queue, inference, prefill, decode prometheus.Observer
	promptLen, generationLen, maxGeneration, paramMax, paramN, computed         prometheus.Observer
}

var _ engine.Sink = (*VLLM)(nil)

// NewVLLM registers the set and returns it.
func NewVLLM(reg prometheus.Registerer, c Config) *VLLM {
	v := &VLLM{c: c, book: newBook()}
	d := vllmDefinitions(reg, c)
	for i := range max(1, c.Ranks*c.Workers) {
		v.engines = append(v.engines, d.engine(c, strconv.Itoa(i)))
	}
	v.lastPreempted = make([]uint64, len(v.engines))
	return v
}

func (v *VLLM) at(worker, rank int) (*vllmEngine, int) {
	i := worker*v.c.Ranks + rank
	return &v.engines[i], i
}

// Began counts admissions and refreshes the gauges.
func (v *VLLM) Began(p *engine.Pass) {
	e, i := v.at(p.Worker, p.Rank)
	for _, a := range p.Admitted {
		if t, first := v.book.admit(a, p.Start); first {
			n, hit := float64(a.Req.PromptTokens), float64(a.Cached)
			e.queries.Add(n)
			e.gpuQueries.Add(n)
			e.hits.Add(hit)
			e.gpuHits.Add(hit)
			e.queue.Observe(t.admitted.Sub(t.arrival).Seconds())
		}
	}
	v.gauges(e, i, &p.After)
}

// Ended counts tokens and ends and refreshes the gauges.
func (v *VLLM) Ended(p *engine.Pass) {
	e, i := v.at(p.Worker, p.Rank)
	if p.ScheduledTokens > 0 {
		e.iteration.Observe(float64(p.ScheduledTokens))
	}
	for k := range p.Outputs {
		v.output(e, &p.Outputs[k], p.End)
	}
	if v.c.Speculative && p.Forwards > 0 {
		e.drafts.Add(float64(p.Forwards))
		e.draftTokens.Add(float64(p.Forwards * v.c.Drafts))
		e.accepted.Add(float64(p.Accepted - p.Forwards))
	}
	v.gauges(e, i, &p.After)
}

// Left counts a request that ended between passes.
func (v *VLLM) Left(d engine.Departure) {
	e, _ := v.at(d.Worker, d.Rank)
	v.output(e, &d.Output, d.At)
}

func (v *VLLM) output(e *vllmEngine, o *engine.Output, at engine.Time) {
	t := v.book.live[o.Req]
	if o.Tokens > 0 && t != nil {
		e.generation.Add(float64(o.Tokens))
		gap, first := t.gap(at, o.Tokens)
		if first {
			e.ttft.Observe(gap.Seconds())
			e.promptDone(o.Req, t)
		} else { // the tokens of a burst arrive at once and count as one step, as vLLM counts them
			e.itl.Observe(gap.Seconds())
			e.tpotOld.Observe(gap.Seconds())
		}
	}
	if o.End == engine.Running {
		return
	}
	if t != nil && o.End == engine.Completed {
		if !t.seenFirst { // an answer of no tokens: its prompt was computed all the same
			e.promptDone(o.Req, t)
			t.first, t.last = at, at
		}
		e.finish(o.Req, t)
	}
	e.success.WithLabelValues(finished(o)).Inc()
	v.book.forget(o.Req)
}

func (e *vllmEngine) promptDone(r *engine.Request, t *timeline) {
	hit := min(t.cached, r.PromptTokens)
	e.prompt.Add(float64(r.PromptTokens))
	e.promptCached.Add(float64(hit))
	e.local.Add(float64(r.PromptTokens - hit))
	e.localHit.Add(float64(hit))
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

func (v *VLLM) gauges(e *vllmEngine, i int, s *engine.RankState) {
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
