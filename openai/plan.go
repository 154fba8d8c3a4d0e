package openai

// planned is a checked request with its answers, before anything is paced.
type planned struct {
	prompts []Prompt
	choices []Choice
	jobs    []Job
	// perPrompt answers are made of each prompt, shown of them are returned.
	perPrompt, shown int
}

// unlimitedRoom bounds an answer when neither client nor Backend has a limit, in tokens.
const unlimitedRoom = 1 << 17

// room is how many tokens an answer to a prompt may have, or the refusal (spec openai-endpoint X3).
func room(promptTokens int, asked *int, lim Limits, where string) (int, error) {
	want := 1
	if asked != nil {
		want = *asked
	}
	if promptTokens == 0 {
		return 0, badRequest(where, codeValue, "invalid '%s': it is empty, at least one token is needed", where)
	}
	if lim.MaxModelLen > 0 && promptTokens+want > lim.MaxModelLen {
		if asked == nil {
			return 0, badRequest(where, codeContext,
				"This model's maximum context length is %d tokens. However, your %s resulted in %d tokens. "+
					"Please reduce the length of the %s.", lim.MaxModelLen, where, promptTokens, where)
		}
		return 0, badRequest(where, codeContext,
			"This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the %s, %d in the "+
				"completion). Please reduce the length of the %s or completion.",
			lim.MaxModelLen, promptTokens+want, promptTokens, where, want, where)
	}
	switch {
	case asked != nil && lim.MaxModelLen == 0:
		return min(want, unlimitedRoom), nil
	case asked != nil:
		return want, nil
	case lim.MaxModelLen > 0:
		return lim.MaxModelLen - promptTokens, nil
	default:
		return unlimitedRoom, nil
	}
}

// planChat plans every choice of a chat request.
func (s *Server) planChat(req *ChatRequest) (*planned, error) {
	prompt, err := s.planner.ChatPrompt(req)
	if err != nil {
		return nil, err
	}
	space, err := room(prompt.Tokens, req.MaxTokens, s.backend.Limits(), "messages")
	if err != nil {
		return nil, err
	}
	p := &planned{prompts: []Prompt{prompt}, perPrompt: req.N, shown: req.N}
	for i := range req.N {
		choice, err := s.planner.ChatChoice(req, prompt, i, space)
		if err != nil {
			return nil, err
		}
		if err := s.speak(&choice, req, space); err != nil {
			return nil, err
		}
		p.add(prompt, choice, &req.Sampling)
	}
	return p, nil
}

// planCompletion plans every choice of a legacy request; choice index = prompt × n + sample (spec openai-endpoint L4).
func (s *Server) planCompletion(req *CompletionRequest) (*planned, error) {
	prompts, err := s.planner.CompletionPrompts(req)
	if err != nil {
		return nil, err
	}
	p := &planned{prompts: prompts, perPrompt: req.BestOf, shown: req.N}
	for i, prompt := range prompts {
		space, err := room(prompt.Tokens, req.MaxTokens, s.backend.Limits(), "prompt")
		if err != nil {
			return nil, err
		}
		for j := range req.BestOf {
			choice, err := s.planner.CompletionChoice(req, prompt, i, j, space)
			if err != nil {
				return nil, err
			}
			p.add(prompt, choice, &req.Sampling)
		}
	}
	return p, nil
}

func (p *planned) add(prompt Prompt, c Choice, s *Sampling) {
	job := Job{
		Prompt: prompt.IDs, PromptTokens: prompt.Tokens, Output: c.Output, OutputTokens: c.Tokens,
		N: s.N, FinishReason: c.FinishReason, Rank: s.Rank,
	}
	if s.MaxTokens != nil {
		job.MaxTokens = *s.MaxTokens
	}
	p.choices = append(p.choices, c)
	p.jobs = append(p.jobs, job)
}

// forget drops the ids, which belong to the Backend once all jobs are submitted; counts and texts stay.
func (p *planned) forget() {
	p.jobs = nil
	for i := range p.prompts {
		p.prompts[i].IDs = nil
	}
	for i := range p.choices {
		p.choices[i].Output = nil
	}
}
