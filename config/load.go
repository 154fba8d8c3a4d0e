package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// Source is where settings come from. The zero value loads the defaults.
type Source struct {
	// File is the path of a YAML or JSON file; empty for none.
	File string
	// Environ is the environment as os.Environ gives it.
	Environ []string
	// Flags are parsed flags; only those that were set count.
	Flags *pflag.FlagSet
}

// Load merges defaults, file, environment and flags, each over the one before, and checks every value against its range.
// The error joins every problem found; each names where it stands (file and line, variable or flag) and the value.
func Load(src Source) (Config, error) {
	k := koanf.New(".")
	var origin Origin
	defaults := Default()
	base := map[string]any{}
	for _, f := range Fields() {
		base[f.Key] = f.Value(&defaults)
	}
	if err := k.Load(confmap.Provider(base, ""), nil); err != nil {
		return Config{}, err
	}
	var problems []error
	for _, layer := range []func() (map[string]any, map[string]string, error){
		func() (map[string]any, map[string]string, error) { return fileLayer(src.File) },
		func() (map[string]any, map[string]string, error) { return envLayer(src.Environ) },
		func() (map[string]any, map[string]string, error) { return flagLayer(src.Flags, k) },
	} {
		values, from, err := layer()
		problems = append(problems, err)
		values, errs := coerce(values, from)
		problems = append(problems, errs...)
		if err := k.Load(confmap.Provider(values, ""), nil); err != nil {
			return Config{}, err
		}
		for key := range values {
			if origin == nil {
				origin = Origin{}
			}
			origin[key] = from[key]
		}
	}
	var c Config
	conf := koanf.UnmarshalConf{Tag: "koanf"}
	if err := k.UnmarshalWithConf("", &c, conf); err != nil {
		return Config{}, err
	}
	c.Origin = origin
	return c, errors.Join(append(problems, c.check())...)
}

func coerce(values map[string]any, from map[string]string) (map[string]any, []error) {
	out, errs := map[string]any{}, []error{}
	known := map[string]Field{}
	for _, f := range Fields() {
		known[f.Key] = f
	}
	for _, key := range sortedKeys(values) {
		f, ok := known[key]
		if !ok {
			errs = append(errs, fmt.Errorf("%s: unknown setting %q%s", from[key], key, suggestion(key)))
			continue
		}
		v, err := f.parse(values[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", from[key], key, err))
			continue
		}
		out[key] = v
	}
	return out, errs
}

func envLayer(environ []string) (map[string]any, map[string]string, error) {
	k := koanf.New(".")
	from := map[string]string{}
	p := env.Provider(".", env.Opt{
		Prefix:      EnvPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			if name == EnvPrefix+"CONFIG" || value == "" || orchestrator(name, value) {
				return "", nil
			}
			key := strings.ToLower(strings.TrimPrefix(name, EnvPrefix))
			from[key] = "environment " + name
			return key, value
		},
	})
	if err := k.Load(p, nil); err != nil {
		return nil, nil, fmt.Errorf("environment: %w", err)
	}
	return k.All(), from, nil
}

// orchestrator says whether a variable is one that Kubernetes or Docker links invent for a service called "fakellm":
// those are no settings although they carry the prefix.
func orchestrator(name, value string) bool {
	rest := strings.TrimPrefix(name, EnvPrefix)
	return strings.HasPrefix(rest, "SERVICE_") || strings.HasPrefix(rest, "PORT_") ||
		rest == "PORT" && strings.HasPrefix(value, "tcp://")
}

func flagLayer(flags *pflag.FlagSet, k *koanf.Koanf) (map[string]any, map[string]string, error) {
	values, from := map[string]any{}, map[string]string{}
	if flags == nil {
		return values, from, nil
	}
	known := map[string]bool{}
	for _, f := range Fields() {
		known[f.Flag()] = true
	}
	p := posflag.ProviderWithFlag(flags, ".", k, func(f *pflag.Flag) (string, any) {
		if !f.Changed || !known[f.Name] {
			return "", nil
		}
		key := strings.ReplaceAll(f.Name, "-", "_")
		from[key] = "flag --" + f.Name
		if list, ok := f.Value.(pflag.SliceValue); ok {
			return key, list.GetSlice()
		}
		return key, f.Value.String()
	})
	got, err := p.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("flags: %w", err)
	}
	for key := range from {
		values[key] = got[key]
	}
	return values, from, nil
}

// FilePath returns the file to load: the flag's value, else FAKELLM_CONFIG.
func FilePath(flag string, environ []string) string {
	if flag != "" {
		return flag
	}
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, EnvPrefix+"CONFIG="); ok {
			return v
		}
	}
	return ""
}

func fileLayer(path string) (map[string]any, map[string]string, error) {
	if path == "" {
		return nil, nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("config file: %w", err)
	}
	return ParseFile(path, data)
}
