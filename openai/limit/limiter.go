package limit

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"fakellm/internal/glob"
)

// Quota is what one key may use. 0 is no limit.
type Quota struct {
	// RPM are requests, TPM tokens (prompt and completion) per minute. A full minute's worth may come at once.
	RPM, TPM int64
}

// ModelQuota gives models buckets of their own.
type ModelQuota struct {
	// Model is a model's name, or a glob: * is any run of characters, ? is one. Nothing else is a pattern.
	Model string
	Quota
}

// Config of a Limiter. The zero value limits nothing.
type Config struct {
	// Default is the quota of keys that Keys does not name; requests without a key count as the key "".
	Default Quota
	Keys    map[string]Quota
	// Models that are named here have, for every key, buckets of their own, one pair per model, and do not count against
	// the key's; all other models of a key share those of the key. A model's own name goes before globs, the first glob
	// that fits before later ones; an entry without limits exempts its models. No entry may come twice.
	Models []ModelQuota
	// MaxKeys bounds the pairs of buckets that are kept, one per key and one per key and limited model (0: 10,000). When
	// it is reached the pair unused for longest is forgotten if it is full again; otherwise new ones share one pair per
	// quota, so that inventing keys or models gains nothing.
	MaxKeys int
}

// Validate returns every problem, each naming its field and value. Keys are named by their number, never by their text.
func (c Config) Validate() []error {
	var errs []error
	check := func(field string, n int64) {
		if n < 0 || n > maxPerMinute {
			errs = append(errs, fmt.Errorf("%s: %d is not from 0 to %d", field, n, int64(maxPerMinute)))
		}
	}
	check("rpm", c.Default.RPM)
	check("tpm", c.Default.TPM)
	for i, k := range slices.Sorted(maps.Keys(c.Keys)) {
		check(fmt.Sprintf("keys[%d].rpm", i), c.Keys[k].RPM)
		check(fmt.Sprintf("keys[%d].tpm", i), c.Keys[k].TPM)
	}
	first := map[string]int{}
	for i, m := range c.Models {
		if err := checkModel(m.Model); err != nil {
			errs = append(errs, fmt.Errorf("models[%d].model: %w", i, err))
		}
		if at, twice := first[m.Model]; twice {
			errs = append(errs, fmt.Errorf("models[%d].model: %q is named by models[%d] already", i, m.Model, at))
		} else {
			first[m.Model] = i
		}
		check(fmt.Sprintf("models[%d].rpm", i), m.RPM)
		check(fmt.Sprintf("models[%d].tpm", i), m.TPM)
	}
	if c.MaxKeys < 0 {
		errs = append(errs, fmt.Errorf("max_keys: %d is negative", c.MaxKeys))
	}
	return errs
}

// digest stands for a key, or a key and a model, so that memory holds no secret and no long text.
type digest [sha256.Size]byte

// Limiter keeps the buckets. It is safe for concurrent use; make one with New.
type Limiter struct {
	cfg    Config
	quotas map[digest]Quota
	// models are the entries of cfg.Models that are names, globs the others in their order.
	models map[string]Quota
	globs  []ModelQuota

	mu sync.Mutex
	// entries by last use; they are never more than cfg.MaxKeys and those of named keys.
	entries *simplelru.LRU[digest, *entry]
	// shared serve those that find no room.
	shared map[Quota]*entry
}

type entry struct{ requests, tokens bucket }

// New checks the config and returns every problem.
func New(cfg Config) (*Limiter, error) {
	if errs := cfg.Validate(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	cfg.MaxKeys = cmp.Or(cfg.MaxKeys, 10_000)
	l := &Limiter{
		cfg: cfg, quotas: make(map[digest]Quota, len(cfg.Keys)), models: make(map[string]Quota, len(cfg.Models)),
		shared: make(map[Quota]*entry),
	}
	for k, q := range cfg.Keys {
		l.quotas[sha256.Sum256([]byte(k))] = q
	}
	for _, m := range cfg.Models {
		if isGlob(m.Model) {
			l.globs = append(l.globs, m)
		} else {
			l.models[m.Model] = m.Quota
		}
	}
	var err error
	l.entries, err = simplelru.NewLRU[digest, *entry](cfg.MaxKeys+len(cfg.Keys), nil)
	return l, err
}

// Kind names a bucket as OpenAI does.
type Kind string

// The buckets. None means that nothing stood in the way.
const (
	None     Kind = ""
	Requests Kind = "requests"
	Tokens   Kind = "tokens"
)

// State is one bucket. A Limit of 0 is no limit; Remaining is never negative; Reset is the time until it is full.
type State struct {
	Limit, Remaining int64
	Reset            time.Duration
}

// Decision is what Admit decided. The zero value admits without limits.
type Decision struct {
	// Violated names the bucket that refused, None when admitted.
	Violated Kind
	// RetryAfter is exactly how long a refused client must wait if nobody else uses its key. TooLarge says that waiting
	// is no use: the request alone is larger than the limit.
	RetryAfter time.Duration
	TooLarge   bool
	// Requests and Tokens are the buckets after the decision; Estimate is what was taken from Tokens.
	Requests, Tokens State
	Estimate         int64
}

// OK reports whether the request may go on.
func (d Decision) OK() bool { return d.Violated == None }

// Who asks: an API key and the model it asks for.
type Who struct{ Key, Model string }

// Admit asks for one request of estimate tokens (prompt plus the most it may answer). A refusal takes nothing.
// O(globs with limits).
func (l *Limiter) Admit(now time.Time, who Who, estimate int64) Decision {
	// One above the largest limit is too large for every limit.
	estimate = min(max(estimate, 0), maxPerMinute+1)
	d := Decision{Estimate: estimate}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(who, now.UnixNano())
	if e == nil {
		return d
	}
	req, tok := &e.requests, &e.tokens
	switch {
	case tok.perMinute > 0 && estimate > tok.perMinute:
		d.Violated, d.TooLarge = Tokens, true
	case req.perMinute > 0 && req.until(1) > 0:
		d.Violated, d.RetryAfter = Requests, req.until(1)
	case tok.perMinute > 0 && tok.until(estimate) > 0:
		d.Violated, d.RetryAfter = Tokens, tok.until(estimate)
	}
	if !d.OK() && !d.TooLarge && tok.perMinute > 0 {
		d.RetryAfter = max(d.RetryAfter, tok.until(estimate))
	}
	if d.OK() {
		if req.perMinute > 0 {
			req.take(1)
		}
		if tok.perMinute > 0 {
			tok.take(estimate)
		}
	}
	d.Requests, d.Tokens = req.shown(), tok.shown()
	return d
}

// shown is the state of a bucket, or nothing when it has no limit.
func (b *bucket) shown() State {
	if b.perMinute == 0 {
		return State{}
	}
	return b.state()
}

// Settle replaces the estimate of an admitted request by what it really used: what was not used comes back, what was
// used beyond it is owed. Call it once. O(globs with limits).
func (l *Limiter) Settle(now time.Time, who Who, d Decision, used int64) {
	used = min(max(used, 0), maxPerMinute)
	if !d.OK() || used == d.Estimate {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entry(who, now.UnixNano()); e != nil && e.tokens.perMinute > 0 {
		e.tokens.take(used - d.Estimate)
	}
}

// Keys is the number of pairs of buckets that are kept now.
func (l *Limiter) Keys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries.Len()
}

// Reset fills every bucket.
func (l *Limiter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries.Purge()
	clear(l.shared)
}

// quota says what applies to a request: its limit, under which name it is counted, and whether that name is one of the
// settings, which always finds room.
func (l *Limiter) quota(who Who) (q Quota, name digest, named bool) {
	name = sha256.Sum256([]byte(who.Key))
	if q, ok := l.modelQuota(who.Model); ok {
		return q, sha256.Sum256(append(name[:], who.Model...)), false
	}
	if q, named = l.quotas[name]; !named {
		q = l.cfg.Default
	}
	return q, name, named
}

// modelQuota is the quota of a model that has one of its own.
func (l *Limiter) modelQuota(model string) (Quota, bool) {
	if q, ok := l.models[model]; ok {
		return q, true
	}
	for i := range l.globs {
		if m := &l.globs[i]; glob.Match(m.Model, model) {
			return m.Quota, true
		}
	}
	return Quota{}, false
}

// entry returns the refilled buckets for a request, nil when it has no limit. mu is held.
func (l *Limiter) entry(who Who, now int64) *entry {
	q, name, named := l.quota(who)
	if q == (Quota{}) {
		return nil
	}
	e, ok := l.entries.Get(name)
	if !ok {
		e = &entry{requests: newBucket(q.RPM, now), tokens: newBucket(q.TPM, now)}
		switch {
		case named || l.entries.Len() < l.cfg.MaxKeys || l.forgetOldest(now):
			l.entries.Add(name, e)
		case l.shared[q] == nil:
			l.shared[q] = e
		default:
			e = l.shared[q]
		}
	}
	e.refill(now)
	return e
}

// refill brings both buckets forward.
func (e *entry) refill(now int64) {
	for _, b := range []*bucket{&e.requests, &e.tokens} {
		if b.perMinute > 0 {
			b.refill(now)
		}
	}
}

// full reports whether forgetting the entry would change nothing.
func (e *entry) full() bool {
	return e.requests.units >= e.requests.perMinute && e.tokens.units >= e.tokens.perMinute
}

// forgetOldest makes room if the pair unused for longest is full.
func (l *Limiter) forgetOldest(now int64) bool {
	_, e, ok := l.entries.GetOldest()
	if !ok {
		return false
	}
	if e.refill(now); !e.full() {
		return false
	}
	l.entries.RemoveOldest()
	return true
}
