package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"fakellm/internal/glob"
)

// Filter chooses records; everything that is given must hold. The zero value chooses all. Make one with ParseFilter.
type Filter struct {
	conds []cond
	// Limit bounds what is listed (0: all), after Offset; Newest lists the newest first.
	Limit, Offset int
	Newest        bool
}

// cond is one condition with its words.
type cond struct {
	what  string
	holds func(*Record) bool
}

// filterNames are the words of a filter, for messages.
func filterNames() []string {
	return []string{
		"id", "model", "route", "method", "session", "key", "mapping", "matched", "status", "since", "until", "contains",
		"stream", "open", "disconnected", "fault", "faulted", "limited", "min_retry", "max_retry", "header",
		"limit", "offset", "order",
	}
}

// maxFilterValue bounds a filter value in bytes.
const maxFilterValue = 4096

// ParseFilter reads a filter from query parameters. Names match by glob (* and ?): id, model, route, method, session,
// key (redacted), mapping, fault, limited. Status is a number, a class (4xx) or a range (400-429). Since and until are
// RFC 3339 or a span before now (5m). Contains looks into the kept body; header is "name: glob". Matched, stream, open,
// disconnected and faulted are true or false. Limit, offset and order (newest, oldest) shape a listing. Unknown names
// are errors. Repeated names must all hold.
func ParseFilter(q url.Values, now time.Time) (Filter, error) {
	var f Filter
	var errs []error
	for _, name := range filterNames() {
		for _, v := range q[name] {
			if err := f.add(name, v, now); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	var unknown []string
	for name := range q {
		if !slices.Contains(filterNames(), name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		errs = append(errs, fmt.Errorf("unknown filter %q, known are %s", name, strings.Join(filterNames(), ", ")))
	}
	return f, errors.Join(errs...)
}

// add adds one condition.
func (f *Filter) add(name, v string, now time.Time) error {
	if len(v) > maxFilterValue {
		return fmt.Errorf("%d bytes, the limit is %d", len(v), maxFilterValue)
	}
	var holds func(*Record) bool
	var err error
	fit := func(get func(*Record) string) { holds = func(r *Record) bool { return glob.Match(v, get(r)) } }
	switch name {
	case "id":
		fit(func(r *Record) string { return r.ID })
	case "model":
		fit(func(r *Record) string { return r.Model })
	case "route":
		fit(func(r *Record) string { return r.Route })
	case "method":
		holds = func(r *Record) bool { return strings.EqualFold(v, r.Method) }
	case "session":
		fit(func(r *Record) string { return r.Session })
	case "key":
		fit(func(r *Record) string { return r.Key })
	case "mapping":
		fit(func(r *Record) string { return r.Mapping })
	case "fault":
		fit(func(r *Record) string { return r.Fault })
	case "limited":
		fit(func(r *Record) string { return r.Limited })
	case "contains":
		holds = func(r *Record) bool { return strings.Contains(r.Body, v) }
	case "header":
		holds, err = headerCond(v)
	case "status":
		holds, err = statusCond(v)
	case "since", "until", "min_retry", "max_retry":
		holds, err = boundCond(name, v, now)
	case "limit", "offset", "order":
		return f.shape(name, v)
	default:
		holds, err = flagCond(name, v)
	}
	if err == nil {
		f.conds = append(f.conds, cond{what: name + "=" + v, holds: holds})
	}
	return err
}

func (f *Filter) shape(name, v string) (err error) {
	switch {
	case name == "limit":
		f.Limit, err = count(v)
	case name == "offset":
		f.Offset, err = count(v)
	case v == "newest":
		f.Newest = true
	case v == "oldest":
		f.Newest = false
	default:
		return fmt.Errorf("%q is neither newest nor oldest", v)
	}
	return err
}

// flagCond reads true or false.
func flagCond(name, v string) (func(*Record) bool, error) {
	if v != "true" && v != "false" {
		return nil, fmt.Errorf("%q is neither true nor false", v)
	}
	want := v == "true"
	get := map[string]func(*Record) bool{
		"matched":      func(r *Record) bool { return r.Mapping != "" },
		"stream":       func(r *Record) bool { return r.Stream },
		"open":         func(r *Record) bool { return r.Open },
		"disconnected": func(r *Record) bool { return r.Disconnected },
		"faulted":      func(r *Record) bool { return r.Fired != "" },
	}[name]
	return func(r *Record) bool { return get(r) == want }, nil
}

// boundCond reads since, until, min_retry and max_retry.
func boundCond(name, v string, now time.Time) (func(*Record) bool, error) {
	if strings.HasSuffix(name, "_retry") {
		n, err := count(v)
		if name == "min_retry" {
			return func(r *Record) bool { return r.Retry >= n }, err
		}
		return func(r *Record) bool { return r.Retry <= n }, err
	}
	at, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		ago, spanErr := time.ParseDuration(v)
		if spanErr != nil {
			return nil, fmt.Errorf("%q is neither a time (RFC 3339) nor a span like 5m", v)
		}
		at = now.Add(-ago)
	}
	if name == "since" {
		return func(r *Record) bool { return !r.Time.Before(at) }, nil
	}
	return func(r *Record) bool { return !r.Time.After(at) }, nil
}

func statusCond(v string) (func(*Record) bool, error) {
	lo, hi := 0, 0
	var err error
	switch from, to, ranged := strings.Cut(v, "-"); {
	case len(v) == 3 && strings.HasSuffix(v, "xx"):
		lo, err = count(v[:1])
		lo, hi = lo*100, lo*100+99
	case ranged:
		var other error
		lo, err = count(from)
		hi, other = count(to)
		err = errors.Join(err, other)
	default:
		lo, err = count(v)
		hi = lo
	}
	if err != nil || lo > hi {
		return nil, fmt.Errorf("%q is no status like 429, 4xx or 400-429", v)
	}
	return func(r *Record) bool { return lo <= r.Status && r.Status <= hi }, nil
}

func headerCond(v string) (func(*Record) bool, error) {
	name, pattern, ok := strings.Cut(v, ":")
	name, pattern = strings.TrimSpace(name), strings.TrimSpace(pattern)
	if !ok || name == "" {
		return nil, fmt.Errorf("%q is not of the form name: glob", v)
	}
	return func(r *Record) bool {
		for k, values := range r.Header {
			if strings.EqualFold(k, name) && slices.ContainsFunc(values, func(s string) bool { return glob.Match(pattern, s) }) {
				return true
			}
		}
		return false
	}, nil
}

func count(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no count", v)
	}
	return n, nil
}

// valuesOf reads the JSON form of a filter: an object with the same names, whose values are scalars or lists of
// scalars.
func valuesOf(body []byte) (url.Values, error) {
	q := make(url.Values)
	if len(bytes.TrimSpace(body)) == 0 {
		return q, nil
	}
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	if dec.More() {
		return nil, errors.New("filter: more than one JSON value")
	}
	for name, v := range m {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			switch e := e.(type) {
			case string:
				q.Add(name, e)
			case json.Number:
				q.Add(name, e.String())
			case bool:
				q.Add(name, strconv.FormatBool(e))
			default:
				return nil, fmt.Errorf("%s: a string, number, boolean or list of them is expected", name)
			}
		}
	}
	return q, nil
}

// Match reports whether every condition holds.
func (f Filter) Match(r *Record) bool {
	for _, c := range f.conds {
		if !c.holds(r) {
			return false
		}
	}
	return true
}
