package analytic

import "math"

// experts prices the routed experts of one rank (spec analytic-timing §2.6): the hottest rank's token-expert pairs, the
// weights that skewed routing touches, compute and weights added, as grouped kernels measure.
type experts struct {
	t0                        float64
	total, topk, local, ep    float64
	dp                        float64
	hot                       float64 // hot-rank factor
	perPair                   float64 // compute and activation traffic per token-expert pair, ms
	perExpert                 float64 // reading one expert's weights, ms
	floorFLOPs, floorExpertMS float64
}

func newExperts(g *GPU, f *Facts, m Mode, moeTP, moeEP, dp float64) (experts, error) {
	row, own := expertConstants(g.class, m)
	peak, err := g.peak(m, own)
	if err != nil {
		return experts{}, err
	}
	if !own {
		row, _ = expertConstants(g.class, BF16)
	}
	h, inner := float64(f.Hidden), float64(f.MoEIntermediate)/moeTP
	rate := row.beta * g.hbm()
	if row.cap > 0 {
		rate = min(rate, row.cap*1e9)
	}
	local := float64(f.Experts) / moeEP
	return experts{
		t0: row.t0, total: float64(f.Experts), topk: float64(f.TopK), local: local, ep: moeEP, dp: dp,
		hot:           1 + expertA*(1-1/moeEP)*math.Pow(8/local, expertGamma),
		perPair:       6*h*inner/(row.e*g.derate*peak) + 2*(2*h+3*inner)/(smallShare*g.hbm()),
		perExpert:     3 * h * inner * m.weightBytes() / rate,
		floorFLOPs:    6 * h * inner / peak,
		floorExpertMS: 3 * h * inner * m.weightBytes() / g.hbm(),
	}, nil
}

// ms is one layer's time for t tokens of this rank.
func (x *experts) ms(t float64) float64 {
	tokens := t * x.dp
	most := tokens * min(x.topk, x.local)
	pairs := min(tokens*x.topk/x.ep*x.hot, most)
	mean := x.local * (1 - math.Pow(1-x.topk/x.total, 1+expertAlpha*(tokens-1)))
	spread := math.Sqrt(max(0, 2*math.Log(x.ep)*mean*(1-mean/x.local)))
	touched := min(mean+spread, x.local, most)
	return x.t0 + pairs*x.perPair + touched*x.perExpert
}
