package fault_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"fakellm/openai/fault"
)

// The lines that wire faults around a face: a header wins, then the rules.
func Example() {
	down, err := fault.Parse("status=503;retry-after=1")
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := fault.NewSet([]fault.Rule{{Name: "outage", Route: "/v1/*", First: 2, Plan: down}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var mu sync.Mutex
	counters, start := fault.NewCounters(42, 0), time.Now()
	choose := func(r *http.Request) (fault.Plan, error) {
		if h := r.Header.Get(fault.Header); h != "" {
			return fault.Parse(h)
		}
		mu.Lock()
		defer mu.Unlock()
		plan, _ := set.Choose(time.Since(start), fault.Facts{Route: r.URL.Path}, counters)
		return plan, nil
	}
	face := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	handler := fault.Middleware(face, choose, fault.Options{})
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", http.NoBody))
		fmt.Println(w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 503 1
	// 503 1
	// 200
}
