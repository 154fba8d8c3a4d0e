// Package analytic prices passes from public facts alone: a roofline model over a GPU's peaks and a model's
// config.json. It needs no data file. Its constants were fitted to operator measurements of 2026 serving engines; spec
// analytic-timing.md has the formulas, the constants and how close they come (ratio to the measured tables: median
// 1.01, p10–p90 .92–1.11).
//
// A pass is a sum of operator groups: small memory-bound kernels, matrix products, prefill and decode attention (or the
// MLA block), experts, communication. Every efficiency is at most 1, so that a pass never beats FLOPs/peak or
// bytes/bandwidth ([Model.Floor]). What was not checked against measurements says so in [Model.Notes].
//
// A [Model] is immutable and safe for concurrent use. Start reading at model.go; pass.go adds the groups up, gemm.go,
// attention.go, mla.go, experts.go and comm.go price them, gpu.go and models.go hold the facts, capacity.go counts KV
// blocks.
package analytic
