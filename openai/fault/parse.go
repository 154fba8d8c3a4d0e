package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a plan: bytes of its text, faults in it, and every wait.
const (
	MaxText   = 4096
	MaxFaults = 16
	MaxWait   = 24 * time.Hour
)

// Parse reads a plan in the grammar of the package doc. An empty text, or "none", is no fault. Errors name the word.
func Parse(text string) (Plan, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("fault: %d bytes, the limit is %d", len(text), MaxText)
	}
	if t := strings.TrimSpace(text); t == "" || t == "none" {
		return nil, nil
	}
	var p Plan
	faults, err := split(text, ',')
	if err != nil {
		return nil, err
	}
	if len(faults) > MaxFaults {
		return nil, fmt.Errorf("fault: %d faults, the limit is %d", len(faults), MaxFaults)
	}
	for _, t := range faults {
		f, err := parseFault(t)
		if err != nil {
			return nil, err
		}
		p = append(p, f)
	}
	return p, p.check()
}

// split cuts at sep outside of quotes.
func split(text string, sep byte) ([]string, error) {
	var out []string
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	if quoted {
		return nil, fmt.Errorf("fault %q: quote not closed", clip(text))
	}
	return append(out, text[from:]), nil
}

// unquote undoes quote; a value without quotes stays as it is.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	var b strings.Builder
	for i := 1; i < len(s)-1; i++ {
		if s[i] == '\\' && i+1 < len(s)-1 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// parameters lists what each kind takes; "" is a value behind the kind itself.
func parameters(k Kind) []string {
	failure := []string{"message", "type", "code", "param"}
	switch k {
	case Status:
		return append(failure, "", "retry-after", "retry-after-ms", "should-retry", "of", "limit")
	case Hang:
		return []string{""}
	case Stall:
		return []string{"", "at"}
	case Drip:
		return []string{"", "at", "bytes"}
	case ErrorEvent:
		return append(failure, "at")
	case Truncate:
		return []string{"at", "bytes"}
	case Malformed, Reset, Close:
		return []string{"at"}
	default:
		return nil
	}
}

func parseFault(text string) (Fault, error) {
	f := Fault{At: Unset}
	words, err := split(text, ';')
	if err != nil {
		return f, err
	}
	seen := make(map[string]bool, len(words))
	for i, w := range words {
		name, value, given := strings.Cut(w, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), unquote(strings.TrimSpace(value))
		if i == 0 {
			f.Kind = Kind(name)
			if !slices.Contains(Kinds(), f.Kind) {
				return f, fmt.Errorf("fault %q: unknown kind, known are %s", clip(name), names(Kinds()))
			}
			if name = ""; !given {
				continue
			}
		}
		known := parameters(f.Kind)
		switch {
		case !slices.Contains(known, name):
			return f, fmt.Errorf("fault %s: unknown parameter %q, known are %s", f.Kind, clip(name), names(known))
		case seen[name]:
			return f, fmt.Errorf("fault %s: parameter %q is repeated", f.Kind, name)
		case value == "":
			return f, fmt.Errorf("fault %s: parameter %q has no value", f.Kind, name)
		}
		seen[name] = true
		if err := f.set(name, value); err != nil {
			if name != "" {
				name += ": "
			}
			return f, fmt.Errorf("fault %s: %s%w", f.Kind, name, err)
		}
	}
	return f, nil
}

// names lists words for a message; the value behind a kind has none.
func names[T ~string](words []T) string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, string(w))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// set stores one parameter that the kind is known to take.
func (f *Fault) set(name, value string) (err error) {
	e := &f.Failure
	switch name {
	case "":
		if f.Kind == Status {
			e.Status, err = errorStatus(value)
			return err
		}
		f.For, err = f.Kind.span(value)
	case "at":
		f.At, err = number(value, 1<<30)
	case "bytes":
		f.Bytes, err = number(value, 1<<30)
	case "retry-after":
		e.RetryAfter, err = wait(value, time.Second)
	case "retry-after-ms":
		e.RetryAfterExact, err = wait(value, time.Millisecond)
	case "should-retry":
		if value != "true" && value != "false" {
			return fmt.Errorf("%q is neither true nor false", clip(value))
		}
		should := value == "true"
		e.ShouldRetry = &should
	case "limit":
		e.Limit, err = number(value, 1<<30)
	case "of":
		if value != "requests" && value != "tokens" {
			return fmt.Errorf("%q is neither requests nor tokens", clip(value))
		}
		e.Of = value
	case "type":
		e.Type, err = word(value)
	case "code":
		e.Code, err = word(value)
	case "param":
		e.Param, err = word(value)
	case "message":
		e.Message, err = word(value)
	}
	return err
}

func word(value string) (string, error) {
	for _, r := range value {
		if r < ' ' || r == '\uFFFD' {
			return "", fmt.Errorf("%q holds a control character or broken UTF-8", clip(value))
		}
	}
	return value, nil
}

func number(value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%q is no whole number from 0 to %d", clip(value), most)
	}
	return n, nil
}

// Statuses that are errors.
const (
	leastStatus = 400
	mostStatus  = 599
)

// errorStatus reads the status of an error answer.
func errorStatus(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < leastStatus || n > mostStatus {
		return 0, fmt.Errorf("%q is no whole number from %d to %d", clip(value), leastStatus, mostStatus)
	}
	return n, nil
}

// span reads the time that hang, stall or a step of drip takes: no time at all would be no fault.
func (k Kind) span(value string) (time.Duration, error) {
	d, err := wait(value, time.Second)
	if err == nil && d > 0 {
		return d, nil
	}
	hint := ""
	if k == Hang {
		hint = "; hang alone never ends"
	}
	return 0, fmt.Errorf("%q is no duration above 0 and up to %v%s", clip(value), MaxWait, hint)
}

// wait reads a Go duration, or a plain number of units.
func wait(value string, unit time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if n, numErr := strconv.ParseFloat(value, 64); numErr == nil {
		if n >= 0 && n <= float64(MaxWait/unit) {
			d, err = time.Duration(n*float64(unit)), nil
		} else {
			err = errors.ErrUnsupported
		}
	}
	if err != nil || d < 0 || d > MaxWait {
		return 0, fmt.Errorf("%q is no duration from 0 to %v", clip(value), MaxWait)
	}
	return d, nil
}

// check judges what cannot stand together or is missing.
func (p Plan) check() error {
	var errs []error
	for _, f := range p {
		switch {
		case f.Kind == Status && f.Failure.Status == 0:
			errs = append(errs, errors.New("fault status: a status is missing, as in status=503"))
		case (f.Kind == Stall || f.Kind == Drip) && f.For <= 0:
			errs = append(errs, fmt.Errorf("fault %s: a duration is missing, as in %s=2s", f.Kind, f.Kind))
		}
	}
	return errors.Join(errs...)
}

// Validate returns every problem of a plan that was not made by Parse.
func (p Plan) Validate() []error {
	var errs []error
	for i, f := range p {
		if _, err := Parse(f.String()); err != nil {
			errs = append(errs, fmt.Errorf("[%d]: %w", i, err))
		}
	}
	return errs
}

// clip shortens what is quoted in messages.
func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:57], "") + "..."
}
