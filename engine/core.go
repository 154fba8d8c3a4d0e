package engine

import "fakellm/engine/kv"

// core is one rank: a scheduler with its cache. The Engine holds the ranks, the barrier, the cadence of the group and
// the clock; a core only ever hears "run one pass now".
//
// A core is made by newVLLM (vLLM, TensorRT-LLM) or newSGLang, each func(Config, rank int, StepModel) core, from a
// config that was validated and, for several SGLang ranks, divided (Config.perRank). Requests arrive as they are: a
// core applies its own clamps to the output, and ends what it rejects in the pass that sees it.
//
// The Engine calls a core in this order only: any number of submit, cancel, resetPrefixCache; then either pass, or run
// followed by commit. While a run is planned and not committed nothing but holds and commit is called.
type core interface {
	// submit queues r; the Engine has checked it (fresh id, sane lengths).
	submit(r *Request)
	// cancel removes a request and frees what it owned; false if the core does not hold it (any more).
	cancel(id RequestID) bool
	// ready says whether a pass now could do anything: something runs or waits.
	ready() bool
	// pass runs one iteration at p.Start: it mutates the state, fills every field of p except End, Seq, Worker and Rank,
	// and queues what becomes visible at the end in p.Outputs and p.Events. p.After is the state right after scheduling,
	// before anything is emitted. The slices of p arrive empty with capacity to append to; p.Load points into the core.
	// After an error of the model the core is not used any more.
	pass(p *Pass, t turn) (verdict, error)
	// settle ends a round: it is called on every rank, idle ones too, after all ranks of the group ran their pass. worked
	// says whether any rank computed tokens in it, deferred whether the cadence held prefill back (spec engine-core §7.4:
	// an SGLang rank that had nothing to decode then resets its ratio).
	settle(worked, deferred bool)
	// run plans steady decode from now on and appends to ends the ends of at most limit passes that surely change nothing
	// but lengths: every running request gets one token per pass; requests may complete only in the last of them. An
	// empty result means that the next pass must be a real one. Nothing changes until commit.
	run(now Time, ends []Time, limit int) ([]Time, error)
	// holds says whether the planned run would stay true if r were submitted now. It is asked before submit; the Engine
	// cuts the run when it answers false.
	holds(r *Request) bool
	// commit applies the first n passes of the planned run (n may be 0), fills Requests, Outputs and After of r and drops
	// the rest of the plan. Requests and Outputs arrive empty with capacity to append to.
	commit(n int, r *Run)
	// stuck ends, with a reason, the request that keeps the rank from ever proceeding; false if nothing waits. It is asked
	// after a pass without effect and without retry while no countdown was in force: the state of a core only changes by
	// its own passes and by commands, so what did nothing now never will.
	stuck() (Output, bool)
	// resetPrefixCache forgets the blocks that nobody holds.
	resetPrefixCache()
	// changes takes the cache events of commands since the last pass. It is asked while no pass is in flight and no run is
	// planned; the slice is reused by the next call of changes or pass.
	changes() []kv.Event
	// state describes the rank. It must be cheap, O(1).
	state() RankState
}

// turn is what the group tells a rank about the round it is about to run.
type turn struct {
	// deferPrefill: the cadence of the group is in force (vLLM prefill_schedule_interval off-step, SGLang
	// prefill_decode_interval counting down). What that means exactly is the core's business (spec engine-core §7.4).
	deferPrefill bool
}

// verdict is what a rank answers to a pass.
type verdict struct {
	// effect: tokens were computed, or a request was admitted, preempted or signalled.
	effect bool
	// retry: an effect-free pass may be repeated at the same instant, because something still moves (SGLang's
	// new-token ratio; spec engine-core §7.3). The core stops asking for it after maxRetries repeats.
	retry bool
	// prefilled: prompt tokens were computed; it arms SGLang's prefill_decode_interval for the whole group.
	prefilled bool
}
