// Package profile is the timing source measured on real hardware: a grid of latencies in a Mocker-format .npz file, or
// the results directory of a profiler, converted on load.
//
// A file holds five arrays (spec engine-core §6.3): prefill_isl[n], prefill_ttft_ms[n], decode_active_kv_tokens[k],
// decode_context_length[c] and decode_itl[k][c] in milliseconds. Prefill is piecewise linear in the new tokens of the
// batch, decode bilinear in (active KV tokens, mean context); both go on with the outermost segment or cell outside the
// grid, and [Profile.CoversPrefill] and [Profile.CoversDecode] say when that happens.
//
// A Profile is immutable and safe for concurrent use. Start reading at profile.go; npz.go and npy.go read the
// container, results.go and fit.go the directory.
package profile
