package engine

import "fakellm/engine/kv"

// RequestID names a request. It is chosen by the caller and unique among the requests a machine holds.
type RequestID uint64

// AnyRank lets the worker choose the rank of a request: its own round robin.
const AnyRank = -1

// Request is one sequence to serve. The caller fills it and must not change it until its terminal effect.
type Request struct {
	ID RequestID
	// PromptTokens is the length of the prompt in tokens, at least 1 unless the caller accepts a rejection.
	PromptTokens int
	// MaxOutput is the number of tokens to generate; 0 prefills the prompt and generates nothing.
	MaxOutput int
	// Content identifies the blocks of prompt and planned output. Nil: every block has an identity of its own, so
	// nothing of this request is ever reused.
	Content kv.Content
	// Rank is the data-parallel rank that must serve it, or AnyRank.
	Rank int
	// Arrival is stamped by the machine when it takes the request in; queueing time counts from here.
	Arrival Time
	// ClientMaxTokens is the limit the client itself asked for (0: none), Choices its number of choices (n). Metrics only.
	ClientMaxTokens, Choices int
	// FinishReason is the label under which metrics count a completion ("stop" or "length"). The engine does not read it.
	FinishReason string
	// Owner is the caller's; the engine does not read it. A sink finds its own record here without a look-up.
	Owner any
}

// End says how a request left the machine. The zero value means that it has not.
type End uint8

// The ways to leave.
const (
	// Running: not ended.
	Running End = iota
	// Completed: every token it asked for, or all that the limits allow.
	Completed
	// Rejected: it can never run under the present settings; no token was generated.
	Rejected
	// Failed: it can never go on under the present settings; some tokens were generated.
	Failed
	// Cancelled: its caller withdrew it.
	Cancelled
)

// String returns the word that reports use.
func (e End) String() string {
	return [...]string{"running", "completed", "rejected", "failed", "canceled"}[e]
}

// Refusal says why a request was rejected or failed, in terms of the setting that would have to change.
type Refusal struct {
	// Setting is the engine's own name of the limiting setting, for example "num_gpu_blocks".
	Setting string
	// Need is what the request needs and Have what the setting offers, both in Unit ("blocks", "tokens").
	Need, Have int
	Unit       string
}

// Input is an outside event for a machine: one of the types below.
type Input interface{ input() }

// Submit enters a request.
type Submit struct{ Request *Request }

// Cancel withdraws a request wherever it is. An unknown ID is a no-op: the request may just have ended.
type Cancel struct{ ID RequestID }

// ResetPrefixCache forgets every cached block that no request holds.
type ResetPrefixCache struct{}

func (Submit) input()           {}
func (Cancel) input()           {}
func (ResetPrefixCache) input() {}
