package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Origin says, by key, where a setting was given: "fakellm.yaml:3", "environment FAKELLM_PORT", "flag --port". Settings
// that were left alone are not in it; nil means all of them.
type Origin map[string]string

// Locate puts in front of every problem that err joins where the setting was given that it is about, so that problems
// found by the rooms read like those of this package. A problem is about the setting whose name it begins with, as
// Validate writes it everywhere in this program; if that one was left alone, about the first other that it names and
// that was given. What names no given setting stays as it is; nil stays nil.
func (c *Config) Locate(err error) error {
	if len(c.Origin) == 0 {
		return err
	}
	problems := Problems(err)
	for i, p := range problems {
		if from := c.Origin.of(p.Error()); from != "" {
			problems[i] = fmt.Errorf("%s: %w", from, p)
		}
	}
	return errors.Join(problems...)
}

// Problems lists what errors.Join has joined into err, however deep; an error that joins nothing is the only one, nil
// none.
func Problems(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || err.Error() != errors.Join(joined.Unwrap()...).Error() {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Problems(e)...)
	}
	return all
}

// Override notes that every setting in which c differs from before was given at from, after loading.
func (c *Config) Override(before *Config, from string) {
	c.Origin = maps.Clone(c.Origin)
	for _, f := range Fields() {
		if fmt.Sprint(f.Value(c)) == fmt.Sprint(f.Value(before)) {
			continue
		}
		if c.Origin == nil {
			c.Origin = Origin{}
		}
		c.Origin[f.Key] = from
	}
}

// words of a message that may be keys.
var words = regexp.MustCompile(`[A-Za-z0-9_]+`)

// of finds where the setting was given that a problem is about; "" when it was not.
func (o Origin) of(problem string) string {
	named := words.FindAllString(problem, -1)
	if len(named) == 0 || !strings.HasPrefix(problem, named[0]) {
		return ""
	}
	if !slices.ContainsFunc(Fields(), func(f Field) bool { return f.Key == named[0] }) {
		return ""
	}
	if from := o[named[0]]; from != "" {
		return from
	}
	for _, w := range named[1:] {
		// Keys of one word ("model", "port") are also words of sentences.
		if from := o[w]; from != "" && strings.Contains(w, "_") {
			return from
		}
	}
	return ""
}
