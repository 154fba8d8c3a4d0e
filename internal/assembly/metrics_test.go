package assembly

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestMetricsOfDialects: each dialect's names are where its server has them.
func TestMetricsOfDialects(t *testing.T) {
	for _, row := range []struct {
		dialect, path string
		status        int
		want          string
	}{
		{"trtllm", "/prometheus/metrics", http.StatusOK, "trtllm_request_queue_time_seconds"},
		{"trtllm", "/metrics", http.StatusOK, "trtllm_request_queue_time_seconds"},
		{"vllm", "/prometheus/metrics", http.StatusNotFound, ""},
		{"vllm", "/metrics", http.StatusOK, "vllm:lora_requests_info"},
		{"sglang", "/metrics", http.StatusOK, "sglang:num_grammar_queue_reqs"},
		{"dynamo", "/metrics", http.StatusOK, "dynamo_frontend_queued_requests"},
		{"dynamo", "/metrics", http.StatusOK, "vllm:num_requests_running"},
	} {
		c, err := Settings([]string{"dialect=" + row.dialect})
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewServer(&c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, row.path, http.NoBody))
		if w.Code != row.status || !strings.Contains(w.Body.String(), row.want) {
			t.Errorf("%s %s: %d, and %q is missing or status %d", row.dialect, row.path, w.Code, row.want, row.status)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
