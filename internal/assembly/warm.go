package assembly

import (
	"errors"
	"time"

	"fakellm/config"
	"fakellm/openai"
	"fakellm/tokenize"
)

// preload starts to load the vocabularies of the served models, or of the default one, and to rehearse an answer, beside
// the rest of the start, and returns what waits for it: about 11 ms of processor time that no first request shall wait
// for.
func preload(p *openai.ReplyPlanner, c *config.Config) (wait func() error) {
	done := make(chan error, 1)
	go func() {
		var problems []error
		for _, name := range served(c) {
			problems = append(problems, p.Load(name))
		}
		_ = rehearse(p, served(c)[0]) // without it a first request is slower, no more
		done <- errors.Join(problems...)
	}()
	return func() error { return <-done }
}

// served are the names that are answered, or the default one where any name is.
func served(c *config.Config) []string {
	if len(c.ServedModelName) > 0 {
		return c.ServedModelName
	}
	return []string{c.Model}
}

// othersAfter is when a server that answers any name loads what the default name did not need: not while a first request
// may be on its way.
const othersAfter = 500 * time.Millisecond

// preloadOthers loads the vocabularies of all other names, in the background, if any name is answered.
func (s *Server) preloadOthers(p *openai.ReplyPlanner) {
	if len(s.cfg.ServedModelName) > 0 {
		return
	}
	select {
	case <-s.stop:
		return
	case <-time.After(othersAfter):
	}
	for _, name := range []string{"gpt-4", "gpt-4o"} { // one of each vocabulary; a tokenizer that is set makes them one
		if err := p.Load(name); err != nil {
			s.log.Error("a vocabulary could not be loaded", "tokenizer", tokenize.ForModel(name), "err", err)
		}
	}
}
