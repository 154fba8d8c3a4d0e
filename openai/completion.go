package openai

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// completion answers POST /v1/completions.
func (s *Server) completion(c *gin.Context) {
	handle(s, c, exchangeOf[*CompletionRequest]{
		route: "completions", check: s.check.completion, plan: s.planCompletion,
		answer: func(p *planned, r *CompletionRequest) []run { return s.answerCompletion(c, p, r) },
	})
}

// answerCompletion paces and writes a planned answer, and returns how far it came.
func (s *Server) answerCompletion(c *gin.Context, p *planned, req *CompletionRequest) []run {
	who := s.identity("cmpl-", req.Model)
	who.rename("cmpl-", req.AnswerID)
	if req.Stream {
		st := s.newStream(c, p, &req.Sampling, who, false)
		s.serveStream(c, st, p)
		return st.runs
	}
	runs, ok := s.collect(c, p, &req.Sampling)
	if ok {
		s.writeJSON(c, http.StatusOK, marshal(s.textResponse(who, p, runs, req)))
	}
	return runs
}

// textResponse builds the whole response. Of best_of answers per prompt the first n are returned; all of them are paced
// and counted in usage (spec openai-endpoint L2–L4).
func (s *Server) textResponse(who identity, p *planned, runs []run, req *CompletionRequest) textResponse {
	resp := textResponse{
		ID: who.id, Object: "text_completion", Created: who.created, Model: who.model,
		SystemFingerprint: who.fingerprint, Usage: marshal(usage(p.prompts, runs, p.perPrompt)),
		Choices: make([]textChoice, 0, len(p.prompts)*p.shown),
	}
	for i := range runs {
		if i%p.perPrompt >= p.shown {
			continue
		}
		c := runs[i].plan
		choice := textChoice{
			Index: len(resp.Choices), Text: c.Text, FinishReason: &c.FinishReason,
			engineMembers: s.opts.Dialect.stopMembers(c.StopReason),
		}
		if req.ReturnTokenIDs {
			choice.TokenIDs, choice.PromptTokenIDs = c.Output, p.prompts[i/p.perPrompt].IDs
		}
		if c.Probs != nil {
			choice.Logprobs, _ = legacyLogprobs(c, 0, len(c.Ends), req.TopLogprobs, 0)
		}
		resp.Choices = append(resp.Choices, choice)
	}
	return resp
}
