package openai

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// fingerprint is the constant system_fingerprint of the OpenAI dialect.
const fingerprint = "fp_fakellm"

// chat answers POST /v1/chat/completions.
func (s *Server) chat(c *gin.Context) {
	handle(s, c, exchangeOf[*ChatRequest]{
		route: "chat", check: s.checkChat, plan: s.planChat,
		answer: func(p *planned, r *ChatRequest) []run { return s.answerChat(c, p, r) },
	})
}

// checkChat checks a request and completes it by what the server remembers.
func (s *Server) checkChat(body []byte, h http.Header, maxDepth int) (*ChatRequest, error) {
	req, err := s.check.chat(body, h, maxDepth)
	if err == nil {
		err = s.recall(req)
	}
	return req, err
}

// answerChat paces and writes a planned answer, and returns how far it came.
func (s *Server) answerChat(c *gin.Context, p *planned, req *ChatRequest) []run {
	if !req.Store {
		// Nobody asks for them again, and thousands of long prompts may be waiting.
		req.Messages, req.Tools = nil, nil
	}
	// Known before the first byte leaves: the next turn may come with the last.
	s.voices.keep(p.choices)
	who := s.identity("chatcmpl-", req.Model)
	who.rename("chatcmpl-", req.AnswerID)
	if s.opts.Dialect == DialectOpenAI {
		who.tier = servedTier(req.ServiceTier)
	}
	if req.Stream {
		st := s.newStream(c, p, &req.Sampling, who, true)
		s.serveStream(c, st, p)
		if req.Store && st.finished && !st.broken {
			s.store.put(req, s.chatResponse(who, p, st.runs, req), s.ids)
		}
		return st.runs
	}
	runs, ok := s.collect(c, p, &req.Sampling)
	if !ok {
		return runs
	}
	resp := s.chatResponse(who, p, runs, req)
	if req.Store {
		s.store.put(req, resp, s.ids)
	}
	s.writeSpoken(c, marshal(resp), resp.sounds)
	return runs
}

// servedTier is the tier reported for the one asked for (spec openai-endpoint R8).
func servedTier(asked string) string {
	switch asked {
	case "", "auto":
		return "default"
	case "fast":
		return "priority"
	default:
		return asked
	}
}

func (s *Server) identity(prefix, model string) identity {
	who := identity{id: s.ids.make(prefix), model: model, created: time.Now().Unix()}
	if s.opts.Dialect == DialectOpenAI {
		who.fingerprint = fingerprint
	}
	return who
}

// newStream prepares a stream of the given answers.
func (s *Server) newStream(c *gin.Context, p *planned, sm *Sampling, who identity, chat bool) *stream {
	w := unwrap(c.Writer)
	st := &stream{
		renderer: renderer{
			frame: newFrame(who, s.opts.Dialect, chat, sm.IncludeUsage), style: s.opts.ToolStyle, topK: sm.TopLogprobs,
			tokenIDs: sm.ReturnTokenIDs, interval: orDefault(sm.StreamInterval, s.opts.StreamInterval),
		},
		w:            w,
		head:         c.Writer,
		rc:           http.NewResponseController(w),
		flusher:      flusherOf(w),
		includeUsage: sm.IncludeUsage,
		old:          !c.Request.ProtoAtLeast(1, 1),
	}
	st.init(s, p, c.GetTime(keyStart))
	st.offsets = make([]int, len(st.runs))
	st.continuous, st.frame.padded = sm.ContinuousUsage, sm.Obfuscate
	for i := range p.prompts {
		st.promptTokens += p.prompts[i].Tokens
	}
	if sock, ok := c.Request.Context().Value(connKey{}).(*socket); ok && c.Request.ProtoMajor == 1 {
		st.socket = sock
		st.direct = sock.conn != nil && c.Request.ProtoMinor >= 1 && isNetHTTP(w)
	} else {
		st.detached.Store(true)
	}
	return st
}

// unwrap finds net/http's own writer under gin's: the token path needs nothing of the layers between.
func unwrap(w http.ResponseWriter) http.ResponseWriter {
	for {
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = u.Unwrap()
	}
}

type flushError interface{ FlushError() error }

// flusherOf is the flushing side of a writer; one that cannot flush buffers until the end.
func flusherOf(w http.ResponseWriter) flushError {
	if f, ok := w.(flushError); ok {
		return f
	}
	return controllerFlusher{http.NewResponseController(w)}
}

type controllerFlusher struct{ rc *http.ResponseController }

func (f controllerFlusher) FlushError() error { return f.rc.Flush() }

// serveStream submits and parks until the end.
func (s *Server) serveStream(c *gin.Context, st *stream, p *planned) {
	s.counters.streams.Add(1)
	defer s.counters.streams.Add(-1)
	if err := st.submit(p.jobs, func() { st.wake(st) }); err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	if !st.tokenIDs {
		p.forget()
	}
	ok := st.serve(c.Request.Context())
	st.report(c, ok)
	switch {
	case st.begun && !ok:
		c.Set(keyCut, true)
	case st.begun:
		c.Set(keyDelivered, true)
	case st.failed != nil:
		s.refuse(c, st.failed)
	default:
		c.Set(keyStatus, statusGone)
	}
}

// collect submits and waits for everything. It reports false when the answer has been given or nobody wants it.
func (s *Server) collect(c *gin.Context, p *planned, sm *Sampling) ([]run, bool) {
	w := &whole{}
	w.init(s, p, c.GetTime(keyStart))
	if err := w.submit(p.jobs, func() { w.wake(w) }); err != nil {
		s.refuse(c, asAPIError(err))
		return w.runs, false
	}
	if !sm.ReturnTokenIDs {
		p.forget()
	}
	if !w.wait(c.Request.Context()) {
		c.Set(keyStatus, statusGone)
		return w.runs, false
	}
	if w.failed != nil {
		s.refuse(c, w.failed)
		return w.runs, false
	}
	if t := serverTiming(w.runs); t != "" {
		c.Writer.Header().Set("Server-Timing", t)
	}
	return w.runs, true
}

// chatResponse builds the whole response (spec openai-endpoint N1–N9).
func (s *Server) chatResponse(who identity, p *planned, runs []run, req *ChatRequest) chatResponse {
	u := usage(p.prompts, runs, p.perPrompt)
	resp := chatResponse{
		ID: who.id, Object: "chat.completion", Created: who.created, Model: who.model, Usage: &u,
		ServiceTier: who.tier, SystemFingerprint: who.fingerprint, Choices: make([]chatChoice, len(runs)),
	}
	if req.Store {
		resp.Metadata = req.Metadata
	}
	if req.ReturnTokenIDs {
		resp.PromptTokenIDs = p.prompts[0].IDs
	}
	for i := range runs {
		c := runs[i].plan
		if c.speaks() {
			resp.sounds = append(resp.sounds, c.spoken)
		}
		resp.Choices[i] = chatChoice{
			Index: i, Message: message(c, s.opts.Dialect), FinishReason: c.FinishReason,
			engineMembers: s.opts.Dialect.stopMembers(c.StopReason),
		}
		if req.ReturnTokenIDs {
			resp.Choices[i].TokenIDs = c.Output
		}
		if c.Probs != nil {
			resp.Choices[i].Logprobs = visibleLogprobs(c, req.TopLogprobs)
		}
	}
	return resp
}

// message assembles the message of a choice from its segments.
func message(c *Choice, d Dialect) chatMessage {
	m := chatMessage{Role: "assistant", Annotations: emptyList}
	segs := c.Segments
	if segs == nil {
		segs = []Segment{{Kind: Content, Positions: len(c.Ends)}}
	}
	var content, refusal, reasoning *string
	at := 0
	for _, seg := range segs {
		text := c.text(at, at+seg.Positions)
		at += seg.Positions
		switch seg.Kind {
		case Content:
			content = join(content, text)
		case Refusal:
			refusal = join(refusal, text)
		case Reasoning:
			reasoning = join(reasoning, text)
		case ToolCall:
			m.ToolCalls = append(m.ToolCalls, wholeCall(seg, text))
		case FunctionCall:
			m.FunctionCall = &functionCall{Name: seg.Name, Arguments: text}
		case Spoken:
			m.Audio = c.spoken.message(c.transcript())
		case Silent:
		}
	}
	if content == nil && m.Audio == nil && refusal == nil && len(m.ToolCalls) == 0 && m.FunctionCall == nil {
		content = new("")
	}
	m.Content, m.Refusal = content, refusal
	switch d.reasoningField() {
	case "reasoning":
		m.Reasoning = reasoning
	case "reasoning_content":
		m.ReasoningContent = reasoning
	}
	return m
}

func join(to *string, text string) *string {
	if to != nil {
		text = *to + text
	}
	return &text
}

func wholeCall(seg Segment, text string) toolCall {
	if seg.Custom {
		return toolCall{ID: seg.ID, Type: "custom", Custom: &customCall{Name: seg.Name, Input: text}}
	}
	return toolCall{ID: seg.ID, Type: "function", Function: &functionCall{Name: seg.Name, Arguments: text}}
}
