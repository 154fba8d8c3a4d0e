// Package fault holds the one error type of the AIConfigurator timing source: a category that callers can compare, and
// for missing data the table, the slice, the files looked at and the nearest slice that exists.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Category says what kind of refusal an error is. The values are the words of the golden files.
type Category string

// The categories. Missing* are the only ones that a later version of the tables can cure.
const (
	BadParallelism   Category = "bad_parallelism"   // the parallel sizes do not fit each other or the model
	UnsupportedQuant Category = "unsupported_quant" // the system has no arithmetic of this type
	UnknownQuant     Category = "unknown_quant"     // no such quantisation mode
	MissingSlice     Category = "missing_slice"     // tables exist, but no rows for this slice or shape
	MissingTable     Category = "missing_table"     // no tables at all for this system and backend
	UnlistedVersion  Category = "unlisted_version"  // a version outside the queryable slots
	UnknownSystem    Category = "unknown_system"    // no yaml file of this name
	UnknownModel     Category = "unknown_model"     // no configuration of this name
	UnsupportedModel Category = "unsupported_model" // an architecture outside the families built here
	BadShape         Category = "bad_shape"         // a batch or length that makes no pass
	BadConfig        Category = "bad_config"        // any other unusable setting
	BadData          Category = "bad_data"          // a file that cannot be read as what it should be
	NoBudget         Category = "no_budget"         // no memory is left for the KV cache
	BadFraction      Category = "bad_fraction"      // a memory fraction of the wrong kind or out of range
)

// Error is a refusal. The zero value is not meaningful: Category and Reason are always set.
type Error struct {
	Category Category
	// Reason is one lower-case sentence that names field and value.
	Reason string
	// Table is the base name of the table, for missing data; "" otherwise.
	Table string
	// Slice names the key that was looked for, as field=value pairs.
	Slice string
	// Files lists the files whose rows were searched, in order of preference.
	Files []string
	// Nearest names the closest slice that exists; "" when none was found or none was looked for.
	Nearest string
}

// Error implements error: reason, table, slice, files and nearest in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Reason)
	if e.Table != "" {
		fmt.Fprintf(&b, ": table %s", e.Table)
	}
	if e.Slice != "" {
		fmt.Fprintf(&b, ", slice %s", e.Slice)
	}
	if len(e.Files) > 0 {
		fmt.Fprintf(&b, ", looked in %s", strings.Join(e.Files, ", "))
	}
	if e.Nearest != "" {
		fmt.Fprintf(&b, ", nearest: %s", e.Nearest)
	}
	return b.String()
}

// New returns an error of a category with a formatted reason.
func New(c Category, format string, args ...any) *Error {
	return &Error{Category: c, Reason: fmt.Sprintf(format, args...)}
}

// Of returns the category of err, or "" when err carries none.
func Of(err error) Category {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Category
	}
	return ""
}

// Missing reports whether err says that perf data are absent, the only errors that other estimates may stand in for.
func Missing(err error) bool {
	c := Of(err)
	return c == MissingSlice || c == MissingTable
}
