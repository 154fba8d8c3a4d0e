package assembly

import (
	"strings"

	"fakellm/config"
)

// Settings loads settings given as key=value, as a test or an embedding program has them. The error joins every problem.
func Settings(pairs []string) (config.Config, error) {
	environ := make([]string, len(pairs))
	for i, p := range pairs {
		key, value, _ := strings.Cut(p, "=")
		environ[i] = config.EnvPrefix + strings.ToUpper(key) + "=" + value
	}
	return config.Load(config.Source{Environ: environ})
}
