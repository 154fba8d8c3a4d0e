package analytic

import (
	"fmt"
	"math"
)

// gemm is a matrix product with everything precomputed that does not depend on the number of tokens:
//
//	t0 + κ·K + (C^p + M^p)^(1/p) + a·(tq + 3TK/(0.8·W)),  C = 2TNK/(e·F),  M = (N·K·w + T·K·x + 2TN)/(β·W)
//
// with T tokens, K by N weights of w bytes, x bytes of activation and a quantisation passes (spec analytic-timing
// §2.2).
type gemm struct {
	t0, fixed, perToken    float64 // launch; κ·K and quantisation
	compute, weights, move float64 // C per token, M of the weights, M per token
	p, inverse             float64
	flops, bytes           float64 // per token at peak, of the weights at full bandwidth: for floors
}

// newGEMM prepares a K by N product in mode m; passes counts activation quantisation passes.
func newGEMM(g *GPU, m Mode, k, n, passes float64) (gemm, error) {
	row, own := gemmConstants(g.class, m)
	peak, err := g.peak(m, own)
	if err != nil {
		return gemm{}, err
	}
	activation := m.weightBytes()
	if !own { // weights are expanded to 16 bits on the way: the constants of bf16 and no quantised activation
		row, _ = gemmConstants(g.class, BF16)
		activation, passes = 2, 0
	}
	w, small := g.hbm(), smallShare*g.hbm()
	return gemm{
		t0:       row.t0,
		fixed:    kappa*k + passes*quantLaunch,
		perToken: passes * 3 * k / small,
		compute:  2 * n * k / (row.e * g.derate * peak),
		weights:  n * k * m.weightBytes() / (row.beta * w),
		move:     (k*activation + 2*n) / (row.beta * w),
		p:        row.p,
		inverse:  1 / row.p,
		flops:    2 * n * k / peak,
		bytes:    n * k * m.weightBytes() / w,
	}, nil
}

// ms is the time for t tokens in milliseconds, launch included.
func (g *gemm) ms(t float64) float64 { return g.t0 + g.body(t) }

// body is ms without the launch.
func (g *gemm) body(t float64) float64 {
	c, m := g.compute*t, g.weights+g.move*t
	hi, lo := max(c, m), min(c, m)
	// (C^p + M^p)^(1/p) with the larger one taken out, which saves a power.
	return g.fixed + g.perToken*t + hi*math.Pow(1+math.Pow(lo/hi, g.p), g.inverse)
}

// peak returns the peak of a mode in FLOP per millisecond. Modes that only store weights, and modes without constants
// of their own on this class, compute in bf16. A mode whose peak the GPU lacks is an error.
func (g *GPU) peak(m Mode, own bool) (float64, error) {
	tflops := g.BF16
	switch {
	case m == NVFP4:
		if tflops = g.FP4; tflops == 0 {
			return 0, fmt.Errorf("mode %s: %s has no 4-bit peak", m, g.Name)
		}
	case (m == FP8 || m == FP8Static || m == FP8Block) && own:
		if tflops = g.FP8; tflops == 0 {
			return 0, fmt.Errorf("mode %s: %s has no 8-bit peak", m, g.Name)
		}
	}
	return tflops * 1e9, nil
}

// small is the time of a memory-bound kernel that moves b bytes: 0.003 + b/(0.8·W) (spec analytic-timing §2.1).
func (g *GPU) small(b float64) float64 { return smallKernel + b/(smallShare*g.hbm()) }
