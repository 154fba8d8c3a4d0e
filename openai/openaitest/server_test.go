package openaitest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fakellm/openai/openaitest"
)

func post(t *testing.T, s *openaitest.Server, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(data)
}

// request makes a control request and returns the answer with its body.
func request(t *testing.T, s *openaitest.Server, method, path string, change func(*http.Request)) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	change(req)
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

func prompt(n int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(1000 + i)
	}
	return "[" + strings.Join(ids, ",") + "]"
}

// TestTimelineOfOneRequest: 128 tokens in, 3 out, all defaults. The instants are those of the virtual timeline (spec
// engine-core §2.10). The live driver settles an instant once it lies in the past, so bytes leave 1 ns after it.
func TestTimelineOfOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"))
		start := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL()+"/completions",
			strings.NewReader(`{"model":"m","stream":true,"max_tokens":3,"ignore_eos":true,"prompt":`+prompt(128)+`}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var at []time.Duration
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.Contains(lines.Text(), `"text":"`) && !strings.Contains(lines.Text(), `"text":""`) {
				at = append(at, time.Since(start))
			}
		}
		want := []time.Duration{18451798 + 1, 24198442 + 1, 29945138 + 1}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error(diff)
		}
	})
}

type answer struct {
	Choices []struct {
		Text    string `json:"text"`
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
			Audio  int `json:"audio_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// TestSecondTurnHitsTheCache: turn 2 repeats turn 1 and its answer. All of them but the last token have KV, so the full
// blocks of prompt plus answer minus one are reused, and the first token comes that much earlier.
func TestSecondTurnHitsTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const block = 16
		s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("block_size", fmt.Sprint(block)))
		turn := func(messages string) (answer, time.Duration) {
			resp, body := post(t, s, "/chat/completions", `{"model":"gpt-4o","max_tokens":200,"ignore_eos":true,"messages":[`+messages+`]}`)
			var a answer
			if err := json.Unmarshal([]byte(body), &a); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			var queue, prefill float64
			if _, err := fmt.Sscanf(resp.Header.Get("Server-Timing"), "queue;dur=%f, prefill;dur=%f", &queue, &prefill); err != nil {
				t.Fatalf("Server-Timing %q: %v", resp.Header.Get("Server-Timing"), err)
			}
			return a, time.Duration(prefill * 1e6)
		}
		user := fmt.Sprintf(`{"role":"user","content":%q}`, strings.Repeat("Tell me about the sea. ", 200))
		first, cold := turn(user)
		if first.Usage.Details.Cached != 0 || first.Usage.Completion != 200 {
			t.Fatalf("turn 1: %+v", first.Usage)
		}
		said, err := json.Marshal(first.Choices[0].Message.Content)
		if err != nil {
			t.Fatal(err)
		}
		second, warm := turn(user + `,{"role":"assistant","content":` + string(said) + `},{"role":"user","content":"More."}`)
		want := (first.Usage.Prompt + first.Usage.Completion - 1) / block * block
		if got := second.Usage.Details.Cached; got != want {
			t.Errorf("turn 2 reused %d tokens, want %d: all full blocks of turn 1 (%d in, %d out)",
				got, want, first.Usage.Prompt, first.Usage.Completion)
		}
		if warm >= cold {
			t.Errorf("prefill took %v after a hit, %v without", warm, cold)
		}
	})
}

// TestPreemptionUnderLoad: 64 concurrent streams on a small pool preempt each other; every stream is complete and in order.
func TestPreemptionUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("num_gpu_blocks", "64"),
			openaitest.Set("block_size", "16"))
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				// Every prompt differs in its first block: nothing is shared.
				_, body := post(t, s, "/completions", fmt.Sprintf(
					`{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":120,"ignore_eos":true,"prompt":[%d,%s}`,
					i+1, prompt(39)[1:]))
				if !strings.HasSuffix(body, "data: [DONE]\n\n") || strings.Contains(body, `"error"`) ||
					strings.Count(body, `"finish_reason":"length"`) != 1 || !strings.Contains(body, `"completion_tokens":120`) {
					t.Errorf("stream %d is not whole: …%s", i, body[max(0, len(body)-400):])
				}
			})
		}
		wg.Wait()
		m := metrics(t, s)
		if m["vllm:num_preemptions_total"] == 0 {
			t.Error("nothing was preempted")
		}
		if got := m["vllm:generation_tokens_total"]; got != 64*120 {
			t.Errorf("the engine counts %v tokens, the clients %d", got, 64*120)
		}
	})
}

// metrics sums the samples of /metrics by name.
func metrics(t *testing.T, s *openaitest.Server) map[string]float64 {
	t.Helper()
	resp, err := s.Client().Get(s.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	out := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		name, _, _ = strings.Cut(name, "{")
		var v float64
		if _, err := fmt.Sscanf(value[strings.LastIndex(value, " ")+1:], "%g", &v); err == nil {
			out[name] += v
		}
	}
	return out
}

// TestCountsReconcile: what clients count and what the engine's metrics say is the same, and the identities of the
// metrics hold (spec openai-endpoint §3.3).
func TestCountsReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("num_workers", "2"))
		time.Sleep(3 * time.Second) // virtual: latencies count from arrivals, not from the start of the server
		var in, out, cached int
		var seen time.Duration
		for i := range 20 {
			asked := time.Now()
			_, body := post(t, s, "/completions", fmt.Sprintf(`{"model":"m","max_tokens":%d,"prompt":%s}`, 1+i%7, prompt(100+40*(i%4))))
			var a answer
			if err := json.Unmarshal([]byte(body), &a); err != nil {
				t.Fatal(err)
			}
			seen += time.Since(asked)
			in, out, cached = in+a.Usage.Prompt, out+a.Usage.Completion, cached+a.Usage.Details.Cached
		}
		post(t, s, "/completions", `{"model":"m","max_tokens":-1,"prompt":"x"}`) // refused: the engine never hears of it
		m := metrics(t, s)
		for name, want := range map[string]float64{
			"vllm:prompt_tokens_total": float64(in), "vllm:generation_tokens_total": float64(out),
			"vllm:prompt_tokens_cached_total": float64(cached), "vllm:prompt_tokens_by_source_total": float64(in),
			"vllm:request_success_total": 20, "vllm:e2e_request_latency_seconds_count": 20,
			"vllm:time_to_first_token_seconds_count": 20, "vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0,
			"fakellm_http_requests_total": 21,
		} {
			if m[name] != want {
				t.Errorf("%s = %v, want %v", name, m[name], want)
			}
		}
		parts := m["vllm:request_queue_time_seconds_sum"] + m["vllm:request_prefill_time_seconds_sum"] + m["vllm:request_decode_time_seconds_sum"]
		if e2e := m["vllm:e2e_request_latency_seconds_sum"]; parts < e2e-1e-9 || parts > e2e+1e-9 {
			t.Errorf("queue + prefill + decode = %v s, e2e = %v s", parts, e2e)
		}
		if e2e := m["vllm:e2e_request_latency_seconds_sum"]; e2e < seen.Seconds()-1e-6 || e2e > seen.Seconds() {
			t.Errorf("the engine says %v s from arrivals to last tokens, the client saw %v", e2e, seen)
		}
		if cached == 0 {
			t.Error("no prompt was reused: the test shows too little")
		}
	})
}

// TestLeavingFreesTheSlot: a client that goes away mid-stream is out of the engine within a pass, and counted once.
func TestLeavingFreesTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("timing", "fixed"),
			openaitest.Set("prefill_ms", "10"), openaitest.Set("decode_ms", "10"))
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.BaseURL()+"/completions",
			strings.NewReader(`{"model":"m","stream":true,"max_tokens":5000,"ignore_eos":true,"prompt":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if got := metrics(t, s)["vllm:num_requests_running"]; got != 1 {
			t.Fatalf("%v running, want 1", got)
		}
		leave()
		_ = resp.Body.Close()
		time.Sleep(25 * time.Millisecond) // virtual: two passes and a half
		m := metrics(t, s)
		for name, want := range map[string]float64{
			"vllm:num_requests_running": 0, "fakellm_client_disconnects_total": 1, "fakellm_open_streams": 0,
			"vllm:request_success_total": 1, // as aborted
		} {
			if m[name] != want {
				t.Errorf("%s = %v, want %v", name, m[name], want)
			}
		}
	})
}

// TestTooLongIsRefusedUpFront: without max_model_len the limit is what the pool holds.
func TestTooLongIsRefusedUpFront(t *testing.T) {
	for _, backend := range []string{"vllm", "sglang", "trtllm"} {
		s := openaitest.Start(t, openaitest.Set("backend", backend), openaitest.Set("num_gpu_blocks", "4"), openaitest.Set("block_size", "16"),
			openaitest.Set("chunked_prefill_size", "64"))
		resp, body := post(t, s, "/completions", `{"model":"m","max_tokens":30,"prompt":`+prompt(60)+`}`)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "context_length_exceeded") {
			t.Errorf("%s: %d %s", backend, resp.StatusCode, body)
		}
		resp, body = post(t, s, "/completions", `{"model":"m","max_tokens":8,"ignore_eos":true,"prompt":`+prompt(30)+`}`)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: what fits must run: %d %s", backend, resp.StatusCode, body)
		}
	}
}

// TestModelLimits: a model has limits of its own beside those of the key, and the refusal names it.
func TestModelLimits(t *testing.T) {
	s := openaitest.Start(t, openaitest.Set("rpm", "2"), openaitest.Set("limit", "gpt-4*=1/5000,o3=3"))
	for i, tc := range []struct {
		model     string
		status    int
		remaining string
		tokens    bool
	}{
		{"gpt-4o", 200, "0", true},
		{"gpt-4o", 429, "0", true},
		{"gpt-4o-mini", 200, "0", true},
		{"o3", 200, "2", false},
		{"llama", 200, "1", false},
		{"qwen", 200, "0", false},
		{"qwen", 429, "0", false},
		{"o3", 200, "1", false},
	} {
		resp, body := post(t, s, "/chat/completions", fmt.Sprintf(
			`{"model":%q,"max_completion_tokens":9,"messages":[{"role":"user","content":"x"}]}`, tc.model))
		h := resp.Header
		if resp.StatusCode != tc.status || h.Get("X-Ratelimit-Remaining-Requests") != tc.remaining ||
			(h.Get("X-Ratelimit-Limit-Tokens") == "5000") != tc.tokens {
			t.Errorf("%d: %s: %d %v %s", i, tc.model, resp.StatusCode, h, body)
		}
		if tc.status == 429 && !strings.Contains(body, "Rate limit reached for "+tc.model+" on requests per min (RPM)") {
			t.Errorf("%d: the refusal does not name %s: %s", i, tc.model, body)
		}
	}
}

func TestScriptFaultLimitJournal(t *testing.T) {
	s := openaitest.Start(t, openaitest.Set("rpm", "4"), openaitest.Script(`
mappings:
- request: {user: {matches: 'my name is (\w+)'}}
  response: {text: "Hello {{.Group 1}}."}
- request: {user: {contains: break}}
  response: {text: "never", fault: "status=503;retry-after=1"}
`))
	chat := func(text string, header ...string) (*http.Response, string) {
		return post(t, s, "/chat/completions", fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, text), header...)
	}
	if _, body := chat("my name is Ada"); !strings.Contains(body, `"Hello Ada."`) {
		t.Errorf("scripted answer: %s", body)
	}
	if resp, body := chat("break it"); resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("scripted fault: %d %s", resp.StatusCode, body)
	}
	if resp, _ := chat("x", "x-sim-fault", "status=418"); resp.StatusCode != 418 {
		t.Errorf("fault by header: %d", resp.StatusCode)
	}
	resp, body := post(t, s, "/chat/completions", `{"model":"m","x_sim":{"fault":"explode"},"messages":[{"role":"user","content":"x"}]}`)
	if resp.StatusCode != 400 || !strings.Contains(body, "explode") {
		t.Errorf("an unknown fault: %d %s", resp.StatusCode, body)
	}
	if resp, _ = chat("y"); resp.Header.Get("X-Ratelimit-Remaining-Requests") != "0" {
		t.Errorf("remaining %q, want 0", resp.Header.Get("X-Ratelimit-Remaining-Requests"))
	}
	if resp, body = chat("z"); resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "rate_limit_exceeded") {
		t.Errorf("limit: %d %s", resp.StatusCode, body)
	}
	got := s.Requests()
	if len(got) != 6 {
		t.Fatalf("%d requests in the journal, want 6", len(got))
	}
	if got[0].Mapping == "" || got[0].Status != 200 || got[0].Usage.Completion == 0 || !strings.Contains(got[0].Body, "Ada") {
		t.Errorf("%+v", got[0])
	}
	if got[1].Fault == "" || got[1].Status != 503 || got[5].Status != 429 {
		t.Errorf("%+v %+v", got[1], got[5])
	}
}

// TestControlNeedsToken: with a token set, control routes ask for it even on this machine.
func TestControlNeedsToken(t *testing.T) {
	s := openaitest.Start(t, openaitest.Set("control_token", "secret"))
	for _, row := range []struct {
		token string
		want  int
	}{{"", 401}, {"Bearer wrong", 401}, {"Bearer secret", 200}} {
		status, _ := request(t, s, http.MethodGet, "/sim/state", func(r *http.Request) { r.Header.Set("Authorization", row.token) })
		if status != row.want {
			t.Errorf("token %q: %d, want %d", row.token, status, row.want)
		}
	}
}

// TestControlIsNotForOtherSites: without a token, a page that a browser here shows must not be able to steer the server.
func TestControlIsNotForOtherSites(t *testing.T) {
	s := openaitest.Start(t)
	for _, row := range []struct {
		why, host, origin string
		want              int
	}{
		{"a command line on this machine", "", "", 200},
		{"a page of this machine", "", "http://localhost:3000", 200},
		{"a page of another site", "", "https://evil.example", 403},
		{"a name that resolves to this machine", "evil.example", "", 403},
	} {
		status, _ := request(t, s, http.MethodGet, "/sim/state", func(r *http.Request) {
			r.Host = row.host
			if row.origin != "" {
				r.Header.Set("Origin", row.origin)
			}
		})
		if status != row.want {
			t.Errorf("%s: %d, want %d", row.why, status, row.want)
		}
	}
}

// TestUnknownRoutesHaveTheEnvelope: whatever the route, a refusal is JSON in the shape that SDKs read; of a wrong method it
// says which ones are right.
func TestUnknownRoutesHaveTheEnvelope(t *testing.T) {
	s := openaitest.Start(t)
	for _, row := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/nope", 404},
		{"GET", "/sim/nope", 404},
		{"GET", "/sim/requests/a/b", 404},
		{"PATCH", "/sim/state", 405},
		{"POST", "/sim/state", 405},
		{"POST", "/sim/kv_blocks", 405},
		{"POST", "/sim/faults", 405},
		{"PATCH", "/sim/mappings", 405},
		{"POST", "/sim/mappings/x", 405},
		{"PUT", "/sim/scenarios", 405},
		{"PUT", "/sim/requests", 405},
		{"DELETE", "/sim/requests/foo", 405},
		{"POST", "/sim/requests/verify", 405},
		{"GET", "/sim/verify", 405},
		{"DELETE", "/flush_cache", 405},
		{"PUT", "/v1/chat/completions", 405},
		{"POST", "/metrics", 405},
		{"PUT", "/health", 405},
		{"GET", "/v1//models", 404},
		{"PUT", "/sim/faults", 400},
		{"GET", "/sim/kv_blocks?worker=9", 400},
	} {
		req, err := http.NewRequestWithContext(t.Context(), row.method, s.URL+row.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		status, head := resp.StatusCode, resp.Header
		var body struct {
			Error map[string]any `json:"error"`
		}
		if err := json.Unmarshal(text, &body); err != nil || status != row.want || len(body.Error) != 4 {
			t.Errorf("%s %s: %d %v %v, want %d", row.method, row.path, status, body.Error, err, row.want)
		}
		if kind := head.Get("Content-Type"); kind != "application/json" {
			t.Errorf("%s %s: content-type %q", row.method, row.path, kind)
		}
		if status == 405 && (body.Error["code"] != "method_not_allowed" || head.Get("Allow") == "") {
			t.Errorf("%s %s: %v, Allow %q", row.method, row.path, body.Error, head.Get("Allow"))
		}
	}
}

func ExampleStart() {
	t := new(testing.T) // a test has its own
	s := openaitest.Start(t, openaitest.Script(`{"mappings": [{"request": {}, "response": {"text": "Hello."}}]}`))
	resp, err := s.Client().Post(s.BaseURL()+"/chat/completions", "application/json",
		strings.NewReader(`{"model": "any", "messages": [{"role": "user", "content": "Hi"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	fmt.Println(resp.StatusCode)
	// Output: 200
}
