package fault

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"fakellm/internal/rng"

	"fakellm/internal/glob"
)

// Rule gives a plan to some requests. Everything that is given must hold; the zero value fits every request.
type Rule struct {
	// Name is for messages and the journal, and names the rule's random stream.
	Name string
	// Route, Model, Key and Session are globs (* and ?); empty fits all.
	Route, Model, Key, Session string
	// Stream fits streams only or other answers only; nil both, or streams only if the plan means nothing elsewhere.
	Stream *bool
	// MaxRetry fits only what the client says is at most its n-th retry (x-stainless-retry-count); nil fits all.
	MaxRetry *int
	// Windows are when the rule acts; none is always.
	Windows []Window
	// First acts on the first n requests that fit, Every on each k-th of them (after First, if both are given); 0 is off.
	First, Every int
	// PerSession and PerKey count requests apart for each session or key.
	PerSession, PerKey bool
	// Probability (0–1) that it acts on a request it has got so far with; 0 is 1, a rule that shall never act is left out.
	Probability float64
	// Plan is what goes wrong.
	Plan Plan
}

// Window is a span of modelled or wall time since start, From included and To not. With a Period it comes again.
type Window struct{ From, To, Period time.Duration }

// holds reports whether now lies in the window.
func (w Window) holds(now time.Duration) bool {
	if w.Period > 0 && now >= 0 {
		now %= w.Period
	}
	return w.From <= now && now < w.To
}

// Set is checked rules. It is immutable and safe for concurrent use.
type Set struct{ rules []Rule }

// NewSet checks rules and returns every problem, each with its place and field.
func NewSet(rules []Rule) (*Set, error) {
	var errs []error
	for i := range rules {
		for _, err := range rules[i].Validate() {
			errs = append(errs, fmt.Errorf("faults[%d].%w", i, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Set{rules: append([]Rule(nil), rules...)}, nil
}

// Validate returns every problem, each naming its field and value.
func (r Rule) Validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for i, w := range r.Windows {
		if w.From < 0 || w.To <= w.From || w.Period < 0 || (w.Period > 0 && w.To > w.Period) {
			bad("windows[%d]: from %v to %v with period %v is no span", i, w.From, w.To, w.Period)
		}
	}
	if r.First < 0 {
		bad("first: %d is negative", r.First)
	}
	if r.Every < 0 {
		bad("every: %d is negative", r.Every)
	}
	if r.MaxRetry != nil && *r.MaxRetry < 0 {
		bad("max_retry: %d is negative", *r.MaxRetry)
	}
	if !(r.Probability >= 0 && r.Probability <= 1) {
		bad("probability: %v is not from 0 to 1", r.Probability)
	}
	if len(r.Plan) == 0 {
		bad("plan: empty")
	}
	if f, only := r.Plan.StreamOnly(); only && r.Stream != nil && !*r.Stream {
		bad("plan: %s needs a stream, and stream is false", f.Kind)
	}
	for _, err := range r.Plan.Validate() {
		bad("plan%w", err)
	}
	return errs
}

// Facts are what rules look at in a request. Retry is x-stainless-retry-count, 0 when it is missing.
type Facts struct {
	Route, Model, Key, Session string
	Stream                     bool
	Retry                      int
}

// fits reports whether the facts hold; counts, windows and chance come after.
func (r *Rule) fits(f Facts) bool {
	if _, only := r.Plan.StreamOnly(); only && !f.Stream {
		return false
	}
	fit := func(pattern, s string) bool { return pattern == "" || glob.Match(pattern, s) }
	return fit(r.Route, f.Route) && fit(r.Model, f.Model) && fit(r.Key, f.Key) && fit(r.Session, f.Session) &&
		(r.Stream == nil || *r.Stream == f.Stream) && (r.MaxRetry == nil || f.Retry <= *r.MaxRetry)
}

// Counters remember how many requests each rule has seen. They are not safe for concurrent use: the caller locks them
// around Choose. Make one with NewCounters.
type Counters struct {
	seed   uint64
	most   int
	counts map[string]int
}

// NewCounters returns empty counters whose chances follow seed. At most most counts are kept (0: 10,000); sessions and
// keys that find no room share one count per rule.
func NewCounters(seed uint64, most int) *Counters {
	if most <= 0 {
		most = 10_000
	}
	return &Counters{seed: seed, most: most, counts: make(map[string]int)}
}

// Reset forgets all counts.
func (c *Counters) Reset() { clear(c.counts) }

// next counts a request and returns its number from 1 with the name of its count.
func (c *Counters) next(rule, scope string) (int, string) {
	name := rule + "\x00" + scope
	if _, ok := c.counts[name]; !ok && len(c.counts) >= c.most {
		name = rule
	}
	c.counts[name]++
	return c.counts[name], name
}

// Choose returns the plan of the first rule that acts on a request at an instant since start, with the rule's name.
// Each chance is drawn from a stream of its own, named by rule and count, so it does not depend on other requests.
// O(rules).
func (s *Set) Choose(now time.Duration, f Facts, c *Counters) (Plan, string) {
	for i := range s.rules {
		r := &s.rules[i]
		if !r.fits(f) || !r.active(now) {
			continue
		}
		scope := ""
		if r.PerSession {
			scope += "s" + f.Session
		}
		if r.PerKey {
			scope += "\x00k" + f.Key
		}
		n, name := c.next(strconv.Itoa(i)+"/"+r.Name, scope)
		if r.counted(n) && r.chance(c.seed, name, n) {
			return r.Plan, r.Name
		}
	}
	return nil, ""
}

func (r *Rule) active(now time.Duration) bool {
	for _, w := range r.Windows {
		if w.holds(now) {
			return true
		}
	}
	return len(r.Windows) == 0
}

// counted reports whether the n-th request that fits is one to act on.
func (r *Rule) counted(n int) bool {
	switch {
	case r.First == 0 && r.Every == 0:
		return true
	case n <= r.First:
		return true
	default:
		return r.Every > 0 && (n-r.First)%r.Every == 0
	}
}

func (r *Rule) chance(seed uint64, name string, n int) bool {
	if r.Probability == 0 || r.Probability == 1 {
		return true
	}
	return rng.New(seed, "fault/"+name+"\x00"+strconv.Itoa(n)).Float64() < r.Probability
}
