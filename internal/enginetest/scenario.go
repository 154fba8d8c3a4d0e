package enginetest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fakellm/engine"
	"fakellm/engine/kv"
)

// Scenario is an engine under a script. Its commands are those of the files under testdata/scenario:
//
//	engine key=value…   make an engine: backend, blocks, bs, seqs, budget, limit, cache, chunk, preempt, type, drafts,
//	                    rates, seed, dp, every, interval, events, ids, load, runs, time=PREFILL,DECODE (ms) or poly
//	submit id=1 prompt=8 out=2 [at=MS] [rank=R] [ids=0-7,90-91]   prompt and planned output tokens; none: no content
//	cancel id=1 [at=MS]
//	reset [at=MS]
//	to at=MS            advance; prints what happened
//	end [tail=N]        advance until nothing is due; prints what happened, or its last lines
//	state               print the state of the ranks
type Scenario struct {
	engine *engine.Engine
	log    PassLog
	audit  func(*engine.Engine) error
}

// NewScenario returns a scenario that calls audit after each command.
func NewScenario(audit func(*engine.Engine) error) *Scenario { return &Scenario{audit: audit} }

// Do carries out one command and returns what it says.
func (s *Scenario) Do(command string, args map[string]string) string {
	a := &arguments{values: args}
	var err error
	tail := 0
	switch command {
	case "engine":
		err = s.open(a)
	case "submit":
		err = s.submit(a)
	case "cancel":
		err = s.engine.Apply(a.at(), engine.Cancel{ID: engine.RequestID(a.number("id", 0))})
	case "reset":
		err = s.engine.Apply(a.at(), engine.ResetPrefixCache{})
	case "to":
		err = s.engine.Advance(a.at(), &s.log)
	case "end":
		tail = a.number("tail", 0)
		for at, ok := s.engine.Next(); ok && err == nil; at, ok = s.engine.Next() {
			err = s.engine.Advance(at, &s.log)
		}
	case "state":
		for rank, r := range s.engine.Snapshot().Ranks {
			s.log.Lines = append(s.log.Lines, fmt.Sprintf("rank %d: %+v", rank, r))
		}
	default:
		err = fmt.Errorf("unknown command %q", command)
	}
	if err == nil {
		err = a.leftover()
	}
	if err == nil {
		err = s.audit(s.engine)
	}
	if n := len(s.log.Lines); tail > 0 && n > tail {
		s.log.Lines = append([]string{fmt.Sprintf("… %d lines", n-tail)}, s.log.Lines[n-tail:]...)
	}
	out := strings.Join(s.log.Lines, "\n")
	s.log.Lines = nil
	if err != nil {
		out += "\nerror: " + err.Error()
	}
	return strings.TrimPrefix(out+"\n", "\n")
}

func (s *Scenario) open(a *arguments) error {
	c := engine.DefaultConfig(engine.Backend(a.word("backend", "vllm")))
	c.NumGPUBlocks = a.number("blocks", c.NumGPUBlocks)
	c.BlockSize = a.number("bs", c.BlockSize)
	c.MaxNumSeqs = a.number("seqs", c.MaxNumSeqs)
	c.MaxNumBatchedTokens = a.number("budget", c.MaxNumBatchedTokens)
	c.MaxModelLen = a.number("limit", 0)
	c.EnablePrefixCaching = a.number("cache", 1) == 1
	c.EnableChunkedPrefill = a.number("chunk", 1) == 1
	c.PreemptionMode = a.word("preempt", c.PreemptionMode)
	c.WorkerType = engine.WorkerType(a.word("type", string(c.WorkerType)))
	c.NumSpeculativeTokens = a.number("drafts", 0)
	for rate := range strings.SplitSeq(a.word("rates", ""), ",") {
		if v, err := strconv.ParseFloat(rate, 64); err == nil {
			c.AcceptRates = append(c.AcceptRates, v)
		}
	}
	c.AcceptSeed = uint64(a.number("seed", 42))
	c.WorkerID = a.number("worker", 0)
	c.DPSize = a.number("dp", 1)
	c.PrefillScheduleInterval = a.number("every", 1)
	c.PrefillDecodeInterval = a.number("interval", 0)
	c.EmitKVEvents = a.number("events", 0) == 1
	c.EmitKVTokenIDs = a.number("ids", 0) == 1
	c.EmitLoad = a.number("load", 0) == 1
	c.Runs = a.number("runs", 0) == 1
	s.log = PassLog{Unit: engine.Time(time.Millisecond)}
	var err error
	s.engine, err = engine.New(c, a.timing())
	return err
}

func (s *Scenario) submit(a *arguments) error {
	r := &engine.Request{
		ID: engine.RequestID(a.number("id", 0)), PromptTokens: a.number("prompt", 0), MaxOutput: a.number("out", 0),
		Rank: a.number("rank", engine.AnyRank),
	}
	if ids := a.tokens(); ids != nil {
		r.Content = ids
	}
	return s.engine.Apply(a.at(), engine.Submit{Request: r})
}

// arguments are the key=value pairs of a command. The first mistake is kept.
type arguments struct {
	values map[string]string
	err    error
}

func (a *arguments) word(key, other string) string {
	v, ok := a.values[key]
	delete(a.values, key)
	if !ok {
		return other
	}
	return v
}

func (a *arguments) number(key string, other int) int {
	v := a.word(key, strconv.Itoa(other))
	n, err := strconv.Atoi(v)
	if err != nil {
		a.err = cmp.Or(a.err, fmt.Errorf("%s %q: %w", key, v, err))
	}
	return n
}

func (a *arguments) milliseconds(v string) time.Duration {
	ms, err := strconv.ParseFloat(v, 64)
	if err != nil {
		a.err = cmp.Or(a.err, err)
	}
	return Nanos(ms / 1000)
}

func (a *arguments) at() engine.Time { return engine.Time(a.milliseconds(a.word("at", "0"))) }

func (a *arguments) timing() engine.StepModel {
	v := a.word("time", "10,2")
	if v == "poly" {
		return Poly{}
	}
	prefill, decode, _ := strings.Cut(v, ",")
	return Fixed{a.milliseconds(prefill), a.milliseconds(decode)}
}

// tokens reads a list of ids and ranges.
func (a *arguments) tokens() (ids kv.Tokens) {
	v := a.word("ids", "")
	if v == "" {
		return nil
	}
	for part := range strings.SplitSeq(v, ",") {
		first, last, _ := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(cmp.Or(last, first))
		a.err = cmp.Or(a.err, err, err2)
		for id := from; id <= to; id++ {
			ids = append(ids, uint32(id))
		}
	}
	return ids
}

// leftover reports mistakes and arguments that nobody asked for.
func (a *arguments) leftover() error {
	for key := range a.values { // order: any of them is an error
		a.err = cmp.Or(a.err, fmt.Errorf("unknown argument %q", key))
	}
	return a.err
}
