package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config of a Journal. The zero value is usable.
type Config struct {
	// Records kept (0: 1000) and Bytes of all of them together (0: 64 MiB); the oldest go first.
	Records int
	Bytes   int
	// BodyBytes kept of each body (0: 16 KiB, negative: none).
	BodyBytes int
	// Redact names further headers whose values are secret, in part or whole.
	Redact []string
	// Sink gets every finished record; nil for none.
	Sink *Sink
}

// Validate returns every problem, each naming its field and value.
func (c Config) Validate() []error {
	var errs []error
	if c.Records < 0 {
		errs = append(errs, fmt.Errorf("records: %d is negative", c.Records))
	}
	if c.Bytes < 0 {
		errs = append(errs, fmt.Errorf("bytes: %d is negative", c.Bytes))
	}
	for i, name := range c.Redact {
		if name == "" {
			errs = append(errs, fmt.Errorf("redact[%d]: empty", i))
		}
	}
	return errs
}

// Journal is the ring. It is safe for concurrent use; make one with New.
type Journal struct {
	cfg Config

	mu sync.Mutex
	// slots from head on are kept, the oldest first.
	slots []*Entry
	head  int
	bytes int
	// seen counts all requests, evicted those that are no longer kept.
	seen, evicted uint64
}

// New checks the config and returns every problem.
func New(cfg Config) (*Journal, error) {
	if errs := cfg.Validate(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	cfg.Records = cmp.Or(cfg.Records, 1000)
	cfg.Bytes = cmp.Or(cfg.Bytes, 64<<20)
	cfg.BodyBytes = max(cmp.Or(cfg.BodyBytes, 16<<10), 0)
	lower := make([]string, len(cfg.Redact))
	for i, name := range cfg.Redact {
		lower[i] = strings.ToLower(name)
	}
	cfg.Redact = lower
	return &Journal{cfg: cfg}, nil
}

// Entry is the record of one request while it is being served. All its methods do nothing on a nil Entry.
type Entry struct {
	j *Journal
	// rec is replaced, never changed: what has been handed out stays as it was. j.mu guards all fields.
	rec  *Record
	size int
	kept bool
}

// Begin records a request that has arrived. The record is visible from now on, marked open. O(1) amortised.
func (j *Journal) Begin(now time.Time, r *http.Request) *Entry {
	rec := &Record{
		Time: now, Open: true, Method: r.Method, Route: strings.Clone(cut(r.URL.Path, maxHeaderValue)),
		Key: Redact(keyOf(r.Header)), Header: redactHeader(r.Header, j.cfg.Redact),
		BodyBytes: int(max(r.ContentLength, 0)),
	}
	if n, err := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count")); err == nil && n >= 0 {
		rec.Retry = n
	}
	e := &Entry{j: j, rec: rec, size: rec.size(), kept: true}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen++
	rec.Seq = j.seen
	j.slots = append(j.slots, e)
	j.bytes += e.size
	j.evict()
	return e
}

// evict drops the oldest records until the bounds hold; the newest one always stays. mu is held.
func (j *Journal) evict() {
	for n := len(j.slots) - j.head; n > 1 && (n > j.cfg.Records || j.bytes > j.cfg.Bytes); n-- {
		e := j.slots[j.head]
		j.slots[j.head] = nil
		j.head++
		e.kept = false
		j.bytes -= e.size
		j.evicted++
	}
	if j.head > 64 && j.head*2 > len(j.slots) {
		n := copy(j.slots, j.slots[j.head:])
		clear(j.slots[n:])
		j.slots, j.head = j.slots[:n], 0
	}
}

// Update changes the record. Slices and maps that f finds in it must be replaced, not changed.
func (e *Entry) Update(f func(*Record)) {
	if e == nil {
		return
	}
	e.j.mu.Lock()
	defer e.j.mu.Unlock()
	e.update(f)
}

func (e *Entry) update(f func(*Record)) {
	next := *e.rec
	f(&next)
	next.Seq = e.rec.Seq
	e.rec = &next
	size := next.size()
	if e.kept {
		e.j.bytes += size - e.size
		e.j.evict()
	}
	e.size = size
}

// Body keeps the start of the request body.
func (e *Entry) Body(body []byte) {
	if e == nil {
		return
	}
	kept := string(body[:min(len(body), e.j.cfg.BodyBytes)])
	if len(body) > len(kept) {
		kept = strings.ToValidUTF8(kept, "")
	}
	e.Update(func(r *Record) { r.Body, r.BodyBytes = kept, len(body) })
}

// Finish closes the record and hands it to the sink. Further calls do nothing.
func (e *Entry) Finish(now time.Time) {
	if e == nil {
		return
	}
	e.j.mu.Lock()
	open := e.rec.Open
	if open {
		e.update(func(r *Record) { r.Open, r.TookMs = false, ms(now.Sub(r.Time)) })
	}
	rec := e.rec
	e.j.mu.Unlock()
	if open && e.j.cfg.Sink != nil {
		e.j.cfg.Sink.Put(rec)
	}
}

// Record is the record as it is now.
func (e *Entry) Record() Record {
	if e == nil {
		return Record{}
	}
	e.j.mu.Lock()
	defer e.j.mu.Unlock()
	return *e.rec
}

// Records returns what is kept, the oldest first. The records must not be changed. O(records).
func (j *Journal) Records() []*Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]*Record, 0, len(j.slots)-j.head)
	for _, e := range j.slots[j.head:] {
		out = append(out, e.rec)
	}
	return out
}

// Reset forgets every record and returns how many there were. Requests that are being served are no longer recorded in
// the ring, but still reach the sink.
func (j *Journal) Reset() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := len(j.slots) - j.head
	for _, e := range j.slots[j.head:] {
		e.kept = false
	}
	j.slots, j.head, j.bytes = nil, 0, 0
	return n
}

// Totals are counts since the start.
type Totals struct {
	// Seen requests, of which Kept are in the ring with about Bytes bytes, Evicted had to make room.
	Seen    uint64 `json:"seen"`
	Kept    int    `json:"kept"`
	Bytes   int    `json:"bytes"`
	Evicted uint64 `json:"evicted"`
	// SinkDropped records did not reach the sink.
	SinkDropped uint64 `json:"sink_dropped"`
}

// Totals is a snapshot of the counts.
func (j *Journal) Totals() Totals {
	j.mu.Lock()
	t := Totals{Seen: j.seen, Kept: len(j.slots) - j.head, Bytes: j.bytes, Evicted: j.evicted}
	j.mu.Unlock()
	if j.cfg.Sink != nil {
		t.SinkDropped = j.cfg.Sink.Dropped()
	}
	return t
}

type entryKey struct{}

// With puts an entry into a context.
func With(ctx context.Context, e *Entry) context.Context {
	return context.WithValue(ctx, entryKey{}, e)
}

// From finds the entry of a context; nil if there is none, which is usable.
func From(ctx context.Context) *Entry {
	e, _ := ctx.Value(entryKey{}).(*Entry)
	return e
}
