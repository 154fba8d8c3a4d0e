package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"fakellm/internal/experiment/workload"
	"fakellm/internal/experiment/workload/trace"
)

// replayFlags are the flags that only replay has, under the reference's names.
type replayFlags struct {
	trace, traceFormat, routerMode, engineArgs string
	traceBlock, concurrency                    int
	speedup                                    float64
	maxSim                                     optionalFloat
	reportJSON, perRequest                     string
	synthetic                                  workload.Synthetic
	rate, interval                             optionalFloat
	changed                                    func(string) bool
	later                                      []string
}

// optionalFloat is a flag that knows whether it was given.
type optionalFloat struct {
	value float64
	set   bool
}

// String implements pflag.Value.
func (o *optionalFloat) String() string {
	if !o.set {
		return ""
	}
	return strconv.FormatFloat(o.value, 'g', -1, 64)
}

// Set implements pflag.Value.
func (o *optionalFloat) Set(text string) (err error) {
	o.set = true
	o.value, err = strconv.ParseFloat(text, 64)
	return err
}

// Type implements pflag.Value.
func (o *optionalFloat) Type() string { return "float" }

func addReplayFlags(cmd *cobra.Command) *replayFlags {
	f := &replayFlags{changed: func(name string) bool { return cmd.Flags().Changed(name) }}
	fs := cmd.Flags()
	fs.StringVar(&f.engineArgs, "extra-engine-args", "",
		"the reference's nested engine arguments: JSON, or @FILE with JSON; they override the engine flags")
	fs.StringVar(&f.routerMode, "router-mode", "round_robin", "how workers are chosen (round_robin)")
	fs.StringVar(&f.traceFormat, "trace-format", "mooncake", "format of TRACE (mooncake, mooncake-delta)")
	fs.IntVar(&f.traceBlock, "trace-block-size", trace.DefaultBlock, "tokens of one hash id of the trace")
	fs.IntVar(&f.concurrency, "replay-concurrency", 0, "closed loop: sessions under way at once; timestamps are ignored")
	fs.Float64Var(&f.speedup, "arrival-speedup-ratio", 1,
		"divides arrival times and, in an open loop, delays between turns")
	fs.Var(&f.maxSim, "max-sim-time-seconds", "end before the first instant later than this")
	fs.StringVar(&f.reportJSON, "report-json", "", "file for the summary as JSON")
	fs.StringVar(&f.perRequest, "per-request-jsonl", "", "file for one JSON object per request")
	s := &f.synthetic
	fs.IntVar(&s.Prompt, "input-tokens", 0, "made-up load: prompt length in tokens")
	fs.IntVar(&s.Output, "output-tokens", 0, "made-up load: output length in tokens")
	fs.IntVar(&s.Sessions, "request-count", 0, "made-up load: number of requests (sessions, if they have several turns)")
	fs.IntVar(&s.Turns, "turns-per-session", 1, "made-up load: turns of each session")
	fs.Var(&f.rate, "request-rate", "made-up load: Poisson arrivals per second")
	fs.Var(&f.interval, "arrival-interval-ms", "made-up load: constant time between arrivals in ms")
	fs.Uint64Var(&s.Seed, "arrival-seed", 42, "made-up load: seed of the Poisson arrivals")
	fs.Float64Var(&s.SharedRatio, "shared-prefix-ratio", 0,
		"made-up load: share of prompt blocks that are a group's prefix")
	fs.IntVar(&s.Groups, "num-prefix-groups", 0, "made-up load: number of prefix groups")
	fs.Float64Var(&s.Delay, "inter-turn-delay-ms", 0, "made-up load: think time between turns in ms")
	f.later = []string{
		"prefill-engine-args", "decode-engine-args", "num-prefill-workers", "num-decode-workers", "router-config",
		"execution-model", "agentic-lanes", "trace-shared-prefix-ratio", "trace-num-prefix-groups", "kv-event-lag-ms",
	}
	for _, name := range f.later {
		fs.String(name, "", "not supported yet")
		_ = fs.MarkHidden(name) // it was defined the line before
	}
	return f
}

// check refuses what does not go together or is not built yet.
func (f *replayFlags) check() error {
	for _, name := range f.later {
		if f.changed(name) {
			return fmt.Errorf("%s: not supported yet", name)
		}
	}
	switch {
	case f.routerMode != "round_robin":
		return fmt.Errorf("router_mode %q: only round_robin is supported", f.routerMode)
	case f.traceFormat != "mooncake" && f.traceFormat != "mooncake-delta":
		return fmt.Errorf("trace_format %q: only mooncake and mooncake-delta are supported", f.traceFormat)
	case f.traceBlock < 1:
		return fmt.Errorf("trace_block_size %d: must be at least 1", f.traceBlock)
	case f.changed("replay-concurrency") && f.concurrency < 1:
		return fmt.Errorf("replay_concurrency %d: must be at least 1", f.concurrency)
	case !(f.speedup > 0) || math.IsInf(f.speedup, 0):
		return fmt.Errorf("arrival_speedup_ratio %v: must be finite and greater than 0", f.speedup)
	case f.maxSim.set && (!(f.maxSim.value >= 0) || f.maxSim.value > 1e9):
		return fmt.Errorf("max_sim_time_seconds %v: must be from 0 to 1e9", f.maxSim.value)
	}
	return f.checkLoad()
}

// checkLoad sees to it that there is either a trace or a made-up load with one kind of arrivals.
func (f *replayFlags) checkLoad() error {
	if f.trace != "" {
		for _, name := range []string{
			"input-tokens", "output-tokens", "request-count", "turns-per-session", "request-rate", "arrival-interval-ms",
			"arrival-seed", "shared-prefix-ratio", "num-prefix-groups", "inter-turn-delay-ms",
		} {
			if f.changed(name) {
				return fmt.Errorf("%s: belongs to a made-up load, but a trace is given", name)
			}
		}
		return nil
	}
	if !f.changed("input-tokens") && !f.changed("output-tokens") && !f.changed("request-count") {
		return errors.New("a trace file, or --input-tokens, --output-tokens and --request-count, is needed")
	}
	kinds := 0
	for _, given := range []bool{f.rate.set, f.interval.set, f.concurrency > 0} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("request_rate, arrival_interval_ms, replay_concurrency: give exactly one of them")
	}
	if f.rate.set && !(f.rate.value > 0) {
		return fmt.Errorf("request_rate %v: must be greater than 0", f.rate.value)
	}
	f.synthetic.Rate, f.synthetic.Interval = f.rate.value, f.interval.value
	return f.checkSize()
}

// Bounds of a made-up load: what a replay could not hold in memory is refused before it tries.
const (
	maxLoadTokens   = 1 << 30
	maxLoadRequests = 50_000_000
	maxLoadBlocks   = 2_000_000_000
)

// checkSize bounds lengths, requests and the identities of all prompt blocks together (at least 16 tokens a block).
func (f *replayFlags) checkSize() error {
	s := &f.synthetic
	switch {
	case s.Prompt > maxLoadTokens:
		return fmt.Errorf("input_tokens %d: at most %d", s.Prompt, maxLoadTokens)
	case s.Output > maxLoadTokens:
		return fmt.Errorf("output_tokens %d: at most %d", s.Output, maxLoadTokens)
	case s.Sessions > maxLoadRequests || s.Turns > maxLoadRequests || s.Sessions*s.Turns > maxLoadRequests:
		return fmt.Errorf("request_count %d x turns_per_session %d: at most %d requests", s.Sessions, s.Turns, maxLoadRequests)
	case s.Sessions*s.Turns*(s.Prompt/16+1) > maxLoadBlocks:
		return fmt.Errorf("request_count %d x input_tokens %d: more than memory holds", s.Sessions*s.Turns, s.Prompt)
	}
	return nil
}

// writeFile writes path through a buffer and says so if that fails.
func writeFile(flag, path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("flag --%s: %w", flag, err)
	}
	buffered := bufio.NewWriterSize(file, 1<<16)
	err = errors.Join(write(buffered), buffered.Flush(), file.Close())
	if err != nil {
		return fmt.Errorf("flag --%s: writing %s: %w", flag, path, err)
	}
	return nil
}
