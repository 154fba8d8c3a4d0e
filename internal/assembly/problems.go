package assembly

import (
	"errors"
	"fmt"
	"strings"

	"fakellm/config"
)

// named puts the name of a setting in front of every problem that err joins.
func named(setting string, err error) error { return renamed(err, setting, nil) }

// renamed puts the name of the setting in front of every problem of a room that knows settings by other names: settings
// gives the setting by the word that a problem begins with, otherwise is the one of all others. A problem that begins
// with its setting's name stays as it is.
func renamed(err error, otherwise string, settings map[string]string) error {
	var all []error
	for _, p := range config.Problems(err) {
		word, _, _ := strings.Cut(p.Error(), " ")
		word = strings.TrimSuffix(word, ":")
		setting := settings[word]
		if setting == "" {
			setting = otherwise
		}
		if setting != word {
			p = fmt.Errorf("%s: %w", setting, p)
		}
		all = append(all, p)
	}
	return errors.Join(all...)
}
