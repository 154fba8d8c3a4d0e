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
	// File is the path of a YAML or JSON file; empty for none. FileFrom says where that path was given, for messages.
	File, FileFrom string
	// Environ is the environment as os.Environ gives it.
	Environ []string
	// Flags are parsed flags; only those that were set count.
	Flags *pflag.FlagSet
}

// Load merges defaults, file, environment and flags, each over the one before, and checks every value against its range.
// The error joins every problem found; each names where it stands (file and line, variable or flag) and the value. With an
// error the settings are good for [Config.Others] only.
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
	var bad []string
	for _, layer := range []func() (map[string]any, map[string]string, error){
		src.fileLayer,
		func() (map[string]any, map[string]string, error) { return envLayer(src.Environ) },
		func() (map[string]any, map[string]string, error) { return flagLayer(src.Flags, k) },
	} {
		values, from, err := layer()
		if err != nil { // nothing is known of any setting
			problems = append(problems, err)
			for _, f := range Fields() {
				bad = append(bad, f.Key)
			}
		}
		values, refused, errs := coerce(values, from)
		bad = append(bad, refused...)
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
	c.Origin, c.Bad = origin, bad
	return c, errors.Join(append(problems, c.check())...)
}

// coerce gives values their types; refused are the keys of those that have another.
func coerce(values map[string]any, from map[string]string) (out map[string]any, refused []string, errs []error) {
	out = map[string]any{}
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
			refused = append(refused, key)
			continue
		}
		out[key] = v
	}
	return out, refused, errs
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

// FilePath returns the file to load and where it was given: the flag's value, else FAKELLM_CONFIG.
func FilePath(flag string, environ []string) (path, from string) {
	if flag != "" {
		return flag, "flag --config"
	}
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, EnvPrefix+"CONFIG="); ok {
			return v, "environment " + EnvPrefix + "CONFIG"
		}
	}
	return "", ""
}

func (s *Source) fileLayer() (map[string]any, map[string]string, error) {
	if s.File == "" {
		return nil, nil, nil
	}
	data, err := os.ReadFile(s.File)
	if err != nil && s.FileFrom != "" {
		return nil, nil, fmt.Errorf("%s: %w", s.FileFrom, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("config file: %w", err)
	}
	return ParseFile(s.File, data)
}
