package analytic

// The fitted constants of spec analytic-timing §2 and §2.1. Times are milliseconds; e, β and η are shares of a peak, at
// most 1.
const (
	kappa         = 4.5e-7 // per K of a matrix product
	quantLaunch   = 0.0013 // per activation quantisation pass
	smallKernel   = 0.003  // launch of a memory-bound kernel
	smallShare    = 0.8    // share of the bandwidth that it reaches
	fusedKernel   = 0.0033 // per extra kernel fused with attention
	quantNorm     = 1.2    // p of quantised matrix products
	reduceBytes   = 2e6    // half-way size of the all-reduce's protocol change
	expertA       = 2.0
	expertGamma   = 0.219
	expertAlpha   = 0.745
	mxfp4Share    = 0.9
	pipelineDelay = 0.01 // per hop of a pipeline
)

// gemmRow prices a matrix product: launch, compute and bandwidth efficiency, exponent of the blend.
type gemmRow struct{ t0, e, beta, p float64 }

// gemmConstants returns the row of a mode; false if the class has none of its own.
func gemmConstants(c class, m Mode) (gemmRow, bool) {
	if m == FP8Static {
		m = FP8
	}
	switch {
	case c == hopper && m == BF16:
		return gemmRow{.00331, .802, .901, 3.85}, true
	case c == hopper && m == FP8:
		return gemmRow{.00252, .667, .933, quantNorm}, true
	case c == hopper && m == FP8Block:
		return gemmRow{.00537, .643, .96, quantNorm}, true
	case c == blackwell && m == BF16:
		return gemmRow{.00282, .725, .897, 2.62}, true
	case c == blackwell && m == FP8:
		return gemmRow{.00243, .565, .861, quantNorm}, true
	case c == blackwell && m == FP8Block:
		return gemmRow{.0111, .687, 1, quantNorm}, true
	case c == blackwell && m == NVFP4:
		return gemmRow{.005, .558, 1, quantNorm}, true
	case c == ampere && m == BF16:
		return gemmRow{.00425, .833, .778, 1.65}, true
	case c == ada && m == BF16:
		return gemmRow{.00138, .592, .828, 2.99}, true
	case c == ada && (m == FP8 || m == NVFP4): // nvfp4 by analogy
		return gemmRow{0, .654, .785, quantNorm}, true
	case c == ada && m == FP8Block:
		return gemmRow{.298, .639, 1, quantNorm}, true
	}
	return gemmRow{}, false
}

// attentionRow prices attention: prefill launch, efficiency, length at which a prompt reaches half of it, cost per
// token of the longest span; decode launch, bandwidth share, cap with an fp8 cache in TB/s (0: none), cost per request.
type attentionRow struct{ t0, e, s, lambda, decodeT0, beta, cap8, v float64 }

func attentionConstants(c class) attentionRow {
	switch c {
	case hopper:
		return attentionRow{.0129, .688, 1200, 1.69e-6, .0128, .902, 2.67, 3.97e-5}
	case blackwell:
		return attentionRow{.00784, .692, 1850, 8.9e-6, .00927, .909, 6.61, 0}
	case ampere:
		return attentionRow{.0118, .59, 498, 1.22e-5, .0201, .728, 0, 3.33e-6}
	default:
		return attentionRow{.00809, .514, 411, 8.84e-6, .00947, .861, 0, 0}
	}
}

// mlaRow prices the MLA block: launch, efficiency, bandwidth share, cost per query; efficiency and half length of
// expanded prefill.
type mlaRow struct{ t0, e, beta, v, expandE, expandS float64 }

func mlaConstants(c class) mlaRow {
	if c == blackwell {
		return mlaRow{.0362, .808, .922, 8.13e-5, .962, 6480}
	}
	return mlaRow{.101, .696, 1, 1.25e-4, .873, 8220}
}

// expertRow prices grouped expert products; cap is the weight rate of mxfp4 in TB/s (0: none).
type expertRow struct{ t0, e, beta, cap float64 }

// expertConstants returns the row of a mode; false if the class has none of its own.
func expertConstants(c class, m Mode) (expertRow, bool) {
	if m == FP8 || m == FP8Static || m == NVFP4 && c == ada { // by analogy
		m = FP8Block
	}
	switch {
	case c == hopper && m == BF16:
		return expertRow{.027, .68, .883, 0}, true
	case c == hopper && m == FP8Block:
		return expertRow{.0288, .302, .917, 0}, true
	case c == hopper && m == MXFP4:
		return expertRow{.0445, .547, mxfp4Share, 2.66}, true
	case c == blackwell && m == BF16:
		return expertRow{.00953, .531, .869, 0}, true
	case c == blackwell && m == FP8Block:
		return expertRow{.024, .187, .891, 0}, true
	case c == blackwell && m == MXFP4:
		return expertRow{.0201, .271, mxfp4Share, 4.73}, true
	case c == blackwell && m == NVFP4:
		return expertRow{.0114, .568, .853, 0}, true
	case c == ampere && m == BF16:
		return expertRow{.0522, .481, .893, 0}, true
	case c == ada && m == BF16:
		return expertRow{0, .751, .817, 0}, true
	case c == ada && m == FP8Block:
		return expertRow{0, .408, .868, 0}, true
	case c == ada && m == MXFP4:
		return expertRow{.0272, .637, mxfp4Share, 0}, true
	}
	return expertRow{}, false
}

// linkRow prices communication: all-reduce launch, cost per doubling, bandwidth share and its slope, protocol step;
// gather launch and bandwidth share.
type linkRow struct{ t0, t1, eta0, eta1, step, gatherT0, gatherEta float64 }

func linkConstants(c class, kind linkKind) linkRow {
	var row linkRow
	switch c {
	case hopper:
		row = linkRow{.00298, .00101, .525, .0956, .00631, .00933, .565}
	case blackwell:
		row = linkRow{.0053, .000891, .483, .0898, .0201, .0128, .471}
	case ampere:
		row = linkRow{.00326, .00153, .587, 0, .00389, .0143, .503}
	case ada:
		row.gatherT0 = .0091
	}
	switch kind {
	case pcie:
		return linkRow{0, .00556, .744, -.146, 0, row.gatherT0, 0}
	case pcieHost:
		return linkRow{0, .00554, 0, 0, 0, .0091, 0}
	case nvlink:
	}
	return row
}
