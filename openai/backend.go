package openai

import "time"

// Backend paces planned replies. The face plans what is said; the Backend only says when. It is safe for concurrent use.
type Backend interface {
	// Submit enters one planned reply and returns at once. wake is called, from the pacing loop and in the order in
	// which a pass serves its requests, whenever the ticket has news; it must not block and may be called after the end.
	Submit(job Job, wake func()) (Ticket, error)
	// Limits says what a request may ask for at most.
	Limits() Limits
}

// Job is one reply to pace.
type Job struct {
	// Prompt are the token ids of the prompt. In the cheap counting mode they are nil and PromptTokens counts alone.
	Prompt       []uint32
	PromptTokens int
	// Output are the planned ids (nil in the cheap mode), OutputTokens their number.
	Output       []uint32
	OutputTokens int
	// MaxTokens is what the client asked for at most, 0 for no explicit limit; N its number of choices. Metrics only.
	MaxTokens, N int
	// FinishReason is what the reply will end with.
	FinishReason string
	// Rank is the data-parallel rank asked for, or -1.
	Rank int
}

// Ticket is the mailbox of one Job. Its methods are safe for concurrent use and never block.
type Ticket interface {
	// Progress reports what is due by now. It is a bounded value: a reader that looks rarely loses nothing.
	Progress() Progress
	// Cancel frees the slot; the ticket then ends as Cancelled. After the end it does nothing.
	Cancel()
}

// EndKind says how a ticket ended.
type EndKind uint8

// The ways a ticket ends; Open means not yet.
const (
	Open EndKind = iota
	Completed
	// Rejected: the engine can never run it; Progress.Why says which setting to change.
	Rejected
	// Failed: it stopped after some tokens and can never go on, or the engine broke.
	Failed
	Cancelled
)

// Progress is the state of a ticket.
type Progress struct {
	// Tokens are due so far; Cached prompt tokens were reused (known once Admitted).
	Tokens, Cached int
	Admitted       bool
	End            EndKind
	// Why explains Rejected and Failed to the client.
	Why string
	// Due is the modelled instant, on the wall clock, of the newest news: lateness of bytes is measured against it.
	Due time.Time
	// Submitted, FirstAdmitted, FirstToken and LastToken are the modelled instants; zero while unknown.
	Submitted, FirstAdmitted, FirstToken, LastToken time.Time
	// AcceptedTokens of Tokens were drafted and accepted by speculative decoding, 0 without it; Forwards is the number of
	// passes that gave tokens.
	AcceptedTokens, Forwards int
}

// Limits bounds requests.
type Limits struct {
	// MaxModelLen is the longest prompt plus output in tokens.
	MaxModelLen int
	// Ranks is the number of data-parallel ranks a request may name.
	Ranks int
}
