// Package metrics turns what an engine does into Prometheus metrics under the engines' own names, and counts what the
// server itself does under fakellm_*. Every engine metric is fed by engine effects alone, so what a dashboard shows is
// what the simulated engine did, at the instant it did it on the modelled timeline.
//
// A set ([VLLM], [SGLang], [TRTLLM]) is an engine.Sink: its methods are called from the one goroutine that drives the
// machine. Scraping happens concurrently and needs no lock of ours: every value lives in a client_golang metric.
package metrics
