package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// check compares every value with the range in its tag.
func (c *Config) check() error {
	var problems []error
	for _, f := range Fields() {
		if why := f.outside(c); why != "" {
			problems = append(problems, fmt.Errorf("%s: %s", f.Key, why))
		}
	}
	return c.Locate(errors.Join(problems...))
}

// outside says what is wrong with the field's value in c; "" when nothing is.
func (f Field) outside(c *Config) string {
	v := f.Value(c)
	if s, ok := v.(string); ok && len(f.Enum) > 0 && !slices.Contains(f.Enum, s) {
		return fmt.Sprintf("%q is none of %s", s, strings.Join(f.Enum, ", "))
	}
	var x float64
	switch n := v.(type) {
	case int:
		x = float64(n)
	case float64:
		x = n
	default:
		return ""
	}
	for part := range strings.SplitSeq(rangeTag(f), ",") {
		name, text, _ := strings.Cut(part, "=")
		bound, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
		case name == "minimum" && x < bound:
			return fmt.Sprintf("%v is below %v", v, bound)
		case name == "exclusiveMinimum" && x <= bound:
			return fmt.Sprintf("%v is not above %v", v, bound)
		case name == "maximum" && x > bound:
			return fmt.Sprintf("%v is above %v", v, bound)
		}
	}
	return ""
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
