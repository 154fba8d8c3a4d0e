package openai

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"fakellm/openai/journal"
	"fakellm/openai/limit"
	"fakellm/openai/reply/script"
)

// exchange is one planned request on its way through limits, script, faults and journal.
type exchange struct {
	s     *Server
	c     *gin.Context
	entry *journal.Entry
	who   limit.Who
	grant limit.Decision
}

// modelRequest is a checked request of either route.
type modelRequest interface {
	// common are the model's name, what both routes share, and where a scripted answer is kept.
	common() (model string, sm *Sampling, scripted *given)
	scriptRequest(h http.Header, body []byte) *script.Request
}

func (r *ChatRequest) common() (string, *Sampling, *given) {
	return r.Model, &r.Sampling, &r.scripted
}

func (r *CompletionRequest) common() (string, *Sampling, *given) {
	return r.Model, &r.Sampling, &r.scripted
}

// exchangeOf is what the two routes do each in their own way.
type exchangeOf[R modelRequest] struct {
	route  string
	check  func(body []byte, h http.Header, maxDepth int) (R, error)
	plan   func(R) (*planned, error)
	answer func(*planned, R) []run
}

// handle leads a request through its life: read, check, script or recorder, plan, then limits, faults and the answer.
func handle[R modelRequest](s *Server, c *gin.Context, e exchangeOf[R]) {
	body, err := s.readBody(c.Writer, c.Request)
	if err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	req, err := e.check(body, c.Request.Header, s.opts.MaxDepth)
	if err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	model, sm, scripted := req.common()
	x := s.open(c, body, model, sm)
	*scripted = x.find(sm, func() *script.Request { return req.scriptRequest(c.Request.Header, body) })
	if *scripted == nil && s.opts.Recorder != nil {
		x.passOn(e.route, model, sm, body)
		return
	}
	p, err := e.plan(req)
	if err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	x.perform(p, model, sm, func() []run { return e.answer(p, req) })
}

// open notes a checked request in the journal.
func (s *Server) open(c *gin.Context, body []byte, model string, sm *Sampling) *exchange {
	who := limit.Who{Key: orDefault(clientKey(c.Request.Header), "anonymous"), Model: model}
	x := &exchange{s: s, c: c, entry: journal.From(c.Request.Context()), who: who}
	x.entry.Body(body)
	x.entry.Update(func(r *journal.Record) { r.Model, r.Session, r.Stream = model, sm.SessionKey, sm.Stream })
	return x
}

// find looks for an answer that is given: by the request itself, by a mapping, by the tape; nil if there is none.
func (x *exchange) find(sm *Sampling, q func() *script.Request) given {
	if sm.Wishes.answers() {
		return &sm.Wishes
	}
	if x.s.opts.Script == nil {
		return nil
	}
	said, near := x.s.opts.Script.match(q())
	x.entry.Update(func(r *journal.Record) {
		if said != nil {
			r.Mapping = said.Mapping()
		}
		r.NearMisses = near
	})
	return said
}

// admit asks the rate limits; the estimate is what the request may cost at most, prompt and answer. It reports false
// when it has refused.
func (x *exchange) admit(p *planned) bool {
	l := x.s.opts.Limiter
	if l == nil {
		return true
	}
	var estimate int64
	for i := range p.prompts {
		estimate += int64(p.prompts[i].Tokens)
	}
	for i := range p.choices {
		estimate += int64(p.choices[i].Tokens)
	}
	x.grant = l.Admit(time.Now(), x.who, estimate)
	x.grant.SetHeaders(x.c.Writer.Header())
	if x.grant.OK() {
		return true
	}
	x.entry.Update(func(r *journal.Record) { r.Limited = x.grant.Type() })
	x.s.refuse(x.c, &APIError{
		Status: http.StatusTooManyRequests, Type: x.grant.Type(), Code: limit.Code, Message: x.grant.Message(x.who.Model),
	})
	return false
}

// close settles the limits and completes the record when everything has been said or the client has left.
func (x *exchange) close(p *planned, runs []run) {
	u := usage(p.prompts, runs, p.perPrompt)
	if x.s.opts.Limiter != nil {
		x.s.opts.Limiter.Settle(time.Now(), x.who, x.grant, int64(u.TotalTokens))
	}
	x.entry.Update(func(r *journal.Record) {
		r.Usage = &journal.Usage{
			Prompt: u.PromptTokens, Cached: u.PromptDetails.CachedTokens, Completion: u.CompletionTokens,
			Reasoning: u.CompletionDetails.ReasoningTokens,
		}
		for i := range runs {
			if runs[i].last.End == Completed {
				r.FinishReasons = append(r.FinishReasons, runs[i].plan.FinishReason)
			}
		}
		if len(runs) > 0 {
			t := timelineOf(&runs[0].last)
			r.Timeline, r.Predicted = t, t.Latency(runs[0].last.Tokens)
		}
	})
}

func timelineOf(p *Progress) journal.Timeline {
	return journal.Timeline{Submitted: p.Submitted, Admitted: p.FirstAdmitted, FirstToken: p.FirstToken, LastToken: p.LastToken}
}

// serverTiming tells tools that cannot read streams how the engine spent the time, in milliseconds: waiting for a slot,
// computing the prompt, generating.
func serverTiming(runs []run) string {
	if len(runs) == 0 || runs[0].last.FirstToken.IsZero() || runs[0].last.FirstAdmitted.IsZero() {
		return ""
	}
	p := &runs[0].last
	var b []byte
	for _, part := range []struct {
		name string
		span time.Duration
	}{
		{"queue", p.FirstAdmitted.Sub(p.Submitted)},
		{"prefill", p.FirstToken.Sub(p.FirstAdmitted)},
		{"decode", p.LastToken.Sub(p.FirstToken)},
		{"ttft", p.FirstToken.Sub(p.Submitted)},
	} {
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = append(append(b, part.name...), ";dur="...)
		b = strconv.AppendFloat(b, float64(part.span)/1e6, 'f', 3, 64)
	}
	return string(b)
}

// journalled begins a record for the routes that answer for a model, and puts it into the request's context.
func (s *Server) journalled(c *gin.Context) {
	if s.opts.Journal == nil {
		return
	}
	e := s.opts.Journal.Begin(c.GetTime(keyStart), c.Request)
	id := c.Writer.Header().Get("X-Request-Id")
	e.Update(func(r *journal.Record) { r.ID = id })
	client := c.Request.Context()
	c.Request = c.Request.WithContext(journal.With(client, e))
	panicked := true
	defer func() {
		status := statusOf(c)
		if _, known := c.Get(keyStatus); panicked && !known && !c.Writer.Written() {
			status = http.StatusInternalServerError // a panic is on its way to be answered
		}
		gone := left(c, client) // an injected fault ends the request's own context, not the client
		e.Update(func(r *journal.Record) { r.Status, r.Disconnected = status, gone })
		e.Finish(time.Now())
	}()
	c.Next()
	panicked = false
}

// left says that the client left before its answer had been written to the end. One that closes with the last byte in
// hand has all it came for.
func left(c *gin.Context, client context.Context) bool {
	return statusOf(c) == statusGone || client.Err() != nil && !c.GetBool(keyDelivered)
}

// statusOf is the status that logs and metrics count.
func statusOf(c *gin.Context) int {
	if v, ok := c.Get(keyStatus); ok {
		status, _ := v.(int)
		return status
	}
	return c.Writer.Status()
}
