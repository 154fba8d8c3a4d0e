package engine

// core is one rank: a scheduler with its cache. The Engine holds the ranks, the barrier and the clock; a core only ever
// hears "run one pass now".
type core interface {
	// submit queues r; the Engine has checked it (fresh id, sane lengths).
	submit(r *Request)
	// cancel removes a request and frees what it owned; false if the core does not hold it.
	cancel(id RequestID) bool
	// ready says whether a pass now could do anything: something runs or waits.
	ready() bool
	// pass runs one iteration at p.Start: it mutates the state, fills every field of p except End, Seq, Worker and Rank,
	// and queues what becomes visible at the end in p.Outputs and p.Events. It reports whether the pass had any effect
	// (tokens computed, admission, preemption or signal).
	pass(p *Pass) (effect bool, err error)
	// run plans steady decode from now on and returns the ends of as many passes as surely change nothing but lengths
	// (nil: none; the next pass must be a real one). Nothing changes until commit. A request submitted meanwhile cuts
	// the run when holds reports false.
	run(now Time, ends []Time) ([]Time, error)
	// holds says whether the planned run stays true although r was just queued behind it.
	holds(r *Request) bool
	// commit applies the first n passes of the planned run and fills r.
	commit(n int, r *Run)
	// stuck ends, with a reason, the request that keeps an idle core from ever proceeding; false if nothing waits.
	stuck() (Output, bool)
	// resetPrefixCache forgets the blocks that nobody holds.
	resetPrefixCache()
	// state describes the rank.
	state() RankState
}
