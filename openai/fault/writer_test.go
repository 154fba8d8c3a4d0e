package fault_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fakellm/internal/memnet"
	"fakellm/openai/fault"
)

// serve runs a handler under synctest and gives a dialler.
func serve(t *testing.T, h http.Handler, test func(dial func() net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := memnet.New()
		srv := &http.Server{Handler: h}
		go func() { _ = srv.Serve(m) }()
		test(func() net.Conn {
			c, err := m.Dial(t.Context(), "", "")
			if err != nil {
				t.Error(err)
			}
			return c
		})
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// answer is what a client saw: the status, the body as far as it came, how it ended, and after how long.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
	took   time.Duration
}

func ask(t *testing.T, c net.Conn, plan string) answer {
	t.Helper()
	start := time.Now()
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Sim-Fault: %s\r\n\r\n", plan); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return answer{err: err, took: time.Since(start)}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body), err, time.Since(start)}
}

// stream writes four events and [DONE], cut into writes of size bytes, one every 10 ms. saw is the first write error.
func stream(size int, saw *error) http.Handler {
	text := `data: {"n":1}` + "\n\n" + `data: {"n":2}` + "\n\n: keep-alive\n\n" + `data: {"n":3}` + "\n\n" +
		"event: x\n" + `data: {"n":4}` + "\n\ndata: [DONE]\n\n"
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			_, err := io.WriteString(w, rest[:n])
			if err == nil {
				err = http.NewResponseController(w).Flush()
			}
			if err != nil {
				if saw != nil {
					*saw = err
				}
				return
			}
			rest = rest[n:]
		}
	})
}

func choose(r *http.Request) (fault.Plan, error) { return fault.Parse(r.Header.Get(fault.Header)) }

const (
	e1, e2, keep, e3 = "data: {\"n\":1}\n\n", "data: {\"n\":2}\n\n", ": keep-alive\n\n", "data: {\"n\":3}\n\n"
	e4, done         = "event: x\ndata: {\"n\":4}\n\n", "data: [DONE]\n\n"
	gone             = `data: {"error":{"message":"gone","type":"server_error","param":null,"code":"c"}}` + "\n\n"
	whole            = e1 + e2 + keep + e3 + e4 + done
)

// TestStreamFaults checks every fault at the level of bytes, however the handler cuts its writes.
func TestStreamFaults(t *testing.T) {
	cut := io.ErrUnexpectedEOF
	for _, tc := range []struct {
		why, plan, body string
		err             error
		took            time.Duration
		ends            bool
	}{
		{"no plan touches nothing", "none", whole, nil, 0, false},
		{"a pause after two events, then on", "stall=5s;at=2", whole, nil, 5 * time.Second, false},
		{"a place that never comes", "reset;at=9", whole, nil, 0, false},
		{"two pauses", "stall=1s;at=1, stall=2s;at=3", whole, nil, 3 * time.Second, false},
		{"38 bytes drip from the last event on", "drip=1s;bytes=10;at=3", whole, nil, 3 * time.Second, false},
		{
			"an error event ends the stream in order", "error;at=2;message=gone;code=c",
			e1 + e2 + keep + gone, nil, 0, true,
		},
		{"half an event and the end of the connection", "truncate;at=1", e1 + e2[:len(e2)/2], cut, 0, true},
		{"five bytes of an event", "truncate;at=1;bytes=5", e1 + "data:", cut, 0, true},
		{"a truncated event is never whole", "truncate;at=1;bytes=5000", e1 + e2[:len(e2)-1], cut, 0, true},
		{"broken JSON in its frame, then on", "malformed;at=1", e1 + "data: {\"n\n\n" + keep + e3 + e4 + done, nil, 0, false},
		{
			"other fields of a malformed event stay", "malformed;at=3",
			e1 + e2 + keep + e3 + "event: x\ndata: {\"n\n\n" + done, nil, 0, false,
		},
		{"no [DONE]", "no-done", e1 + e2 + keep + e3 + e4, nil, 0, false},
		{"[DONE] twice", "double-done", whole + done, nil, 0, false},
		{"early close", "close;at=3", e1 + e2 + keep + e3, cut, 0, true},
		{"close just before [DONE]", "close;at=4", e1 + e2 + keep + e3 + e4, cut, 0, true},
		{"reset", "reset;at=1", e1, cut, 0, true},
		{"a pause, then a close", "stall=2s;at=1, close;at=2", e1 + e2 + keep, cut, 2 * time.Second, true},
		{"late headers", "hang=3s", whole, nil, 3 * time.Second, false},
	} {
		for _, size := range []int{1, 7, 16, 1000} {
			var saw error
			serve(t, fault.Middleware(stream(size, &saw), choose, fault.Options{}), func(dial func() net.Conn) {
				got := ask(t, dial(), tc.plan)
				if !errors.Is(got.err, tc.err) || got.body != tc.body || got.took != tc.took {
					t.Errorf("%s (%s, writes of %d): error %v, want %v, after %v, want %v\n%s",
						tc.why, tc.plan, size, got.err, tc.err, got.took, tc.took, cmp.Diff(tc.body, got.body))
				}
			})
			// A handler with few large writes may be through before it can hear.
			if size == 1 && (saw != nil) != tc.ends && !strings.Contains(tc.plan, "stall") {
				t.Errorf("%s (%s): the handler heard %v, an end on purpose is %v", tc.why, tc.plan, saw, tc.ends)
			}
		}
	}
}

// TestBodyFaults checks answers that are no streams.
func TestBodyFaults(t *testing.T) {
	const body = `{"id":"x","choices":[]}`
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = io.WriteString(w, body[:10])
		_, _ = io.WriteString(w, body[10:])
	})
	for _, tc := range []struct {
		plan, body string
		err        error
		took       time.Duration
	}{
		{"close", body[:5], io.ErrUnexpectedEOF, 0},
		{"reset;at=15", body[:15], io.ErrUnexpectedEOF, 0},
		{"truncate;at=0", "", io.ErrUnexpectedEOF, 0},
		{"malformed", "[" + body[1:], nil, 0},
		{"malformed;at=3", body[:3] + "\x01" + body[4:], nil, 0},
		{"stall=2s", body, nil, 2 * time.Second},
		{"drip=1s;bytes=10;at=3", body, nil, time.Second},
		{"stall=2s;at=0", body, nil, 2 * time.Second},
		{"truncate;bytes=3", body[:3], io.ErrUnexpectedEOF, 0},
		{"truncate;at=2;bytes=3", body[:5], io.ErrUnexpectedEOF, 0},
		{"truncate;bytes=5000", body[:9], io.ErrUnexpectedEOF, 0},
		{"error;at=1;message=gone;code=c", gone500, nil, 0},
		{"stall=2s, error;message=gone;code=c", gone500, nil, 2 * time.Second},
		{"error;message=gone;code=c, stall=2s", gone500, nil, 0},
		{"drip=1s;bytes=100, error;message=gone;code=c", gone500, nil, 0},
		{"no-done", body, nil, 0},
	} {
		serve(t, fault.Middleware(h, choose, fault.Options{}), func(dial func() net.Conn) {
			got := ask(t, dial(), tc.plan)
			if !errors.Is(got.err, tc.err) || got.body != tc.body || got.took != tc.took {
				t.Errorf("%s: error %v, want %v, after %v, want %v\n%s",
					tc.plan, got.err, tc.err, got.took, tc.took, cmp.Diff(tc.body, got.body))
			}
			if want := map[bool]int{true: 500, false: 200}[tc.body == gone500]; got.err == nil && got.status != want {
				t.Errorf("%s: status %d, want %d", tc.plan, got.status, want)
			}
		})
	}
}

// gone500 is an answer that failed.
const gone500 = `{"error":{"message":"gone","type":"server_error","param":null,"code":"c"}}`

// TestErrorAnswersStay: an answer that is an error keeps its status and words under faults that wait or fail.
func TestErrorAnswersStay(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "no")
	})
	for _, plan := range []string{"error", "stall=1s;at=0", "stall=1s", "drip=1s;at=0", "stall=1s;at=0, error"} {
		serve(t, fault.Middleware(h, choose, fault.Options{}), func(dial func() net.Conn) {
			if got := ask(t, dial(), plan); got.status != 400 || got.body != "no" || got.err != nil {
				t.Errorf("%s: %d %q, %v", plan, got.status, got.body, got.err)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the face must not be asked") })
	serve(t, fault.Middleware(h, choose, fault.Options{}), func(dial func() net.Conn) {
		got := ask(t, dial(), `status=429;retry-after=1.5;retry-after-ms=1500;should-retry=true;`+
			`of=tokens;limit=100;message="a, b"`)
		want := http.Header{
			"Content-Type": {"application/json"}, "Retry-After": {"2"}, "Retry-After-Ms": {"1500"}, "X-Should-Retry": {"true"},
			"X-Ratelimit-Limit-Tokens": {"100"}, "X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"1.5s"},
		}
		got.header.Del("Date")
		got.header.Del("Content-Length")
		if diff := cmp.Diff(want, got.header); diff != "" || got.status != 429 {
			t.Errorf("status %d %s", got.status, diff)
		}
		const want429 = `{"error":{"message":"a, b","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`
		if got.body != want429 {
			t.Errorf("body %s, want %s", got.body, want429)
		}
		if bad := ask(t, dial(), "explode"); bad.status != 400 || !strings.Contains(bad.body, "unknown kind") {
			t.Errorf("an unknown word: status %d, %s", bad.status, bad.body)
		}
	})
}

// TestHang: an endless hang ends with its client and nothing has been sent.
func TestHang(t *testing.T) {
	var fired fault.Plan
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the face must not be asked") })
	o := fault.Options{Report: func(_ *http.Request, _, f fault.Plan) { fired = f }}
	serve(t, fault.Middleware(h, choose, o), func(dial func() net.Conn) {
		c := dial()
		const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nX-Sim-Fault: hang\r\n\r\n{}"
		if _, err := io.WriteString(c, post); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(make([]byte, 1))
		if nerr, ok := errors.AsType[net.Error](err); n != 0 || !ok || !nerr.Timeout() {
			t.Errorf("read %d bytes, %v; want an hour of nothing", n, err)
		}
		_ = c.Close()
		synctest.Wait()
		if fired.String() != "hang" {
			t.Errorf("fired %q, want hang when the client has left", fired)
		}
	})
}

// TestSlowFaultFreesWriter: Write and Flush return at once although the client gets its bytes an hour later, and a
// client that leaves meanwhile ends the handler.
func TestSlowFaultFreesWriter(t *testing.T) {
	var left error
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		start := time.Now()
		for range 100 {
			_, _ = io.WriteString(w, e1)
			_ = http.NewResponseController(w).Flush()
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("writing took %v", took)
		}
		<-r.Context().Done()
		left = r.Context().Err()
	})
	serve(t, fault.Middleware(h, choose, fault.Options{}), func(dial func() net.Conn) {
		c := dial()
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Sim-Fault: stall=1h;at=0\r\n\r\n")
		time.Sleep(time.Minute)
		_ = c.Close()
		synctest.Wait()
		if left == nil {
			t.Error("the handler must hear that its client left")
		}
	})
}

// TestReset uses a real socket: the client must see a reset, not an orderly end.
func TestReset(t *testing.T) {
	srv := httptest.NewServer(fault.Middleware(stream(1000, nil), choose, fault.Options{}))
	defer srv.Close()
	for plan, want := range map[string]error{"reset": syscall.ECONNRESET, "close": io.EOF} {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		got := ask(t, c, plan+";at=0")
		if got.err == nil || (!errors.Is(got.err, want) && !errors.Is(got.err, io.ErrUnexpectedEOF)) {
			t.Errorf("%s: got %v, want %v", plan, got.err, want)
		}
		if reset := errors.Is(got.err, syscall.ECONNRESET); reset != (plan == "reset") {
			t.Errorf("%s: the client saw %v", plan, got.err)
		}
	}
}

// TestHTTP2: without a connection to take over the stream is reset and its neighbours live on.
func TestHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(fault.Middleware(stream(1000, nil), choose, fault.Options{}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	for _, plan := range []string{"reset;at=1", "none", "close;at=2", "none"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(fault.Header, plan)
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if (err == nil) != (plan == "none") || resp.ProtoMajor != 2 {
			t.Errorf("%s over HTTP/%d: %v", plan, resp.ProtoMajor, err)
		}
	}
}
