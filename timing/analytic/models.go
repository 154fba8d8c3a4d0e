package analytic

import (
	"fmt"
	"os"
	"strings"
)

// Models returns the facts of the built-in models in a fixed order.
func Models() []Facts {
	all := append(denseModels(), sparseModels()...)
	for i := range all {
		if all[i].Source == fromCard {
			all[i].Caution = all[i].Name + ": " + fromCard
		}
	}
	return all
}

// ResolveModel returns the facts of a built-in model by name, with or without its organisation, whatever the case, and
// with the -instruct and meta- of its name left out if one likes; or of a config.json, given the path of the file or of
// its directory. The error lists the known names.
func ResolveModel(name string) (Facts, error) {
	if name == "" {
		return Facts{}, fmt.Errorf("model: missing")
	}
	names := []string{}
	for _, f := range Models() {
		if plainName(f.Name) == plainName(name) || plainName(shortName(f.Name)) == plainName(name) {
			return f, nil
		}
		names = append(names, shortName(f.Name))
	}
	if _, err := os.Stat(name); err == nil {
		return LoadFacts(name)
	}
	return Facts{}, fmt.Errorf("model %q: neither a config.json nor one of %s", name, strings.Join(names, ", "))
}

func shortName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// plainName is what two spellings of one model have in common.
func plainName(name string) string {
	name = strings.ToLower(name)
	for _, part := range []string{"meta-llama-3", "-instruct", "-base", "-hf", "-v0.1", "-v0.3"} {
		with := ""
		if part == "meta-llama-3" {
			with = "llama-3"
		}
		name = strings.ReplaceAll(name, part, with)
	}
	return name
}
