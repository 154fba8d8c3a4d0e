package enginetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fakellm/engine"
	"fakellm/engine/kv"
)

// Golden is a load with the answers of the reference simulator (ai-dynamo-runtime 1.6.1).
type Golden struct {
	Name    string
	Config  engine.Config
	Model   engine.StepModel
	Workers int
	// Concurrency, if not 0, replaces the arrivals by a closed loop.
	Concurrency int
	Rows        []GoldenRow
	Want        []GoldenAnswer
}

// GoldenRow is one request of the load.
type GoldenRow struct {
	Timestamp float64 `json:"timestamp"`
	Session   string  `json:"session_id"`
	Input     int     `json:"input_length"`
	Output    int     `json:"output_length"`
	HashIDs   []int   `json:"hash_ids"`
}

// GoldenAnswer is what became of one request; nil instants did not happen.
type GoldenAnswer struct {
	Arrival  float64  `json:"arrival_time_ms"`
	Admit    *float64 `json:"first_admit_ms"`
	First    *float64 `json:"first_token_ms"`
	Last     *float64 `json:"last_token_ms"`
	Terminal float64  `json:"terminal_time_ms"`
	Input    int      `json:"input_length"`
	Output   int      `json:"output_length"`
	Reused   int      `json:"reused_input_tokens"`
	Admits   int      `json:"admission_count"`
	Status   string   `json:"terminal_status"`
}

// goldenFile is the form on disk.
type goldenFile struct {
	Name string
	Args map[string]json.RawMessage
	Rows []GoldenRow `json:"trace"`
	Want struct {
		Requests []GoldenAnswer
	} `json:"expect"`
}

// goldenEngine are the engine settings a golden may name.
type goldenEngine struct {
	Backend       engine.Backend `json:"backend"`
	Blocks        int            `json:"num_gpu_blocks"`
	BlockSize     int            `json:"block_size"`
	ModelLen      int            `json:"max_model_len"`
	Seqs          int            `json:"max_num_seqs"`
	Tokens        int            `json:"max_num_batched_tokens"`
	Caching       *bool          `json:"enable_prefix_caching"`
	Chunking      *bool          `json:"enable_chunked_prefill"`
	Preemption    string         `json:"preemption_mode"`
	Schedule      int            `json:"prefill_schedule_interval"`
	Decode        int            `json:"prefill_decode_interval"`
	Speedup       float64        `json:"speedup_ratio"`
	DecodeSpeedup float64        `json:"decode_speedup_ratio"`
	Drafts        int            `json:"aic_nextn"`
	Rates         string         `json:"aic_nextn_accept_rates"`
	Seed          *uint64        `json:"aic_mtp_seed"`
	Timing        struct {
		Type    string  `json:"type"`
		Prefill float64 `json:"prefill_ms"`
		Decode  float64 `json:"decode_ms"`
	} `json:"timing_model"`
	SGLang struct {
		Policy           string   `json:"schedule_policy"`
		Prefill          int      `json:"max_prefill_tokens"`
		Chunk            int      `json:"chunked_prefill_size"`
		Conservativeness *float64 `json:"schedule_conservativeness"`
		Clip             *int     `json:"clip_max_new_tokens"`
	} `json:"sglang"`
}

// ParseGolden reads a scenario. The error says what of it these tests cannot play: sessions, handoff, other formats.
func ParseGolden(text []byte) (*Golden, error) {
	var f goldenFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	g := &Golden{Name: f.Name, Rows: f.Rows, Want: f.Want.Requests, Workers: 1}
	var launch struct {
		Engine goldenEngine `json:"engine"`
		Ranks  int          `json:"dp_size"`
	}
	block := 0
	for key, value := range f.Args { // order: each key sets a field of its own
		var err error
		switch key {
		case "extra_engine_args":
			d := json.NewDecoder(strings.NewReader(string(value)))
			d.DisallowUnknownFields()
			err = d.Decode(&launch)
		case "num_workers":
			err = json.Unmarshal(value, &g.Workers)
		case "replay_concurrency":
			err = json.Unmarshal(value, &g.Concurrency)
		case "trace_block_size":
			err = json.Unmarshal(value, &block)
		default:
			err = fmt.Errorf("argument %s", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if launch.Engine.Timing.Type != "" && launch.Engine.Timing.Type != "fixed" {
		return nil, fmt.Errorf("timing model %s", launch.Engine.Timing.Type)
	}
	if len(g.Rows) == 0 || g.Rows[0].Session != "" || g.Workers > 1 && g.Concurrency > 0 {
		return nil, fmt.Errorf("not a plain load")
	}
	g.configure(launch.Engine, launch.Ranks, block)
	return g, nil
}

// configure translates the settings.
func (g *Golden) configure(e goldenEngine, ranks, block int) {
	c := engine.DefaultConfig(e.Backend)
	set := func(dst *int, v int) {
		if v != 0 {
			*dst = v
		}
	}
	set(&c.NumGPUBlocks, e.Blocks)
	set(&c.BlockSize, e.BlockSize)
	set(&c.MaxModelLen, e.ModelLen)
	set(&c.MaxNumSeqs, e.Seqs)
	set(&c.MaxNumBatchedTokens, e.Tokens)
	set(&c.PrefillScheduleInterval, e.Schedule)
	set(&c.PrefillDecodeInterval, e.Decode)
	set(&c.NumSpeculativeTokens, e.Drafts)
	set(&c.DPSize, ranks)
	set(&c.SGLang.MaxPrefillTokens, e.SGLang.Prefill)
	set(&c.SGLang.ChunkedPrefillSize, e.SGLang.Chunk)
	c.EnablePrefixCaching = e.Caching == nil || *e.Caching
	c.EnableChunkedPrefill = e.Chunking == nil || *e.Chunking
	if e.Preemption != "" {
		c.PreemptionMode = e.Preemption
	}
	if e.Seed != nil {
		c.AcceptSeed = *e.Seed
	}
	for rate := range strings.SplitSeq(e.Rates, ",") {
		if v, err := strconv.ParseFloat(strings.TrimSpace(rate), 64); err == nil {
			c.AcceptRates = append(c.AcceptRates, v)
		}
	}
	if e.SGLang.Policy != "" {
		c.SGLang.SchedulePolicy = e.SGLang.Policy
	}
	if e.SGLang.Conservativeness != nil {
		c.SGLang.ScheduleConservativeness = *e.SGLang.Conservativeness
	}
	if e.SGLang.Clip != nil {
		c.SGLang.ClipMaxNewTokens = *e.SGLang.Clip
	}
	g.Config, g.Model = c, Poly{Speedup: e.Speedup, DecodeSpeedup: e.DecodeSpeedup}
	if e.Timing.Type == "fixed" {
		g.Model = Fixed{Nanos(e.Timing.Prefill / 1000), Nanos(e.Timing.Decode / 1000)}
	}
	slices.SortStableFunc(g.Rows, func(a, b GoldenRow) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	seen := map[int]uint32{}
	for i, row := range g.Rows {
		for j, id := range row.HashIDs {
			if _, ok := seen[id]; !ok {
				seen[id] = uint32(len(seen))
			}
			g.Rows[i].HashIDs[j] = int(seen[id])
		}
		if len(row.HashIDs) > 0 && block == 0 {
			block = 512
		}
	}
	for i := range g.Rows {
		g.Rows[i].Session = strconv.Itoa(block)
	}
}

// Request returns the i-th request of the load. Its output has identities of its own, as in the reference.
func (g *Golden) Request(i int) *engine.Request {
	row := g.Rows[i]
	r := &engine.Request{ID: engine.RequestID(i), PromptTokens: row.Input, MaxOutput: row.Output, Rank: engine.AnyRank}
	if block, _ := strconv.Atoi(row.Session); block > 0 {
		var ids []uint32
		for _, id := range row.HashIDs {
			for range block {
				ids = append(ids, uint32(id))
			}
		}
		r.Content = kv.Tokens(ids[:min(len(ids), row.Input)])
	}
	return r
}

// Answers runs the load and returns what became of each request, in the order of arrival.
func (g *Golden) Answers(runs bool) ([]GoldenAnswer, *Recorder, error) {
	rec := NewRecorder()
	engines, err := g.engines(runs)
	if err != nil {
		return nil, nil, err
	}
	next := 0
	submit := func(at engine.Time) error {
		r := g.Request(next)
		e := engines[next%len(engines)]
		next++
		rec.Arrived(at, r)
		return e.Apply(at, engine.Submit{Request: r})
	}
	if g.Concurrency > 0 {
		rec.OnEnd = func(at engine.Time, _ *Record) {
			if next < len(g.Rows) {
				if err := submit(at); err != nil {
					rec.problem("closed loop: %v", err)
				}
			}
		}
		for range min(g.Concurrency, len(g.Rows)) {
			if err := submit(0); err != nil {
				return nil, nil, err
			}
		}
	} else {
		for _, row := range g.Rows {
			if err := submit(engine.Time(math.Round(row.Timestamp * 1e6))); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, e := range engines {
		for at, ok := e.Next(); ok; at, ok = e.Next() {
			if err := e.Advance(at, rec); err != nil {
				return nil, nil, err
			}
		}
	}
	return answers(rec), rec, nil
}

func (g *Golden) engines(runs bool) ([]*engine.Engine, error) {
	var engines []*engine.Engine
	for w := range g.Workers {
		c := g.Config
		c.Runs, c.WorkerID = runs, w
		e, err := engine.New(c, g.Model)
		if err != nil {
			return nil, err
		}
		engines = append(engines, e)
	}
	return engines, nil
}

func answers(rec *Recorder) []GoldenAnswer {
	ms := func(t engine.Time) *float64 {
		if t < 0 {
			return nil
		}
		v := t.Milliseconds()
		return &v
	}
	var rows []GoldenAnswer
	for _, r := range rec.Order {
		rows = append(rows, GoldenAnswer{
			Arrival: r.Arrival.Milliseconds(), Admit: ms(r.Admit), First: ms(r.First), Last: ms(r.Last),
			Terminal: r.Done.Milliseconds(), Input: r.Req.PromptTokens, Output: r.Tokens, Reused: r.Reused,
			Admits: r.Admissions, Status: r.End.String(),
		})
	}
	return rows
}
