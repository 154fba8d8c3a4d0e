package openai

import (
	"sync/atomic"
)

// run is one planned answer being paced: a cursor over its positions. It is used by one goroutine at a time.
type run struct {
	plan   *Choice
	ticket Ticket
	index  int
	// prefix opens a content event of this choice.
	prefix []byte
	// said positions have been rendered; seg is the current segment, segEnd the position after it, calls the number of
	// tool calls begun.
	said, seg, segEnd, calls int
	opened, finished         bool
	last                     Progress
}

// newRun prepares a cursor.
func newRun(plan *Choice, index int) run {
	r := run{plan: plan, index: index, seg: -1}
	if plan.Segments == nil {
		r.seg, r.segEnd = 0, len(plan.Ends)
	}
	return r
}

// segment is the segment that holds the next position, and whether it starts there.
func (r *run) segment() (seg Segment, starts bool) {
	if r.plan.Segments == nil {
		return Segment{Kind: Content, Positions: len(r.plan.Ends)}, false
	}
	for r.said >= r.segEnd && r.seg+1 < len(r.plan.Segments) {
		r.seg++
		r.segEnd += r.plan.Segments[r.seg].Positions
		starts = true
	}
	return r.plan.Segments[r.seg], starts
}

// rest is how many positions the segment of the next one has left. It moves nothing. O(empty segments).
func (r *run) rest() int {
	end := r.segEnd
	for i := r.seg + 1; r.said >= end && i < len(r.plan.Segments); i++ {
		end += r.plan.Segments[i].Positions
	}
	return end - r.said
}

// text is what a range of positions says.
func (c *Choice) text(from, to int) string {
	if to <= from {
		return ""
	}
	start := uint32(0)
	if from > 0 {
		start = c.Ends[from-1]
	}
	return c.Text[start:c.Ends[to-1]]
}

// due is the number of positions that may be said by now: none before the first token, all of them after the end.
func (r *run) due() int {
	if r.last.End == Completed {
		return len(r.plan.Ends)
	}
	if r.last.Tokens == 0 {
		return 0
	}
	return min(r.plan.Free+r.last.Tokens, len(r.plan.Ends))
}

// failure is the reason why the ticket ended without being complete, or nil.
func (r *run) failure() *APIError {
	switch r.last.End {
	case Rejected:
		return badRequest("", codeContext, "the engine cannot run this request: %s", orDefault(r.last.Why, "rejected"))
	case Failed:
		return &APIError{Status: 500, Type: typeServer, Message: "the engine gave up: " + orDefault(r.last.Why, "failed")}
	case Cancelled:
		return &APIError{
			Status: 503, Type: typeServer, Code: "server_shutting_down",
			Message: "the request was cancelled by the server: " + orDefault(r.last.Why, "shutting down"),
		}
	default:
		return nil
	}
}

// usage sums the tokens of all choices; a prompt counts once however many answers it has (spec openai-endpoint N7).
func usage(prompts []Prompt, runs []run, perPrompt int) Usage {
	var u Usage
	for i := range prompts {
		u.PromptTokens += prompts[i].Tokens
		u.PromptDetails.AudioTokens += prompts[i].Audio
		if at := i * perPrompt; at < len(runs) {
			u.PromptDetails.CachedTokens += runs[at].last.Cached
		}
	}
	for i := range runs {
		r := &runs[i]
		done := r.last.Tokens
		if r.last.End == Completed {
			done = r.plan.Tokens
		}
		u.CompletionTokens += done
		u.CompletionDetails.AudioTokens += r.plan.frames(done)
		u.CompletionDetails.ReasoningTokens += min(r.plan.Reasoning, done)
		u.CompletionDetails.Accepted += min(max(r.plan.Accepted, r.last.AcceptedTokens), done)
		u.CompletionDetails.Rejected += r.plan.Rejected
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// counter is a named word on the face's own board.
type counter = atomic.Int64

// Counters is a snapshot of what the face has done since New.
type Counters struct {
	// Requests answered, Streams open now, Aborted by their client, Refused with a 4xx, Failed with a 5xx or in-band.
	Requests, Streams, Aborted, Refused, Failed int64
	// Handovers of slow clients from a shared writer to their own goroutine; Writes of streamed events and Events in them.
	Handovers, Writes, Events int64
}
