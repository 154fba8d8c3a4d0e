package assembly

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"fakellm/engine"
	"fakellm/engine/drive"
	"fakellm/engine/kv"
	"fakellm/openai"
)

// backend lets the face pace its replies on a live machine. It implements openai.Backend.
type backend struct {
	live   *drive.Live
	limits openai.Limits
	// drafts says that decoding is speculative.
	drafts bool
}

// Submit hands a reply to the machine.
func (b *backend) Submit(job openai.Job, wake func()) (openai.Ticket, error) {
	r := engine.Request{
		PromptTokens: job.PromptTokens, MaxOutput: job.OutputTokens, Rank: job.Rank, FinishReason: job.FinishReason,
		ClientMaxTokens: job.MaxTokens, Choices: job.N,
	}
	if job.Prompt != nil {
		r.Content = append(append(make(kv.Tokens, 0, len(job.Prompt)+len(job.Output)), job.Prompt...), job.Output...)
	}
	box, err := b.live.Submit(r, wake)
	if err != nil { // shutting down, or an inbox that is full: both pass
		return nil, &openai.APIError{
			Status: http.StatusServiceUnavailable, Type: "server_error", Code: "server_is_overloaded", Message: err.Error(),
			RetryAfter: time.Second,
		}
	}
	return ticket{box, b.drafts}, nil
}

// Limits says what a request may ask for at most.
func (b *backend) Limits() openai.Limits { return b.limits }

// ticket is a mailbox in the face's words.
type ticket struct {
	*drive.Mailbox
	drafts bool
}

// Progress translates the mailbox.
func (t ticket) Progress() openai.Progress {
	p := t.Mailbox.Progress()
	out := openai.Progress{
		Tokens: p.Tokens, Cached: p.Cached, Admitted: p.Admitted, Due: p.Due, Submitted: p.Submitted,
		FirstAdmitted: p.FirstAdmitted, FirstToken: p.FirstToken, LastToken: p.LatestToken, Forwards: p.Forwards,
	}
	if t.drafts {
		out.AcceptedTokens = max(p.Tokens-p.Forwards, 0) // the first token of every pass is the target's own
	}
	switch p.End {
	case engine.Running:
	case engine.Completed:
		out.End = openai.Completed
	case engine.Rejected:
		out.End, out.Why = openai.Rejected, explain(p)
	case engine.Failed:
		if out.End, out.Why = openai.Failed, explain(p); errors.Is(p.Err, drive.ErrClosed) {
			out.End, out.Why = openai.Cancelled, "shutting down"
		}
	case engine.Cancelled:
		out.End = openai.Cancelled
	}
	return out
}

// explain says in terms of a setting why the engine could not serve a request.
func explain(p drive.Progress) string {
	switch {
	case p.Why != nil:
		return fmt.Sprintf("this request needs %d %s but the engine has %d: raise %s", p.Why.Need, p.Why.Unit, p.Why.Have, p.Why.Setting)
	case p.Err != nil:
		return p.Err.Error()
	}
	return "the engine could not serve this request"
}
