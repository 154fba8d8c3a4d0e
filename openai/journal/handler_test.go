package journal_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fakellm/openai/journal"
)

// routes is a mux with the control routes alone.
func routes(j *journal.Journal, clock func() time.Time) *http.ServeMux {
	mux := http.NewServeMux()
	j.Routes(mux, clock)
	return mux
}

// call asks a control route and decodes the answer.
func call(t testing.TB, j *journal.Journal, method, path, body string) (int, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	clock := func() time.Time { return epoch.Add(9 * time.Second) }
	routes(j, clock).ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil && w.Code != http.StatusMethodNotAllowed {
		t.Fatalf("%s %s: status %d: %v: %s", method, path, w.Code, err, w.Body)
	}
	return w.Code, v
}

// at walks into decoded JSON.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func TestRoutes(t *testing.T) {
	j := newJournal(t, journal.Config{})
	fill(j, 10)
	for _, tc := range []struct {
		method, path, body string
		status             int
		where              []any
		want               any
	}{
		{"GET", "/sim/requests", "", 200, []any{"requests", 0, "id"}, "req_9"},
		{"GET", "/sim/requests?order=oldest", "", 200, []any{"requests", 0, "id"}, "req_0"},
		{"GET", "/sim/requests?status=4xx&limit=1", "", 200, []any{"meta", "total"}, 5.0},
		{"GET", "/sim/requests?stats=1", "", 400, []any{"error", "type"}, "invalid_request_error"},
		{"GET", "/sim/requests/req_4", "", 200, []any{"usage", "completion_tokens"}, 5.0},
		{"GET", "/sim/requests/3", "", 200, []any{"id"}, "req_2"},
		{"GET", "/sim/requests/nobody", "", 404, []any{"error", "message"}, "no record of request nobody"},
		{"GET", "/sim/requests/count?status=200", "", 200, []any{"count"}, 5.0},
		{"POST", "/sim/requests/count", `{"status":429,"min_retry":1}`, 200, []any{"count"}, 3.0},
		{"POST", "/sim/requests/count", `{"id":["req_*","*3"]}`, 200, []any{"count"}, 1.0},
		{"POST", "/sim/requests/count", `{"id":{}}`, 400, []any{"error", "param"}, nil},
		{"POST", "/sim/requests/count", `[`, 400, []any{"error", "param"}, nil},
		{"POST", "/sim/requests/find", `{"contains":"\"n\":7"}`, 200, []any{"requests", 0, "id"}, "req_7"},
		{"GET", "/sim/requests/unmatched", "", 200, []any{"meta", "total"}, 10.0},
		{"GET", "/sim/requests/summary", "", 200, []any{"isl_tokens", "p50"}, 50.0},
		{"GET", "/sim/requests/summary", "", 200, []any{"status", "429"}, 5.0},
		{"GET", "/sim/requests/summary?since=4s", "", 200, []any{"osl_tokens", "max"}, 9.0},
		{"POST", "/sim/verify", `{"status":200,"count":5}`, 200, []any{"ok"}, true},
		{
			"POST", "/sim/verify", `{"status":200,"count":4}`, 417,
			[]any{"message"},
			"expected exactly 4 matching calls, found 5",
		},
		{"POST", "/sim/verify", `{"model":"gpt-4o","at_least":2,"at_most":20}`, 200, []any{"expected"}, "from 2 to 20"},
		{"POST", "/sim/verify", `{"status":500}`, 417, []any{"near_misses", 0, "id"}, "req_9"},
		{
			"POST", "/sim/verify", `{"count":1,"at_most":3}`, 400,
			[]any{"error", "message"},
			"count: excludes at_least and at_most",
		},
		{"PUT", "/sim/requests", "", 405, nil, nil},
		{"DELETE", "/sim/requests", "", 200, []any{"removed"}, 10.0},
		{"GET", "/sim/requests/count", "", 200, []any{"count"}, 0.0},
		{"POST", "/sim/requests/reset", "", 200, []any{"removed"}, 0.0},
	} {
		status, v := call(t, j, tc.method, tc.path, tc.body)
		if status != tc.status {
			t.Errorf("%s %s %s: status %d, want %d: %v", tc.method, tc.path, tc.body, status, tc.status, v)
			continue
		}
		if got := at(v, tc.where...); tc.where != nil && !cmp.Equal(got, tc.want) {
			t.Errorf("%s %s %s: %v is %v, want %v", tc.method, tc.path, tc.body, tc.where, got, tc.want)
		}
	}
}

// TestNearMisses: the closest record comes first, with what failed.
func TestNearMisses(t *testing.T) {
	j := newJournal(t, journal.Config{})
	fill(j, 4)
	x, err := journal.ParseExpectation(url.Values{
		"model": {"gpt-4o"}, "status": {"200"}, "contains": {`"n":3`}, "count": {"1"},
	}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	v := j.Verify(x)
	if v.OK || v.Count != 0 || len(v.NearMisses) != 3 {
		t.Fatalf("verdict %+v", v)
	}
	n := v.NearMisses[0]
	if n.ID != "req_3" || !cmp.Equal(n.Failed, []string{"status=200"}) || len(n.Held) != 2 {
		t.Errorf("nearest %+v", n)
	}
}

// FuzzFilter: no query and no body panics a filter or an expectation.
func FuzzFilter(f *testing.F) {
	f.Add("status=4xx&since=5m&header=x: *", `{"model":"gpt-*"}`)
	f.Add("count=3&limit=2&order=newest", `{"status":[200,"4xx"],"stream":true}`)
	j := newJournal(f, journal.Config{})
	fill(j, 3)
	h := routes(j, func() time.Time { return epoch })
	f.Fuzz(func(t *testing.T, query, body string) {
		for _, path := range []string{"/sim/verify", "/sim/requests/find", "/sim/requests/count"} {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			r.URL.RawQuery = query
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s?%s %s: status %d: %s", path, query, body, w.Code, w.Body)
			}
		}
	})
}

// FuzzHeaders: whatever a client sends as headers, the record is valid JSON and holds no long key.
func FuzzHeaders(f *testing.F) {
	f.Add("Authorization", "Bearer sk-0123456789abcdef", "1")
	f.Add("X-Api-Key", "\xff\xfe0123456789012345678", "-1")
	f.Fuzz(func(t *testing.T, name, value, retry string) {
		j := newJournal(t, journal.Config{})
		r := post("/x", map[string]string{name: value, "X-Stainless-Retry-Count": retry, "X-Api-Key": value})
		e := j.Begin(epoch, r)
		rec := e.Record()
		text, err := json.Marshal(rec)
		if err != nil || !json.Valid(text) {
			t.Fatalf("%v: %s", err, text)
		}
		if len(rec.Key) > 10 || rec.Retry < 0 {
			t.Fatalf("key %q, retry %d", rec.Key, rec.Retry)
		}
	})
}

// The lines that wire a journal around a face.
func Example() {
	j, err := journal.New(journal.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	face := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		journal.From(r.Context()).Update(func(rec *journal.Record) { rec.ID, rec.Model, rec.Status = "req_1", "gpt-4o", 200 })
		w.WriteHeader(http.StatusOK)
	})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := j.Begin(time.Now(), r)
		defer func() { e.Finish(time.Now()) }()
		face.ServeHTTP(w, r.WithContext(journal.With(r.Context(), e)))
	})
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", http.NoBody))

	expect, err := journal.ParseExpectation(url.Values{"model": {"gpt-*"}, "count": {"2"}}, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(j.Verify(expect).Message)
	// Output: expected exactly 2 matching calls, found 1
}
