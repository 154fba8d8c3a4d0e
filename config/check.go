package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// check compares every value with the range in its tag. In place of one that lies outside it puts the nearest that does
// not, or the default, so that what depends on it can be judged.
func (c *Config) check() error {
	var problems []error
	defaults := Default()
	for _, f := range Fields() {
		why, instead := f.outside(c)
		if why == "" {
			continue
		}
		problems = append(problems, fmt.Errorf("%s: %s", f.Key, why))
		c.Bad = append(c.Bad, f.Key)
		at, _ := strconv.ParseFloat(instead, 64) // "" is none, for which the default stands
		switch v := reflect.ValueOf(c).Elem().FieldByIndex(f.index); {
		case instead == "":
			v.Set(reflect.ValueOf(f.Value(&defaults)))
		case v.CanInt():
			v.SetInt(int64(at))
		default:
			v.SetFloat(at)
		}
	}
	return c.Locate(errors.Join(problems...))
}

// outside says what is wrong with the field's value in c, "" when nothing is, and which bound it missed, if one.
func (f Field) outside(c *Config) (why, bound string) {
	v := f.Value(c)
	if s, ok := v.(string); ok && len(f.Enum) > 0 && !slices.Contains(f.Enum, s) {
		return fmt.Sprintf("%q is none of %s", s, strings.Join(f.Enum, ", ")), ""
	}
	var x float64
	switch n := v.(type) {
	case int:
		x = float64(n)
	case float64:
		x = n
	default:
		return "", ""
	}
	for part := range strings.SplitSeq(rangeTag(f), ",") {
		name, text, _ := strings.Cut(part, "=")
		bound, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
		case name == "minimum" && x < bound:
			return fmt.Sprintf("%v is below %v", v, bound), text
		case name == "exclusiveMinimum" && x <= bound:
			return fmt.Sprintf("%v is not above %v", v, bound), ""
		case name == "maximum" && x > bound:
			return fmt.Sprintf("%v is above %v", v, bound), text
		}
	}
	return "", ""
}

// Others asks look for what else is wrong with settings that Load has found problems in, and leaves out what it says about
// the values that Load put in place of bad ones.
func (c *Config) Others(look func(*Config) error) error {
	var out []error
	for _, p := range Problems(look(c)) {
		named := words.FindAllString(p.Error(), -1)
		if !slices.ContainsFunc(c.Bad, func(key string) bool { return slices.Contains(named, key) }) {
			out = append(out, p)
		}
	}
	return errors.Join(out...)
}

// suggestion names the known key nearest to a misspelt one, when it is near.
func suggestion(key string) string {
	best, at := 3, ""
	for _, f := range Fields() {
		if d := distance(key, f.Key); d < best {
			best, at = d, f.Key
		}
	}
	if at == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", at)
}

// distance is the edit distance of two short words (Levenshtein; two rows).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
