package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fakellm/config"
	"fakellm/engine"
	"fakellm/engine/cluster"
	"fakellm/internal/assembly"
	"fakellm/internal/experiment/replay"
	"fakellm/internal/experiment/report"
	"fakellm/internal/experiment/workload"
	"fakellm/internal/experiment/workload/trace"
	"fakellm/timing"
)

// newReplay builds the command that replays a workload in virtual time.
func newReplay(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay [TRACE]",
		Short: "Replay a request trace, or a made-up load, in virtual time",
		Long: "replay runs the engine that serve paces its answers by, without a clock: an hour of traffic takes a\n" +
			"fraction of a second, and equal input gives equal output to the byte. Without TRACE the load is made up: --input-tokens,\n" +
			"--output-tokens, --request-count and one of --request-rate, --arrival-interval-ms, --replay-concurrency.",
		Example: "  fakellm replay trace.jsonl --num-workers 8\n" +
			"  fakellm replay trace.jsonl --extra-engine-args '{\"engine\": {\"backend\": \"sglang\"}, \"dp_size\": 2}'\n" +
			"  fakellm replay --input-tokens 1024 --output-tokens 128 --request-count 1000 --request-rate 5",
		Args: oneArg,
	}
	load := settings(cmd, env, config.Sections("Engine", "Timing"), nil)
	f := addReplayFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			f.trace = args[0]
		}
		c, err := load(nil)
		if err != nil {
			return err
		}
		job, err := f.job(&c)
		if err != nil {
			return badInput(c.Locate(err))
		}
		return job.run(env, f)
	}
	return cmd
}

// replayJob is a replay ready to run.
type replayJob struct {
	load   *workload.Load
	cfg    replay.Config
	timing assembly.StepTiming
}

// job checks every flag, reads the trace and builds the timing model. Its errors are the user's.
func (f *replayFlags) job(c *config.Config) (*replayJob, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if err := f.checkFiles(); err != nil {
		return nil, err
	}
	extra, err := readEngineArgs(f.engineArgs)
	if err != nil {
		return nil, err
	}
	before := *c
	if err := extra.apply(c); err != nil {
		return nil, err
	}
	c.Override(&before, "flag --extra-engine-args")
	job := &replayJob{}
	if job.timing, err = assembly.Timing(c); err != nil {
		return nil, err
	}
	worker, err := f.worker(c, job.timing)
	if err != nil {
		return nil, err
	}
	if job.load, err = f.load(worker.BlockSize); err != nil {
		return nil, err
	}
	job.cfg = replay.Config{
		Cluster:  cluster.Config{Workers: c.NumWorkers, Engine: worker},
		Arrivals: workload.Arrivals{Concurrency: f.concurrency, Speedup: f.speedup},
		GPUs:     c.TensorParallelSize * c.DataParallelSize,
	}
	if f.maxSim.set {
		ms := f.maxSim.value * 1000
		job.cfg.MaxSimMS = &ms
	}
	return job, nil
}

// worker is the worker of the settings. The reference's own arguments mean 16384 blocks where they name none; our flags
// mean what the GPU of the timing model can hold, as in serve.
func (f *replayFlags) worker(c *config.Config, t assembly.StepTiming) (engine.Config, error) {
	if f.engineArgs != "" {
		return assembly.Engine(c)
	}
	return assembly.Worker(c, t)
}

// load reads the trace or makes the load up.
func (f *replayFlags) load(blockSize int) (*workload.Load, error) {
	if f.trace == "" {
		s := f.synthetic
		s.Block = blockSize
		return s.Load()
	}
	file, err := os.Open(f.trace)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	defer func() { _ = file.Close() }()
	return trace.Mooncake(file, trace.Options{
		Name: f.trace, Block: f.traceBlock, Delta: f.traceFormat == "mooncake-delta",
	})
}

// run replays, writes the files and prints the table.
func (j *replayJob) run(env Env, f *replayFlags) error {
	bar := newBar(env.Stderr, len(j.load.Turns))
	j.cfg.Progress = bar.step
	start := time.Now()
	result, err := replay.Run(j.load, j.cfg, j.timing.Model)
	wall := time.Since(start)
	bar.finish()
	if _, ok := errors.AsType[*workload.Error](err); ok {
		return badInput(err)
	}
	if err != nil {
		return err
	}
	result.Totals.WallMS = float64(wall) / 1e6
	summary := report.Summarize(result.Records, result.Totals)
	if f.perRequest != "" {
		report.SortByArrival(result.Records)
		err = writeFile("per-request-jsonl", f.perRequest, func(w io.Writer) error { return report.WriteJSONL(w, result.Records) })
		if err != nil {
			return err
		}
	}
	if f.reportJSON != "" {
		if err := writeFile("report-json", f.reportJSON, summary.WriteJSON); err != nil {
			return err
		}
	}
	if err := summary.WriteTable(env.Stdout); err != nil {
		return err
	}
	failed := uncompleted(result.Records)
	if err := j.remarks(env.Stdout, failed); err != nil {
		return err
	}
	if result.Totals.Released == 0 {
		return errors.New("there was no request to replay")
	}
	if text := failed.total(result.Totals.Released, len(result.Records)); text != "" {
		// The answer to "what becomes of this load" is no failure of the replay.
		_, _ = fmt.Fprintf(env.Stderr, "fakellm: warning: %s\n", text)
	}
	return nil
}

// failures are the requests that were not completed, by reason; the most frequent one comes first.
type failures struct {
	requests int
	reasons  []string
	count    []int
}

// total says that none of the released requests completed, with the most frequent reason; recorded of them ended. It is
// empty when one did.
func (f *failures) total(released, recorded int) string {
	switch {
	case recorded == 0:
		return fmt.Sprintf("none of %d requests ended within max_sim_time_seconds", released)
	case f.requests == recorded:
		return fmt.Sprintf("none of %d requests completed; %d %s", released, f.count[0], f.reasons[0])
	}
	return ""
}

// uncompleted sorts what is no success by its reason.
func uncompleted(records []report.Record) failures {
	why, f := map[string]int{}, failures{}
	for i := range records {
		if r := &records[i]; r.Status != "completed" {
			f.requests++
			why[strings.TrimSuffix(r.Status+": "+r.Why, ": ")]++
		}
	}
	f.reasons = slices.SortedFunc(maps.Keys(why), func(a, b string) int { return cmp.Or(why[b]-why[a], cmp.Compare(a, b)) })
	for _, reason := range f.reasons {
		f.count = append(f.count, why[reason])
	}
	return f
}

// remarks says what the figures do not show: requests that could not be served, and shapes outside the timing data.
func (j *replayJob) remarks(w io.Writer, f failures) error {
	text := ""
	if f.requests > 0 {
		text = fmt.Sprintf("\n%d requests were not completed:\n", f.requests)
	}
	for i, reason := range f.reasons {
		if i == mostReasons {
			text += fmt.Sprintf("  and %d more reasons, see --per-request-jsonl\n", len(f.reasons)-i)
			break
		}
		text += fmt.Sprintf("  %d %s\n", f.count[i], reason)
	}
	if _, limited := j.timing.Source.(timing.Coverage); limited {
		if m, ok := j.timing.Model.(timing.Extrapolator); ok {
			text += fmt.Sprintf("\ntiming: %d shapes were priced outside the measured data, by extrapolation\n", m.Extrapolations())
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// mostReasons bounds the reasons that are listed.
const mostReasons = 10

// checkFiles refuses to write where the trace is read, or two outputs into one file.
func (f *replayFlags) checkFiles() error {
	same := func(a, b string) bool {
		x, errX := os.Stat(a)
		y, errY := os.Stat(b)
		return errX == nil && errY == nil && os.SameFile(x, y)
	}
	for _, out := range []struct{ flag, path string }{{"report_json", f.reportJSON}, {"per_request_jsonl", f.perRequest}} {
		if f.trace != "" && out.path != "" && same(out.path, f.trace) {
			return fmt.Errorf("%s %s: that is the trace, which would be overwritten", out.flag, out.path)
		}
	}
	if f.reportJSON != "" && (f.reportJSON == f.perRequest || same(f.reportJSON, f.perRequest)) {
		return fmt.Errorf("per_request_jsonl %s: report_json goes to the same file", f.perRequest)
	}
	return nil
}
