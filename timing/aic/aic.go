// Package aic is AIConfigurator's estimate of how long a pass takes: operator latencies measured on real GPUs, or their
// rooflines, summed over a model's layers (spec aic-timing). Numbers are milliseconds and equal the reference's.
//
// Data is a directory of tables; Data.Model loads what one deployment needs and returns a Model. Loading reads files;
// after it a Model is pure: no clock, no file, no lock; equal questions get equal answers, from any number of
// goroutines.
//
// Reading guide: fault (errors), table (files), grid (interpolation), perf (operators), model (operator lists, memory),
// then pass.go here (how passes are composed) and cases.go (batch answers).
package aic

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/model"
	"fakellm/timing/aic/perf"
	"fakellm/timing/aic/table"
)

// Error is the type of every refusal; see fault.Category for its categories.
type Error = fault.Error

// Data is an opened systems directory. It is safe for concurrent use.
type Data struct {
	store  *table.Store
	models []fs.FS
	cache  *cache
}

// roots are the places inside a file system where a systems directory may be, and the model configurations that belong
// to it: the directory itself, a checkout of shared data, an installed package, a wheel.
var roots = [][2]string{
	{".", ""},
	{"systems", "model_configs"},
	{"aisimulate_core/systems", "aisimulate_core/model_configs"},
	{"aic/systems", "aic/model_configs"},
}

// Open finds the systems directory in fsys and reads its indexes. models are further places for model configurations,
// asked in order after the one that belongs to the directory. A wheel (zip) is opened as a file system by the caller.
func Open(fsys fs.FS, models ...fs.FS) (*Data, error) {
	for _, r := range roots {
		if !isSystems(fsys, r[0]) {
			continue
		}
		sub, err := fs.Sub(fsys, r[0])
		if err != nil {
			return nil, fault.New(fault.BadData, "systems directory %s: %v", r[0], err)
		}
		store, err := table.Open(sub)
		if err != nil {
			return nil, err
		}
		d := &Data{store: store, cache: &cache{}}
		if r[1] != "" {
			if configs, err := fs.Sub(fsys, r[1]); err == nil {
				d.models = append(d.models, configs)
			}
		}
		d.models = append(d.models, models...)
		return d, nil
	}
	return nil, fault.New(fault.BadData, "no systems directory: want *.yaml files with gpu sections beside data/, "+
		"at the top or in systems/ or aisimulate_core/systems/")
}

// isSystems reports whether a directory holds at least one system's yaml file.
func isSystems(fsys fs.FS, dir string) bool {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".yaml" || e.IsDir() {
			continue
		}
		sub, err := fs.Sub(fsys, dir)
		if err != nil {
			return false
		}
		if _, err := table.LoadSystem(sub, strings.TrimSuffix(e.Name(), ".yaml")); err == nil {
			return true
		}
	}
	return false
}

// Config names a deployment. The zero value of a field is its default.
type Config struct {
	// Model is a name such as Qwen/Qwen3-8B, looked up as <name with / as -->_config.json.
	Model string
	// ModelConfig and ModelQuant replace the look-up: the bytes of config.json and hf_quant_config.json (or nil).
	ModelConfig, ModelQuant []byte
	// System is a GPU node such as h100_sxm; Backend vllm, sglang or trtllm; Version a slot or a listed version.
	System, Backend, Version string
	// Parallel sizes; see model.Parallel.
	TP, PP, AttentionDP, MoETP, MoEEP int
	// Quantisation modes; "", auto and none leave them to the checkpoint.
	Gemm, MoE, KVCache, FMHA, Comm string
	// Mode is SILICON (default), HYBRID, EMPIRICAL or SOL.
	Mode string
	// NextN is the depth of multi-token prediction, 0 to 5.
	NextN int
}

// Validate returns every problem that can be seen without the data, each with its field's name.
func (c *Config) Validate() []error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fault.New(fault.BadConfig, format, args...))
	}
	if c.Model == "" && c.ModelConfig == nil {
		add("model is empty")
	}
	if c.System == "" {
		add("system is empty")
	}
	switch c.Backend {
	case "vllm", "sglang", "trtllm":
	default:
		add("backend %q is not one of vllm, sglang, trtllm", c.Backend)
	}
	if _, err := perf.ParseMode(c.Mode); err != nil {
		errs = append(errs, err)
	}
	if c.NextN < 0 || c.NextN > 5 {
		add("nextn is %d, want 0 to 5", c.NextN)
	}
	return errs
}

// hf finds and parses the model's configuration.
func (d *Data) hf(c *Config) (*model.HF, error) {
	if c.ModelConfig != nil {
		return model.Parse(c.Model, c.ModelConfig, c.ModelQuant)
	}
	name := strings.ReplaceAll(c.Model, "/", "--")
	for _, fsys := range d.models {
		config, err := table.ReadBounded(fsys, name+"_config.json", maxConfig)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		quant, err := table.ReadBounded(fsys, name+"_hf_quant_config.json", maxConfig)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return model.Parse(c.Model, config, quant)
	}
	return nil, fault.New(fault.UnknownModel, "model %q: no %s_config.json in the model configurations", c.Model, name)
}

// maxConfig bounds a model's config.json; the longest real ones list every unquantised module.
const maxConfig = 8 << 20

// Model loads what a deployment needs. Errors carry a category; missing rows show only when a pass asks for them.
func (d *Data) Model(c Config) (*Model, error) {
	if errs := c.Validate(); len(errs) > 0 {
		if len(errs) == 1 {
			return nil, errs[0]
		}
		return nil, errors.Join(errs...)
	}
	mode, err := perf.ParseMode(c.Mode)
	if err != nil {
		return nil, err
	}
	scope, err := d.scope(c.System, c.Backend, c.Version, mode)
	if err != nil {
		return nil, err
	}
	h, err := d.hf(&c)
	if err != nil {
		return nil, err
	}
	quants, err := model.Resolve(h, model.Choice{Gemm: c.Gemm, MoE: c.MoE, KV: c.KVCache, FMHA: c.FMHA, Comm: c.Comm},
		model.Platform{Backend: c.Backend, Version: scope.Version, SM: scope.Index.System.GPU.SM})
	if err != nil {
		return nil, err
	}
	parallel, err := h.Check(model.Parallel{
		TP: c.TP, PP: c.PP, AttentionDP: c.AttentionDP, MoETP: c.MoETP, MoEEP: c.MoEEP,
	}, quants.MoE)
	if err != nil {
		return nil, err
	}
	dep := model.Deployment{Parallel: parallel, Backend: c.Backend, Quants: quants, NextN: c.NextN}
	lists, err := model.Build(h, dep)
	if err != nil {
		return nil, err
	}
	db, err := perf.Load(scope, perf.NeedsOf(lists.Context)|perf.NeedsOf(lists.Generation))
	if err != nil {
		return nil, err
	}
	return newModel(h, dep, lists, db), nil
}

// scope resolves system and version.
func (d *Data) scope(system, backend, version string, mode perf.Mode) (perf.Scope, error) {
	sys, err := d.store.System(system)
	if err != nil {
		return perf.Scope{}, err
	}
	ix, err := d.index(sys)
	if err != nil {
		return perf.Scope{}, err
	}
	key := fmt.Sprintf("version|%s|%s|%s", system, backend, version)
	resolved, ok := d.cache.Get(key)
	if !ok {
		v, err := d.store.ResolveVersion(ix, backend, version)
		if err != nil {
			return perf.Scope{}, err
		}
		resolved = v
		d.cache.Put(key, v)
	}
	return perf.Scope{
		Store: d.store, Index: ix, Backend: backend, Version: resolved.(string), Mode: mode, Cache: d.cache,
	}, nil
}

func (d *Data) index(sys *table.System) (*table.Index, error) {
	key := "index|" + sys.Name
	if v, ok := d.cache.Get(key); ok {
		return v.(*table.Index), nil
	}
	ix, err := d.store.Index(sys)
	if err == nil {
		d.cache.Put(key, ix)
	}
	return ix, err
}
