package engine

import (
	"errors"
	"math"
	"sort"
	"time"
)

// fixedModel takes the same time for every batch.
type fixedModel struct{ prefill, decode time.Duration }

func (m fixedModel) Prefill(PrefillBatch) (time.Duration, error) { return m.prefill, nil }
func (m fixedModel) Decode(DecodeBatch) (time.Duration, error)   { return m.decode, nil }

// polyModel is the reference's polynomial (spec engine-core §6.2) under a speed-up (§6.5).
type polyModel struct{ speedup, decodeSpeedup float64 }

func (m polyModel) Prefill(b PrefillBatch) (time.Duration, error) {
	t := float64(b.Requests * b.New())
	x := float64(4.209989e-07*float64(t*t)) + float64(1.518344e-02*t)
	return scaled(float64(x)+1.650142e+01, m.speedup), nil
}

func (m polyModel) Decode(b DecodeBatch) (time.Duration, error) {
	u := min(1, float64(b.ActiveKV)/float64(b.TotalKV))
	x := float64(-25.74*float64(u*u)) + float64(54.01*u)
	return scaled(max(1, float64(x)+5.74), m.speedup*m.decodeSpeedup), nil
}

func scaled(ms, ratio float64) time.Duration {
	d := nanos(ms / 1000)
	if ratio > 0 && d > 0 {
		d = nanos(float64(d) / 1e9 / ratio)
	}
	return d
}

// nanos rounds seconds to the nearest nanosecond, ties of the exact product to even (spec engine-core §6.5).
func nanos(q float64) time.Duration {
	p := float64(q * 1e9)
	whole := math.Floor(p)
	rest := math.FMA(q, 1e9, -p)
	if f := p - whole; f > 0.5 || f == 0.5 && (rest > 0 || rest == 0 && int64(whole)%2 == 1) {
		whole++
	}
	return time.Duration(whole)
}

// arrival is a request and when it comes, or the cancellation of one, or (neither) a reset of the prefix cache.
type arrival struct {
	at     Time
	req    *Request
	cancel *Request
}

// record is what the world heard of one request.
type record struct {
	admit, first, last, end Time
	reused, tokens, admits  int
	how                     End
	why                     *Refusal
}

// world drives the ranks of one worker: the barrier and the cadence of spec engine-core §7, nothing more.
type world struct {
	cores    []core
	interval int
	runs     bool
	records  map[*Request]*record
	// heard, if set, is told every pass that did something; a run is told pass by pass.
	heard     func(rank int, start, end Time, p *Pass)
	countdown int
	now       Time
	rounds    int
	// closed, if set, is told a request that ended, and may return its successor, which arrives at once.
	closed  func(*Request) *Request
	backlog []arrival
	err     error
}

func newWorld(cfg Config, model StepModel, build func(Config, int, StepModel) core) *world {
	w := &world{interval: cfg.PrefillDecodeInterval, runs: cfg.Runs, records: map[*Request]*record{}}
	for r := range max(1, cfg.DPSize) {
		w.cores = append(w.cores, build(cfg.perRank(), r, model))
	}
	return w
}

// play submits the arrivals in order and runs until nothing is left. Ranks other than AnyRank are honoured.
func (w *world) play(arrivals []arrival) {
	sort.SliceStable(arrivals, func(i, j int) bool { return arrivals[i].at < arrivals[j].at })
	w.backlog = arrivals
	for w.err == nil {
		for len(w.backlog) > 0 && w.backlog[0].at <= w.now {
			w.submit(w.backlog[0])
			w.backlog = w.backlog[1:]
		}
		switch {
		case w.busy():
			w.round()
		case w.countdown > 0:
			w.countdown = 0
			w.settle(false, true)
		case len(w.backlog) == 0:
			return
		default:
			w.now = w.backlog[0].at
		}
	}
}

func (w *world) submit(a arrival) {
	switch {
	case a.req != nil:
		w.records[a.req] = &record{admit: -1, first: -1, last: -1}
		w.cores[max(0, a.req.Rank)].submit(a.req)
	case a.cancel != nil:
		if w.cores[max(0, a.cancel.Rank)].cancel(a.cancel.ID) {
			w.output(Output{Req: a.cancel, End: Cancelled})
		}
	default:
		for _, c := range w.cores {
			c.resetPrefixCache()
		}
	}
}

func (w *world) busy() bool {
	for _, c := range w.cores {
		if c.ready() {
			return true
		}
	}
	return false
}

func (w *world) settle(worked, deferred bool) {
	for _, c := range w.cores {
		c.settle(worked, deferred)
	}
}

// round runs one group pass, or a run of a lone rank.
func (w *world) round() {
	if w.runs && len(w.cores) == 1 && w.run() {
		return
	}
	deferred := w.countdown > 0
	var passes []*Pass
	var total verdict
	end, worked := w.now, false
	for _, c := range w.cores {
		if !c.ready() {
			passes = append(passes, nil)
			continue
		}
		p := &Pass{Start: w.now}
		v, err := c.pass(p, turn{deferPrefill: deferred})
		if err != nil {
			w.err = err
			return
		}
		total.effect = total.effect || v.effect
		total.retry = total.retry || v.retry
		total.prefilled = total.prefilled || v.prefilled
		worked = worked || p.ScheduledTokens > 0
		end = max(end, w.now.Add(p.PrefillTime+p.DecodeTime))
		passes = append(passes, p)
	}
	w.settle(worked, deferred)
	switch {
	case total.prefilled:
		w.countdown = w.interval
	case deferred:
		w.countdown--
	}
	start := w.now
	w.now = end
	for rank, p := range passes {
		if p != nil {
			w.hear(rank, start, p)
		}
	}
	if total.effect || end > start {
		if w.rounds++; w.rounds > 50_000 {
			w.err = errors.New("this load never ends")
		}
		return
	}
	if total.retry || deferred { // both run out
		return
	}
	for _, c := range w.cores {
		if out, ok := c.stuck(); ok {
			w.output(out)
			return
		}
	}
	panic("world: nothing moves and nothing is stuck")
}

func (w *world) hear(rank int, start Time, p *Pass) {
	if w.heard != nil && (len(p.Outputs)+len(p.Admitted)+len(p.Preempted)+len(p.Events) > 0 || p.ScheduledTokens > 0) {
		w.heard(rank, start, w.now, p)
	}
	for _, a := range p.Admitted {
		r := w.records[a.Req]
		if r.admits++; r.admits == 1 {
			r.admit = start
		}
		r.reused = max(r.reused, a.Cached) // as the reference's report does
	}
	for _, o := range p.Outputs {
		w.output(o)
	}
}

func (w *world) output(o Output) {
	r := w.records[o.Req]
	if o.Tokens > 0 {
		if r.tokens += o.Tokens; r.first < 0 {
			r.first = w.now
		}
		r.last = w.now
	}
	if o.End == Running {
		return
	}
	r.end, r.how, r.why = w.now, o.End, o.Why
	if w.closed != nil {
		if next := w.closed(o.Req); next != nil {
			w.backlog = append(w.backlog, arrival{at: w.now, req: next}) // a closed loop has no others
		}
	}
}

// run advances steady decode in bulk; false if the core sees none.
func (w *world) run() bool {
	c := w.cores[0]
	ends, err := c.run(w.now, nil, 64)
	if err != nil || len(ends) == 0 {
		w.err = err
		return false
	}
	n := len(ends)
	for _, a := range w.backlog {
		if a.at > ends[n-1] {
			break
		}
		if a.req == nil || !c.holds(a.req) {
			n = min(n, 1+sort.Search(len(ends), func(i int) bool { return ends[i] >= a.at }))
			break
		}
	}
	r := &Run{Start: w.now, Ends: ends[:n]}
	c.commit(n, r)
	for i, end := range r.Ends {
		start := w.now
		w.now = end
		p := &Pass{ScheduledTokens: len(r.Requests)}
		for _, q := range r.Requests {
			p.Outputs = append(p.Outputs, Output{Req: q, Tokens: 1})
		}
		if i == n-1 {
			for _, o := range r.Outputs {
				for j := range p.Outputs {
					if p.Outputs[j].Req == o.Req {
						p.Outputs[j].End = o.End
					}
				}
			}
		}
		w.rounds++
		w.hear(0, start, p)
	}
	return true
}
