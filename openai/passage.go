package openai

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gin-gonic/gin"

	"fakellm/openai/fault"
	"fakellm/openai/journal"
	"fakellm/openai/reply/script"
)

// passage is one answer of a real endpoint on its way to the client. The zero value is ready.
type passage struct {
	rec script.Recording
	// stream says that it is an event stream; heard is the start of its body, as much as a tape takes.
	stream bool
	heard  []byte
	meter  fault.Meter
	left   fault.Left
}

// copy passes a body on to a client until its end. An error says who broke it off.
func (p *passage) copy(to *patient, body io.Reader, start time.Time) error {
	chunk := make([]byte, 32<<10)
	for {
		n, err := body.Read(chunk)
		if n > 0 {
			if p.rec.TTFTMs == 0 {
				p.rec.TTFTMs = milliseconds(time.Since(start))
			}
			if len(p.heard) <= script.MaxTapeLine {
				p.heard = append(p.heard, chunk[:n]...)
			}
			if _, err := to.Write(chunk[:n]); errors.Is(err, fault.ErrInjected) {
				return errors.New("a fault ended it")
			} else if err != nil {
				return fmt.Errorf("the client left: %w", err)
			}
			to.c.Writer.Flush()
			p.meter.Pass(chunk[:n])
			p.meter.Leave(&p.left, time.Now())
		}
		if errors.Is(err, io.EOF) {
			p.rec.TotalMs = milliseconds(time.Since(start))
			return nil
		}
		if err != nil {
			return fmt.Errorf("the endpoint broke off: %w", err)
		}
	}
}

// report notes in the record of the request what has left and what was heard; err says why it was not recorded. Behind a
// fault that is known when the writer of the fault has finished.
func (p *passage) report(c *gin.Context, err error) {
	entry, since := journal.From(c.Request.Context()), c.GetTime(keyStart)
	tell := func(l fault.Left, ours int64) {
		d := departure{l.Events, l.Bytes, l.First, l.Last, p.tokens(&l, ours)}
		entry.Update(func(r *journal.Record) {
			if err != nil {
				r.Error = "recording: " + err.Error()
			}
			if p.stream {
				r.Events, r.Bytes = d.events, d.bytes
			}
			r.Observed = d.latency(since)
			p.said(r)
		})
	}
	if w, ok := c.Writer.(*brokenWriter); ok {
		w.finished = func() {
			l := w.Left()
			tell(l, w.ours(&l))
		}
		return
	}
	tell(p.left, p.left.Events)
}

// tokens are those of the first choice in the first events of what left, ours in number. As many events as spoke are
// taken for tokens, unless usage knows better of an answer that is whole.
func (p *passage) tokens(l *fault.Left, ours int64) tokenTimes {
	spoke := p.rec.Spoke
	for len(spoke) > 0 && spoke[len(spoke)-1] > ours {
		spoke = spoke[:len(spoke)-1]
	}
	if len(spoke) == 0 {
		return tokenTimes{}
	}
	t := tokenTimes{n: len(spoke), first: l.When(spoke[0]), last: l.When(spoke[len(spoke)-1])}
	if t.n == len(p.rec.Spoke) && len(p.rec.Answers) == 1 {
		t.n = max(t.n, p.rec.CompletionTokens-p.rec.Hidden(0))
	}
	return t
}

// said completes a record by what the endpoint said of its answer; what it did not say stays unknown.
func (p *passage) said(r *journal.Record) {
	if p.rec.PromptTokens > 0 || p.rec.CompletionTokens > 0 {
		r.Usage = &journal.Usage{
			Prompt: p.rec.PromptTokens, Cached: p.rec.CachedTokens,
			Completion: p.rec.CompletionTokens, Reasoning: p.rec.ReasoningTokens,
		}
	}
	for i := range p.rec.Answers {
		if reason := p.rec.Answers[i].FinishReason; reason != "" {
			r.FinishReasons = append(r.FinishReasons, reason)
		}
	}
}
