// Package engine simulates one serving worker: the schedulers of vLLM, SGLang and TensorRT-LLM as pure state machines
// over their KV caches, behind the barrier that holds data-parallel ranks together.
//
// Nothing here reads a clock, starts a goroutine or draws from a global source: time is an argument, randomness is a
// seeded stream, the length of a pass comes from a [StepModel]. The same calls therefore give the same effects, byte
// for byte, whether a wall-clock driver or a virtual one makes them.
//
// # Where to start
//
// [Request] is what enters, [Config] says what kind of worker this is, [Pass] is what a [Sink] hears, [Engine] is the
// machine. core.go declares what a scheduler core has to do; vllm*.go (vLLM and TensorRT-LLM) and sglang*.go are
// the two.
//
// # Concurrency
//
// An Engine belongs to one goroutine. It keeps pointers to the requests it was given until their terminal effect.
package engine
