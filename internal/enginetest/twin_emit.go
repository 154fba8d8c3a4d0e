package enginetest

import (
	"math"
	"slices"

	"fakellm/engine"
)

// emit hands out the tokens of the pass (spec §2.7, §8).
func (x *twinPass) emit() {
	for _, s := range slices.Clone(x.running) {
		if s.computed == s.length && x.remaining(s) == 0 {
			x.finish(s)
			x.p.Outputs = append(x.p.Outputs, engine.Output{Req: s.req, Cached: s.cached, End: engine.Completed})
		}
	}
	ready := x.ready()
	if x.mtp() {
		for {
			need := 0
			for _, s := range ready {
				need += x.blocks(s.length+min(x.width(), x.remaining(s))) - x.blocks(s.length)
			}
			spare, removed, ok := x.pool.allocate(nil, need)
			if ok {
				x.removed(removed)
				for _, id := range spare {
					x.pool.release(id)
				}
				break
			}
			if x.trt() || len(x.running) == 0 {
				return
			}
			x.evict(false)
			ready = x.ready()
		}
	}
	var charged []*twinSeq
	bursts := map[*twinSeq]int{}
	for _, s := range ready {
		prompted := s.scheduled != nil && s.scheduled.prompt > 0
		if x.mtp() || !prompted || s.length > s.prompt() || x.cfg.WorkerType != engine.Aggregated {
			charged = append(charged, s)
		}
		bursts[s] = 1
		if x.mtp() && x.width() > 1 {
			bursts[s] = x.draw()
		}
		if !prompted {
			x.p.Accepted += bursts[s]
			x.p.Forwards++
		}
	}
	x.decodeTime(x.p, charged)
	for _, s := range ready {
		n := min(bursts[s], x.remaining(s))
		for range n {
			if x.mtp() {
				s.computed = s.length
				x.publish(s)
			}
			s.length++
			if x.mtp() && !x.cover(s, s.length, nil) {
				panic("twin: a reserved block is missing")
			}
		}
		s.computed = s.length - 1
		out := engine.Output{Req: s.req, Tokens: n, Cached: s.cached}
		if x.remaining(s) == 0 {
			x.finish(s)
			out.End = engine.Completed
		}
		x.p.Outputs = append(x.p.Outputs, out)
	}
}

func (x *twinPass) ready() (ready []*twinSeq) {
	for _, s := range x.running {
		if s.computed == s.length {
			ready = append(ready, s)
		}
	}
	return ready
}

func (x *twinPass) finish(s *twinSeq) {
	x.release(s)
	x.running = slices.DeleteFunc(x.running, func(o *twinSeq) bool { return o == s })
}

// draw is the acceptance of one burst.
func (x *twinPass) draw() int {
	rates := slices.Concat(x.cfg.AcceptRates, []float64{0, 0, 0, 0, 0})
	if len(x.cfg.AcceptRates) == 0 {
		rates = []float64{0.85, 0.3, 0, 0, 0}
	}
	n := 1
	for _, rate := range rates[:x.cfg.NumSpeculativeTokens] {
		if rate < 1 && x.dice.Uint64() >= uint64(math.Floor(rate*(1<<64))) {
			break
		}
		n++
	}
	return n
}
