package journal

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// Find returns the records that a filter chooses, in its order and page, and how many it chooses in all. O(records).
func (j *Journal) Find(f Filter) (page []*Record, total int) {
	all := slices.DeleteFunc(j.Records(), func(r *Record) bool { return !f.Match(r) })
	if f.Newest {
		slices.Reverse(all)
	}
	total = len(all)
	all = all[min(f.Offset, total):]
	if f.Limit > 0 {
		all = all[:min(f.Limit, len(all))]
	}
	return all, total
}

// Get returns the newest record with a request id, or with a number as its id.
func (j *Journal) Get(id string) (*Record, bool) {
	all := j.Records()
	for _, r := range slices.Backward(all) {
		if r.ID == id {
			return r, true
		}
	}
	for _, r := range all {
		if fmt.Sprint(r.Seq) == id {
			return r, true
		}
	}
	return nil, false
}

// Expectation says how many records a filter shall choose. Nil bounds are open.
type Expectation struct {
	Filter  Filter
	AtLeast *int
	AtMost  *int
}

// ParseExpectation reads a filter with the further names count, at_least and at_most; without them at least one call is
// expected.
func ParseExpectation(q url.Values, now time.Time) (Expectation, error) {
	var x Expectation
	var errs []error
	rest := make(url.Values, len(q))
	for name, values := range q {
		switch name {
		case "count", "at_least", "at_most":
			n, err := count(values[len(values)-1])
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
			if name != "at_most" {
				x.AtLeast = &n
			}
			if name != "at_least" {
				x.AtMost = &n
			}
		default:
			rest[name] = values
		}
	}
	if q.Has("count") && (q.Has("at_least") || q.Has("at_most")) {
		errs = append(errs, errors.New("count: excludes at_least and at_most"))
	}
	if x.AtLeast == nil && x.AtMost == nil {
		one := 1
		x.AtLeast = &one
	}
	var err error
	x.Filter, err = ParseFilter(rest, now)
	return x, errors.Join(append(errs, err)...)
}

// String says what is expected.
func (x Expectation) String() string {
	switch {
	case x.AtMost == nil:
		return fmt.Sprintf("at least %d", *x.AtLeast)
	case x.AtLeast == nil:
		return fmt.Sprintf("at most %d", *x.AtMost)
	case *x.AtLeast == *x.AtMost:
		return fmt.Sprintf("exactly %d", *x.AtLeast)
	default:
		return fmt.Sprintf("from %d to %d", *x.AtLeast, *x.AtMost)
	}
}

// Verdict is the answer to an expectation.
type Verdict struct {
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Count    int    `json:"count"`
	// Message says all of it in a sentence. NearMisses are the records that came closest when too few matched.
	Message    string `json:"message"`
	NearMisses []Near `json:"near_misses,omitempty"`
}

// Near is a record that a filter did not choose, with the conditions that failed and those that held.
type Near struct {
	ID     string    `json:"id"`
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"`
	Route  string    `json:"route"`
	Model  string    `json:"model,omitempty"`
	Status int       `json:"status,omitempty"`
	Failed []string  `json:"failed"`
	Held   []string  `json:"held"`
}

// nearest is how many near misses a verdict names.
const nearest = 3

// Verify counts and explains. O(records · conditions).
func (j *Journal) Verify(x Expectation) Verdict {
	var near []Near
	v := Verdict{Expected: x.String()}
	for _, r := range j.Records() {
		n := Near{ID: r.ID, Seq: r.Seq, Time: r.Time, Route: r.Route, Model: r.Model, Status: r.Status, Held: []string{}}
		for _, c := range x.Filter.conds {
			if c.holds(r) {
				n.Held = append(n.Held, c.what)
			} else {
				n.Failed = append(n.Failed, c.what)
			}
		}
		if len(n.Failed) == 0 {
			v.Count++
		} else {
			near = append(near, n)
		}
	}
	few := x.AtLeast != nil && v.Count < *x.AtLeast
	v.OK = !few && (x.AtMost == nil || v.Count <= *x.AtMost)
	v.Message = fmt.Sprintf("expected %s matching calls, found %d", v.Expected, v.Count)
	if few {
		slices.SortStableFunc(near, func(a, b Near) int {
			return cmp.Or(cmp.Compare(len(a.Failed), len(b.Failed)), cmp.Compare(b.Seq, a.Seq))
		})
		v.NearMisses = near[:min(nearest, len(near))]
	}
	return v
}
