package assembly

import (
	"errors"
	"fmt"

	"fakellm/config"
	"fakellm/engine"
	"fakellm/internal/observe/kvevents"
	"fakellm/openai"
	"fakellm/openai/fault"
	"fakellm/openai/limit"
	"fakellm/openai/reply/script"
	"fakellm/timing"
	"fakellm/timing/profile"
)

// StepTiming is a timing model with what is known about it.
type StepTiming struct {
	// Source prices a pass in raw milliseconds, Model rounds and scales it.
	Source timing.Source
	Model  engine.StepModel
	// Blocks is how many KV blocks of the given size a rank can hold, as far as the model knows; 0 when it does not.
	Blocks func(blockSize int) (int, error)
}

// timingName is the model in force: naming a GPU, tables or a profile implies it.
func timingName(c *config.Config) string {
	switch {
	case c.Fast:
		return "zero"
	case c.TimingModel != "polynomial":
		return c.TimingModel
	case c.ProfileData != "":
		return "profile"
	case c.AICSystem != "":
		return "aic"
	case c.GPU != "":
		return "analytic"
	}
	return "polynomial"
}

// Timing builds the timing model that the settings ask for. Errors name the setting and the file.
func Timing(c *config.Config) (StepTiming, error) {
	t, err := source(c)
	if err != nil {
		return StepTiming{}, err
	}
	t.Model, err = timing.New(t.Source, c.SpeedupRatio, c.DecodeSpeedupRatio)
	return t, err
}

func source(c *config.Config) (StepTiming, error) {
	switch name := timingName(c); name {
	case "zero":
		return StepTiming{Source: timing.Zero{}}, nil
	case "polynomial":
		return StepTiming{Source: timing.Polynomial{}}, nil
	case "fixed":
		return StepTiming{Source: timing.Fixed{Prefill: c.PrefillMS, Decode: c.DecodeMS}}, nil
	case "profile":
		p, err := Profile(c.ProfileData)
		return StepTiming{Source: p}, err
	case "analytic":
		return analyticTiming(c)
	case "aic":
		return aicTiming(c)
	default:
		return StepTiming{}, fmt.Errorf("timing: %q is unknown", name)
	}
}

// Profile loads a measured profile: an .npz file, or a profiler's results directory.
func Profile(path string) (*profile.Profile, error) {
	if path == "" {
		return nil, errors.New("timing: profile needs planner_profile_data, an .npz file or a results directory")
	}
	p, err := profile.Load(path)
	if err != nil {
		return nil, fmt.Errorf("planner_profile_data %s: %w", path, err)
	}
	return p, nil
}

// Worker is the worker of the settings, its pool sized by the timing model's GPU when nothing else is said.
func Worker(c *config.Config, t StepTiming) (engine.Config, error) {
	sized := *c
	if c.NumGPUBlocks == 0 && t.Blocks != nil {
		size := orElse(c.BlockSize, engine.DefaultConfig(engine.Backend(c.Backend)).BlockSize)
		n, err := t.Blocks(size)
		if err != nil {
			gpu := "gpu"
			if timingName(c) == "aic" {
				gpu = "aic_system"
			}
			return engine.Config{}, fmt.Errorf("%s: num_gpu_blocks: %w", gpu, err)
		}
		sized.NumGPUBlocks = n
	}
	return Engine(&sized)
}

// parts are what a server is built from once its settings and files have been read.
type parts struct {
	timing StepTiming
	engine engine.Config
	book   *script.Book
	faults []fault.Rule
	tape   *script.Tape // nil for none
	limits limit.Config
	plan   *openai.ReplyPlanner // has loaded nothing yet
}

// read reads everything that settings name. It starts nothing; the error joins every problem, each with where its setting
// was given.
func read(c *config.Config) (parts, error) {
	var p parts
	var problems []error
	note := func(err error) { problems = append(problems, err) }
	if c.Strict && c.Lenient {
		note(errors.New("strict, lenient: only one of them can be true"))
	}
	var err error
	if p.timing, err = Timing(c); err != nil {
		note(err)
		_, err = Engine(c) // the pool is not sized, all else can be judged
	} else {
		p.engine, err = Worker(c, p.timing)
	}
	note(err)
	p.book, err = loadBook(c.Mappings)
	note(err)
	p.faults, err = loadFaults(c.Faults)
	note(err)
	p.tape, err = loadTape(c.ReplayTape)
	note(err)
	note(recordProblem(c))
	note(named("kv_events_topic", kvevents.CheckTopic(c.KVEventsTopic)))
	p.plan, err = planner(c)
	note(err)
	p.limits, err = limits(c)
	note(err)
	return p, c.Locate(errors.Join(problems...))
}

// Check reports every problem that the settings and the files they name have, without starting a server.
func Check(c *config.Config) error {
	_, err := read(c)
	return err
}
