package engine

import (
	"time"

	"fakellm/engine/kv"
)

// Sink hears what a machine does, in event order. What it is handed is reused: whoever keeps a value copies it. A sink
// may call Apply on the machine it listens to (a closed loop submits the next request when one ends); it must not
// Advance it.
type Sink interface {
	// Began reports a pass at its start: admissions and preemptions are visible from here on.
	Began(*Pass)
	// Ended reports a pass at its end: tokens, completions, rejections and cache events are visible from here on.
	Ended(*Pass)
	// Left reports a request that ended outside a pass: cancelled, or unable ever to proceed.
	Left(Departure)
}

// RunSink is a Sink that also accepts steady decode in bulk. A machine configured to advance in runs calls Ran once for
// many passes in which only lengths changed, instead of Began and Ended for each.
type RunSink interface {
	Sink
	// Ran reports passes in which every request of the batch got exactly one token and nothing else happened, except
	// that requests may complete at the last of them. It is told when the run is committed, so passes of other workers
	// that ended meanwhile may have been told before.
	Ran(*Run)
}

// CacheSink is a Sink that also hears at once what cancellations and resets did to the cache of a rank between its passes;
// to every other Sink the next pass of the rank tells it. Like the events of a pass it is told only when the config asks
// for events.
type CacheSink interface {
	Sink
	// Changed reports such changes. With a pass in flight they wait for its end, and follow it.
	Changed(CacheChange)
}

// CacheChange is what happened to the cache of one rank between its passes.
type CacheChange struct {
	At           Time
	Worker, Rank int
	Events       []kv.Event
}

// Pass is one scheduler iteration of one rank. In Began the fields of the end are planned and Outputs is empty.
type Pass struct {
	// Worker and Rank say who ran it.
	Worker, Rank int
	// Seq counts the passes of this worker, from 0. All ranks of one group pass share it.
	Seq uint64
	// Start and End bound it. Behind a barrier End is the group's end.
	Start, End Time
	// Prefill and Decode are the signatures that were timed; a zero Batch means that half did not run.
	Prefill PrefillBatch
	Decode  DecodeBatch
	// PrefillTime and DecodeTime are the two serial halves; their sum is the rank's own duration.
	PrefillTime, DecodeTime time.Duration
	// PromptTokens counts the tokens computed in this pass by requests that had prompt tokens in it.
	PromptTokens int
	// ScheduledTokens counts all tokens computed in this pass, prefill and decode.
	ScheduledTokens int
	// Admitted and Preempted are in the order in which they happened.
	Admitted  []Admission
	Preempted []Preemption
	// Outputs are in the engine's own order; terminal outputs of rejected requests come last.
	Outputs []Output
	// Accepted and Forwards count speculative decoding: tokens accepted before truncation, and request forwards.
	Accepted, Forwards int
	// AcceptedAt counts, per draft position, the requests whose draft there was accepted; the sum is Accepted - Forwards.
	AcceptedAt [maxDrafts]int
	// Events are the cache changes of the pass; empty unless the config asks for them.
	Events []kv.Event
	// After is the state of the rank: in Began right after scheduling, in Ended after everything else.
	After RankState
	// Load is filled only when the config asks for forward-pass metrics.
	Load *Load
}

// Admission is a request entering the running set.
type Admission struct {
	Req *Request
	// Cached is the number of tokens reused from the cache, prompt and (on re-admission) output.
	Cached int
	// Again is set when it had been admitted before.
	Again bool
}

// Preemption is a request losing its blocks and going back to the queue.
type Preemption struct {
	Req *Request
	// Blocks is what it owned before.
	Blocks int
}

// Output is what one request got from one pass.
type Output struct {
	Req *Request
	// Tokens is the number of tokens that became visible: 0 for a terminal signal without token, more than 1 for a
	// speculative burst.
	Tokens int
	// Cached is the reuse of the first admission, the engine's answer to prompt_tokens_details.cached_tokens.
	Cached int
	// End is Running unless this is the request's last output.
	End End
	// Why is set for Rejected and Failed.
	Why *Refusal
}

// Departure is a request that ended between passes.
type Departure struct {
	At     Time
	Worker int
	Rank   int
	Output
}

// Run is a row of decode passes in which only lengths changed.
type Run struct {
	Worker, Rank int
	// Seq is the number of its first pass.
	Seq uint64
	// Start is the start of its first pass, Ends the ends of all its passes, ascending. Each pass starts where the one
	// before it ended.
	Start Time
	Ends  []Time
	// Requests got one token at each of Ends.
	Requests []*Request
	// Outputs are the terminal outputs at the last of Ends (their token is already counted by Requests).
	Outputs []Output
	// After is the state at the end.
	After RankState
}

// RankState is what routers, planners, dashboards and metrics may know of a rank.
type RankState struct {
	Running, Waiting int
	// ActiveBlocks are held by requests, InactiveBlocks only by the cache, TotalBlocks is the pool.
	ActiveBlocks, InactiveBlocks, TotalBlocks int
	// Preemptions counts since the start.
	Preemptions uint64
	// NewTokenRatio is SGLang's admission estimate; 0 for the others.
	NewTokenRatio float64
}

// Load is the forward-pass metrics record of one rank and pass (spec engine-core §10.3). Variances are of the
// population; 0 for an empty set.
type Load struct {
	PrefillRequests, PrefillTokens, PrefillKVTokens int
	PrefillVar                                      float64
	DecodeRequests, DecodeKVTokens                  int
	DecodeVar                                       float64
	QueuedPrefillRequests, QueuedPrefillTokens      int
	QueuedPrefillVar                                float64
	QueuedDecodeRequests, QueuedDecodeKVTokens      int
	QueuedDecodeVar                                 float64
}
