package assembly

import (
	"errors"

	"fakellm/config"
	"fakellm/engine"
	"fakellm/openai"
)

func planner(*config.Config) (openai.Planner, error) { return nil, errors.New("planner: not wired yet") }

func analyticTiming(*config.Config) (StepTiming, error) {
	return StepTiming{}, errors.New("timing analytic: not wired yet")
}

func aicTiming(*config.Config) (StepTiming, error) {
	return StepTiming{}, errors.New("timing aic: not wired yet")
}

func (s *Server) snapshot() (engine.Time, any) { return 0, nil }
