package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fakellm/openai/journal"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newJournal(t testing.TB, c journal.Config) *journal.Journal {
	t.Helper()
	j, err := journal.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func post(path string, header map[string]string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, http.NoBody)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	return r
}

// fill records n chat requests one second apart: even ones succeed, odd ones are refused.
func fill(j *journal.Journal, n int) {
	for i := range n {
		e := j.Begin(epoch.Add(time.Duration(i)*time.Second), post("/v1/chat/completions", map[string]string{
			"Authorization": "Bearer sk-0123456789abcdef", "X-Stainless-Retry-Count": fmt.Sprint(i % 3), "X-Team": "red",
		}))
		e.Body(fmt.Appendf(nil, `{"n":%d,"text":"hello"}`, i))
		e.Update(func(r *journal.Record) {
			r.ID, r.Model, r.Status = fmt.Sprintf("req_%d", i), "gpt-4o", 200
			r.Usage = &journal.Usage{Prompt: 10 * (i + 1), Completion: i + 1}
			if i%2 == 1 {
				r.Status, r.Usage = 429, nil
			}
		})
		e.Finish(epoch.Add(time.Duration(i)*time.Second + 250*time.Millisecond))
	}
}

func TestRecord(t *testing.T) {
	j := newJournal(t, journal.Config{BodyBytes: 10, Redact: []string{"X-Private"}})
	e := j.Begin(epoch, post("/v1/chat/completions?api_key=nobody", map[string]string{
		"Authorization": "Bearer sk-0123456789abcdef", "Api-Key": "short", "Cookie": "session=0123456789abcdef0",
		"X-Private": "0123456789abcdefgh", "X-Plain": "shown", "X-Stainless-Retry-Count": "2",
	}))
	e.Body([]byte(`{"a":"öööö"}`))
	if r := e.Record(); !r.Open {
		t.Error("a request being served is open")
	}
	e.Finish(epoch.Add(1500 * time.Microsecond))
	e.Finish(epoch.Add(time.Hour))
	want := journal.Record{
		Seq: 1, Time: epoch, Method: "POST", Route: "/v1/chat/completions", Key: "sk-…cdef", Retry: 2, TookMs: 1.5,
		Header: map[string][]string{
			"Authorization": {"Bearer sk-…cdef"}, "Api-Key": {"…"}, "Cookie": {"ses…def0"}, "X-Private": {"012…efgh"},
			"X-Plain": {"shown"}, "X-Stainless-Retry-Count": {"2"},
		},
		Body: `{"a":"öö`, BodyBytes: 16,
	}
	if diff := cmp.Diff(want, e.Record()); diff != "" {
		t.Error(diff)
	}
	var none *journal.Entry
	none.Body(nil)
	none.Update(func(*journal.Record) { t.Error("a nil entry has nothing to update") })
	none.Finish(epoch)
}

// TestSecretsNeverShow: whatever is asked for, a key is in no answer.
func TestSecretsNeverShow(t *testing.T) {
	const secret = "sk-verysecret-0123456789-zzzz"
	var out bytes.Buffer
	sink := journal.NewSink(&out, 0)
	j := newJournal(t, journal.Config{Sink: sink})
	for _, name := range []string{
		"Authorization", "Api-Key", "X-Api-Key", "Proxy-Authorization", "Cookie", "X-Auth-Token", "Openai-Secret",
	} {
		j.Begin(epoch, post("/v1/models", map[string]string{name: secret})).Finish(epoch)
		j.Begin(epoch, post("/v1/models", map[string]string{name: "Bearer " + secret})).Finish(epoch)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	routes(j, time.Now).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/sim/requests", http.NoBody))
	for where, text := range map[string]string{"list": w.Body.String(), "sink": out.String()} {
		if strings.Contains(text, "verysecret") || strings.Contains(text, "0123456789") {
			t.Errorf("%s shows a key: %s", where, text)
		}
	}
}

// TestRingIsBounded: bounds on number and bytes hold after every step, the newest record always stays.
func TestRingIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records, bytes := rapid.IntRange(1, 20).Draw(t, "records"), rapid.IntRange(1, 20_000).Draw(t, "bytes")
		j, err := journal.New(journal.Config{Records: records, Bytes: bytes, BodyBytes: 4000})
		if err != nil {
			t.Fatal(err)
		}
		var entries []*journal.Entry
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(entries) == 0 || rapid.Bool().Draw(t, "new") {
				entries = append(entries, j.Begin(epoch, post("/x", nil)))
			} else {
				e := entries[rapid.IntRange(0, len(entries)-1).Draw(t, "entry")]
				e.Body(make([]byte, rapid.IntRange(0, 5000).Draw(t, "body")))
			}
			tot := j.Totals()
			if tot.Kept > records || (tot.Bytes > bytes && tot.Kept > 1) || tot.Bytes < 0 || tot.Kept < 1 {
				t.Fatalf("bounds %d and %d: %+v", records, bytes, tot)
			}
			if tot.Seen != uint64(len(entries)) || tot.Seen != uint64(tot.Kept)+tot.Evicted {
				t.Fatalf("%d requests: %+v", len(entries), tot)
			}
			all := j.Records()
			for i, r := range all {
				if r.Seq != tot.Seen-uint64(len(all)-1-i) {
					t.Fatalf("record %d of %d is number %d", i, len(all), r.Seq)
				}
			}
		}
	})
}

// TestHandedOutStaysTheSame: a record that was read does not change with later updates.
func TestHandedOutStaysTheSame(t *testing.T) {
	j := newJournal(t, journal.Config{})
	e := j.Begin(epoch, post("/x", nil))
	before := j.Records()[0]
	e.Update(func(r *journal.Record) { r.Status = 200 })
	if before.Status != 0 || j.Records()[0].Status != 200 {
		t.Error("updates must replace records")
	}
	if n := j.Reset(); n != 1 || len(j.Records()) != 0 {
		t.Errorf("reset removed %d", n)
	}
	e.Finish(epoch) // must not come back
	if len(j.Records()) != 0 {
		t.Error("a forgotten record came back")
	}
}

func TestConcurrentUse(t *testing.T) {
	sink := journal.NewSink(&bytes.Buffer{}, 8)
	j := newJournal(t, journal.Config{Records: 10, Sink: sink})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				e := j.Begin(epoch, post("/x", map[string]string{"A": "b"}))
				e.Body([]byte("body"))
				j.Find(journal.Filter{})
				e.Update(func(r *journal.Record) { r.Status = 200 })
				e.Finish(epoch)
			}
		})
	}
	wg.Wait()
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	if n := sink.Written() + sink.Dropped(); n != 800 {
		t.Errorf("written and dropped are %d, want 800", n)
	}
}

func TestFilters(t *testing.T) {
	j := newJournal(t, journal.Config{})
	fill(j, 10)
	now := epoch.Add(9 * time.Second)
	for query, want := range map[string]string{
		"":                                 "0123456789",
		"status=429":                       "13579",
		"status=4xx":                       "13579",
		"status=200-299":                   "02468",
		"model=gpt-*":                      "0123456789",
		"model=gpt":                        "",
		"id=req_3":                         "3",
		"route=/v1/chat/*":                 "0123456789",
		"contains=%22n%22:7":               "7",
		"since=3s":                         "6789",
		"since=2026-01-01T00:00:08Z":       "89",
		"until=2026-01-01T00:00:01Z":       "01",
		"min_retry=2":                      "258",
		"max_retry=0&status=2xx":           "06",
		"key=sk-*":                         "0123456789",
		"matched=true":                     "",
		"open=false&disconnected=false":    "0123456789",
		"header=x-team:%20r*":              "0123456789",
		"header=x-team:blue":               "",
		"status=200&order=newest&limit=2":  "86",
		"order=oldest&offset=8":            "89",
		"limit=3&offset=99":                "",
		"id=req_*&id=*4":                   "4",
		"stream=true":                      "",
		"method=post&faulted=false":        "0123456789",
		"limited=&session=&mapping=&fault": "0123456789",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		f, err := journal.ParseFilter(q, now)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		page, _ := j.Find(f)
		var got strings.Builder
		for _, r := range page {
			got.WriteString(strings.TrimPrefix(r.ID, "req_"))
		}
		if got.String() != want {
			t.Errorf("%s: got %s, want %s", query, got.String(), want)
		}
	}
	for query, want := range map[string]string{
		"mode=x":    `unknown filter "mode", known are id, model`,
		"status=9x": "no status like", "status=500-400": "no status like",
		"since=yesterday": "neither a time", "limit=-1": "is no count", "stream=yes": "neither true nor false",
		"order=up": "neither newest nor oldest", "header=x": "not of the form", "min_retry=a": "is no count",
	} {
		q, _ := url.ParseQuery(query)
		if _, err := journal.ParseFilter(q, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", query, err, want)
		}
	}
}

// failing is a disk that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// blocked is a disk that hangs until it is released.
type blocked struct{ release chan struct{} }

func (b blocked) Write(p []byte) (int, error) { <-b.release; return len(p), nil }

func TestSink(t *testing.T) {
	var out bytes.Buffer
	sink := journal.NewSink(&out, 0)
	j := newJournal(t, journal.Config{Sink: sink})
	fill(j, 3)
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last journal.Record
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 3 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if diff := cmp.Diff(*j.Records()[2], last); diff != "" {
		t.Error(diff)
	}
	sink.Put(&last)
	if sink.Dropped() != 1 {
		t.Error("a closed sink drops and counts")
	}

	full := journal.NewSink(failing{}, 0)
	full.Put(&last)
	if err := full.Close(); err == nil || full.Dropped() != 1 {
		t.Errorf("a failed write: %v, %d dropped", err, full.Dropped())
	}

	slow := blocked{make(chan struct{})}
	stuck := journal.NewSink(slow, 2)
	for range 100 {
		stuck.Put(&last)
	}
	// One or none is in the hands of the goroutine, two wait.
	if d := stuck.Dropped(); d < 97 || d > 98 {
		t.Errorf("%d dropped of 100, want 97 or 98", d)
	}
	close(slow.release)
	if err := stuck.Close(); err != nil {
		t.Error(err)
	}
}

func TestLatency(t *testing.T) {
	tl := journal.Timeline{
		Submitted: epoch, FirstToken: epoch.Add(100 * time.Millisecond), LastToken: epoch.Add(500 * time.Millisecond),
	}
	want := &journal.Latency{TTFT: 100, ITL: 50, Total: 500}
	if diff := cmp.Diff(want, tl.Latency(9)); diff != "" {
		t.Error(diff)
	}
	if tl.Latency(1).ITL != 0 || (journal.Timeline{}).Latency(3) != nil {
		t.Error("one token has no gap, an unknown time no latency")
	}
}

func TestValidate(t *testing.T) {
	_, err := journal.New(journal.Config{Records: -1, Bytes: -2, Redact: []string{""}})
	for _, want := range []string{"records: -1", "bytes: -2", "redact[0]: empty"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// BenchmarkRequest is one request with the headers of an SDK, from Begin to Finish.
func BenchmarkRequest(b *testing.B) {
	j := newJournal(b, journal.Config{})
	r := post("/v1/chat/completions", map[string]string{"Authorization": "Bearer sk-0123456789abcdef"})
	for i := range 12 {
		r.Header.Set(fmt.Sprintf("X-Stainless-H%d", i), "value of some length")
	}
	body := bytes.Repeat([]byte("x"), 2000)
	b.ReportAllocs()
	for b.Loop() {
		e := j.Begin(epoch, r)
		e.Body(body)
		e.Update(func(r *journal.Record) { r.Model, r.Status = "m", 200 })
		e.Finish(epoch)
	}
}
