package assembly

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fakellm/config"
	"fakellm/engine"
)

// maxRanks bounds what one process simulates.
const maxRanks = 20_000

// Engine translates the settings into one worker. The error joins every problem, each under its setting's name.
func Engine(c *config.Config) (engine.Config, error) {
	s := &c.Engine
	e := engine.DefaultConfig(engine.Backend(s.Backend))
	e.NumGPUBlocks = orElse(s.NumGPUBlocks, e.NumGPUBlocks)
	e.BlockSize = orElse(s.BlockSize, e.BlockSize)
	e.MaxModelLen = s.MaxModelLen
	e.MaxNumSeqs = orElse(s.MaxNumSeqs, engine.Unlimited)
	e.MaxNumBatchedTokens = orElse(s.MaxNumBatchedTokens, engine.Unlimited)
	e.EnablePrefixCaching, e.EnableChunkedPrefill = s.EnablePrefixCaching, s.EnableChunkedPrefill
	e.PreemptionMode = s.PreemptionMode
	e.DPSize = s.DataParallelSize
	e.PrefillScheduleInterval, e.PrefillDecodeInterval = s.PrefillScheduleInterval, s.PrefillDecodeInterval
	e.NumSpeculativeTokens, e.AcceptSeed = s.NumSpeculativeTokens, s.AcceptSeed
	e.SGLang = engine.SGLangConfig{
		SchedulePolicy: s.SchedulePolicy, MaxPrefillTokens: s.MaxPrefillTokens, ChunkedPrefillSize: s.ChunkedPrefillSize,
		ClipMaxNewTokens: s.ClipMaxNewTokens, ScheduleConservativeness: s.ScheduleConservativness,
	}
	rates, err := acceptRates(s)
	e.AcceptRates = rates
	problems := []error{err}
	for _, p := range e.Validate() {
		field, rest, _ := strings.Cut(p.Error(), " ")
		switch field { // two that have other names in settings
		case "dp_size":
			p = fmt.Errorf("data_parallel_size %s", rest)
		case "accept_rates":
			p = fmt.Errorf("acceptance_rates %s", rest)
		}
		problems = append(problems, p)
	}
	if n := s.NumWorkers * s.DataParallelSize; n > maxRanks {
		problems = append(problems, fmt.Errorf("num_workers %d x data_parallel_size %d: %d ranks, at most %d",
			s.NumWorkers, s.DataParallelSize, n, maxRanks))
	}
	return e, errors.Join(append(problems, portProblems(c)...)...)
}

// portProblems sees to it that every rank's ports exist, and what they serve.
func portProblems(c *config.Config) []error {
	var out []error
	if c.KVReplayPort > 0 && c.KVEventsPort == 0 {
		out = append(out, fmt.Errorf("zmq_replay_port %d: needs zmq_kv_events_port, whose events it replays", c.KVReplayPort))
	}
	last := c.NumWorkers*c.DataParallelSize - 1
	for _, f := range []struct {
		name string
		port int
	}{{"zmq_kv_events_port", c.KVEventsPort}, {"zmq_replay_port", c.KVReplayPort}, {"zmq_fpm_port", c.FPMPort}} {
		if f.port > 0 && f.port+last > 65535 {
			out = append(out, fmt.Errorf("%s %d: the port of the last of %d ranks would be %d, beyond 65535", f.name, f.port, last+1, f.port+last))
		}
	}
	return out
}

func acceptRates(s *config.Engine) ([]float64, error) {
	if s.AcceptRates == "" {
		return nil, nil
	}
	if s.NumSpeculativeTokens == 0 {
		return nil, errors.New("acceptance_rates: set num_speculative_tokens as well")
	}
	var out []float64
	for i, text := range strings.Split(s.AcceptRates, ",") {
		r, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, fmt.Errorf("acceptance_rates: item %d: %q is not a number", i, text)
		}
		out = append(out, r)
	}
	return out, nil
}

// LongestSequence returns the longest prompt plus output, in tokens, that can always be served: max_model_len, or what
// the pool of one rank can hold. SGLang admits only while something stays free, so it loses one page (spec engine-core
// §4.4: charge + reserve < rem_total).
func LongestSequence(e engine.Config) int {
	pool := e.NumGPUBlocks * e.BlockSize
	if e.Backend == engine.SGLang {
		pool -= e.BlockSize
	}
	if e.MaxModelLen > 0 {
		return min(e.MaxModelLen, pool)
	}
	return pool
}

func orElse(v, zero int) int {
	if v == 0 {
		return zero
	}
	return v
}
