package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fakellm/config"
	"fakellm/engine/cluster"
	"fakellm/internal/assembly"
	"fakellm/internal/experiment/replay"
	"fakellm/internal/experiment/report"
	"fakellm/internal/experiment/workload"
	"fakellm/internal/experiment/workload/trace"
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
		Args: atMost(1),
	}
	load := settings(cmd, env, config.Sections("Engine", "Timing"))
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
			return badInput(err)
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
	extra, err := readEngineArgs(f.engineArgs)
	if err != nil {
		return nil, err
	}
	if err := extra.apply(c); err != nil {
		return nil, err
	}
	job := &replayJob{}
	if job.timing, err = assembly.Timing(c); err != nil {
		return nil, err
	}
	worker, err := assembly.Engine(c)
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
		err = writeFile(f.perRequest, func(w io.Writer) error { return report.WriteJSONL(w, result.Records) })
		if err != nil {
			return err
		}
	}
	if f.reportJSON != "" {
		if err := writeFile(f.reportJSON, summary.WriteJSON); err != nil {
			return err
		}
	}
	return summary.WriteTable(env.Stdout)
}
