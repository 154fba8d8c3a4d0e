package assembly

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"fakellm/openai"
)

// rehearse streams one short answer of the planner to nobody, through a face of its own: what decoding, planning and
// writing prepare at their first use costs about 1 ms, and shall not be part of a client's first TTFT. Neither engine nor
// metrics nor journal hear of it.
func rehearse(p *openai.ReplyPlanner, model string) error {
	face, err := openai.New(openai.Options{Writers: 1}, stage{}, p)
	if err != nil {
		return err
	}
	defer face.Close()
	body, err := json.Marshal(map[string]any{
		"model": model, "stream": true, "stream_options": map[string]any{"include_usage": true}, "max_tokens": 4,
		"messages": []map[string]any{{"role": "user", "content": "Hello"}},
	})
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	w := heard{verdict: verdict{header: http.Header{}}}
	face.Handler().ServeHTTP(&w, r)
	if w.status != http.StatusOK || !strings.HasSuffix(w.said.String(), "data: [DONE]\n\n") {
		return fmt.Errorf("rehearsal: status %d, %q", w.status, w.said.String())
	}
	return nil
}

// heard keeps what is answered.
type heard struct {
	verdict
	said strings.Builder
}

// Write and Flush make heard a writer of streams.
func (h *heard) Write(p []byte) (int, error) { return h.said.Write(p) }
func (h *heard) Flush()                      {}

// stage is a Backend on which everything has been said at once.
type stage struct{}

// Limits has no limits.
func (stage) Limits() openai.Limits { return openai.Limits{MaxModelLen: 1 << 20, Ranks: 1} }

// Submit ends the job.
func (stage) Submit(job openai.Job, wake func()) (openai.Ticket, error) {
	go wake()
	return over(job.OutputTokens), nil
}

// over is the ticket of a job with so many tokens that has ended.
type over int

// Progress is the end.
func (n over) Progress() openai.Progress {
	return openai.Progress{Tokens: int(n), Admitted: true, End: openai.Completed}
}

// Cancel comes too late.
func (over) Cancel() {}
