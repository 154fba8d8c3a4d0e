package openai

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// completion answers POST /v1/completions.
func (s *Server) completion(c *gin.Context) {
	body, err := s.readBody(c.Writer, c.Request)
	if err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	req, err := s.check.completion(body, c.Request.Header, s.opts.MaxDepth)
	if err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	p, err := s.planCompletion(req)
	if err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	who := s.identity("cmpl-", req.Model)
	if req.Stream {
		s.serveStream(c, s.newStream(c, p, &req.Sampling, who, false), p)
		return
	}
	runs, ok := s.collect(c, p, &req.Sampling)
	if !ok {
		return
	}
	s.writeJSON(c, http.StatusOK, marshal(s.textResponse(who, p, runs, req)))
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
