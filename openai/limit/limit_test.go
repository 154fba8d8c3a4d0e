package limit_test

import (
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fakellm/openai/limit"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newLimiter(t testing.TB, c limit.Config) *limit.Limiter {
	t.Helper()
	l, err := limit.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// rapidT is what both kinds of tests can do.
type rapidT interface {
	Fatalf(format string, args ...any)
}

// twin is the naive bucket: its level is an exact fraction.
type twin struct {
	rate  int64
	level *big.Rat
	at    time.Time
}

func newTwin(rate int64) *twin { return &twin{rate: rate, level: big.NewRat(rate, 1), at: epoch} }

func (w *twin) refill(now time.Time) {
	if !now.After(w.at) {
		return
	}
	gone := big.NewRat(now.Sub(w.at).Nanoseconds(), int64(time.Minute))
	w.level.Add(w.level, gone.Mul(gone, big.NewRat(w.rate, 1)))
	w.at = now
	w.clamp()
}

func (w *twin) clamp() {
	if top := big.NewRat(w.rate, 1); w.level.Cmp(top) > 0 {
		w.level = top
	}
	if low := big.NewRat(-w.rate, 1); w.level.Cmp(low) < 0 {
		w.level = low
	}
}

func (w *twin) take(n int64) {
	w.level.Sub(w.level, big.NewRat(n, 1))
	w.clamp()
}

func (w *twin) has(n int64) bool { return w.level.Cmp(big.NewRat(n, 1)) >= 0 }

// until is the wait for n units, rounded up to a nanosecond.
func (w *twin) until(n int64) time.Duration {
	d := new(big.Rat).Sub(big.NewRat(n, 1), w.level)
	if d.Sign() <= 0 {
		return 0
	}
	d.Mul(d, big.NewRat(int64(time.Minute), w.rate))
	q, r := new(big.Int).QuoRem(d.Num(), d.Denom(), new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return time.Duration(q.Int64())
}

func (w *twin) remaining() int64 {
	if w.level.Sign() <= 0 {
		return 0
	}
	return new(big.Int).Quo(w.level.Num(), w.level.Denom()).Int64()
}

func (w *twin) state() limit.State {
	return limit.State{Limit: w.rate, Remaining: w.remaining(), Reset: w.until(w.rate)}
}

// TestAgainstTwin: every decision and every header value equals the naive bucket's, to the nanosecond.
func TestAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rpm := rapid.Int64Range(1, 100_000).Draw(t, "rpm")
		tpm := rapid.OneOf(rapid.Int64Range(1, 1000), rapid.Int64Range(1, 1<<50)).Draw(t, "tpm")
		l, err := limit.New(limit.Config{Default: limit.Quota{RPM: rpm, TPM: tpm}})
		if err != nil {
			t.Fatal(err)
		}
		req, tok := newTwin(rpm), newTwin(tpm)
		now := epoch
		// Buckets are born full with their first request.
		l.Admit(now, limit.Who{Key: "k"}, tpm+1)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			// Now and then the clock goes back.
			now = now.Add(time.Duration(rapid.OneOf(
				rapid.Int64Range(0, int64(time.Second)), rapid.Int64Range(-1000, int64(3*time.Minute)),
			).Draw(t, "gap")))
			estimate := rapid.Int64Range(0, tpm+1).Draw(t, "estimate")
			req.refill(now)
			tok.refill(now)
			d := l.Admit(now, limit.Who{Key: "k"}, estimate)
			step(t, d, req, tok, estimate)
			if d.OK() && rapid.Bool().Draw(t, "settle") {
				used := rapid.Int64Range(0, 2*tpm).Draw(t, "used")
				used = min(used, 1<<50)
				l.Settle(now, limit.Who{Key: "k"}, d, used)
				tok.take(used - estimate)
			}
		}
	})
}

func step(t rapidT, d limit.Decision, req, tok *twin, estimate int64) {
	want := limit.Decision{Estimate: estimate}
	switch {
	case estimate > tok.rate:
		want.Violated, want.TooLarge = limit.Tokens, true
	case !req.has(1):
		want.Violated, want.RetryAfter = limit.Requests, max(req.until(1), tok.until(estimate))
	case !tok.has(estimate):
		want.Violated, want.RetryAfter = limit.Tokens, tok.until(estimate)
	default:
		req.take(1)
		tok.take(estimate)
	}
	want.Requests, want.Tokens = req.state(), tok.state()
	if diff := cmp.Diff(want, d); diff != "" {
		t.Fatalf("%s", diff)
	}
	if d.Requests.Remaining < 0 || d.Tokens.Remaining < 0 {
		t.Fatalf("negative remaining: %+v", d)
	}
}

// TestWaitIsExact: after the wait that was told a client is admitted, one nanosecond earlier it is not.
func TestWaitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := limit.Quota{RPM: rapid.Int64Range(1, 9).Draw(t, "rpm"), TPM: rapid.Int64Range(10, 977).Draw(t, "tpm")}
		wait := func() (*limit.Limiter, limit.Decision) {
			l, err := limit.New(limit.Config{Default: q})
			if err != nil {
				t.Fatal(err)
			}
			for {
				if d := l.Admit(epoch, limit.Who{Key: "k"}, q.TPM/3); !d.OK() {
					return l, d
				}
			}
		}
		l, d := wait()
		if d := l.Admit(epoch.Add(d.RetryAfter-1), limit.Who{Key: "k"}, q.TPM/3); d.OK() {
			t.Fatalf("admitted too early: %+v", d)
		}
		l, d = wait()
		if d := l.Admit(epoch.Add(d.RetryAfter), limit.Who{Key: "k"}, q.TPM/3); !d.OK() {
			t.Fatalf("refused after the wait: %+v", d)
		}
	})
}

func TestHeaders(t *testing.T) {
	l := newLimiter(t, limit.Config{Default: limit.Quota{RPM: 10, TPM: 600}})
	headers := func(d limit.Decision) http.Header {
		h := http.Header{}
		d.SetHeaders(h)
		return h
	}
	first := l.Admit(epoch, limit.Who{Key: "k"}, 100)
	want := http.Header{
		"X-Ratelimit-Limit-Requests": {"10"}, "X-Ratelimit-Remaining-Requests": {"9"}, "X-Ratelimit-Reset-Requests": {"6s"},
		"X-Ratelimit-Limit-Tokens": {"600"}, "X-Ratelimit-Remaining-Tokens": {"500"}, "X-Ratelimit-Reset-Tokens": {"10s"},
	}
	if diff := cmp.Diff(want, headers(first)); diff != "" {
		t.Error(diff)
	}
	// 40 of the 100 estimated tokens were used: 60 come back.
	l.Settle(epoch, limit.Who{Key: "k"}, first, 40)
	second := l.Admit(epoch.Add(50*time.Millisecond), limit.Who{Key: "k"}, 560)
	if !second.OK() || second.Tokens.Remaining != 0 {
		t.Errorf("after settling 560 tokens are left: %+v", second)
	}
	third := l.Admit(epoch.Add(50*time.Millisecond), limit.Who{Key: "k"}, 12)
	h := headers(third)
	// 0.5 tokens came in 50 ms; 11.5 more take 1.15 s.
	if h.Get("Retry-After") != "2" || h.Get("Retry-After-Ms") != "1150" || third.Type() != "tokens" {
		t.Errorf("headers %v, type %s", h, third.Type())
	}
	wantBody := `{"error":{"message":"Rate limit reached for m on tokens per min (TPM): Limit 600, Used 600, ` +
		`Requested 12. Please try again in 1.15s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`
	if diff := cmp.Diff(wantBody, string(third.Body("m"))); diff != "" {
		t.Error(diff)
	}
	huge := l.Admit(epoch, limit.Who{Key: "k"}, 601)
	if h := headers(huge); h.Get("X-Should-Retry") != "false" || h.Get("Retry-After") != "" || !huge.TooLarge {
		t.Errorf("a request above the limit can never go: %v", h)
	}
	if !strings.Contains(huge.Message("m"), "Request too large for m on tokens per min (TPM): Limit 600, Requested 601") {
		t.Error(huge.Message("m"))
	}
	for d, want := range map[time.Duration]string{
		0: "0s", 1: "1ms", 12 * time.Millisecond: "12ms", 6 * time.Minute: "6m0s", 1500 * time.Millisecond: "1.5s",
	} {
		if got := limit.Duration(d); got != want {
			t.Errorf("%d ns: got %s, want %s", d, got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	l := newLimiter(t, limit.Config{
		Default: limit.Quota{RPM: 1},
		Keys:    map[string]limit.Quota{"big": {RPM: 3}, "free": {}},
		MaxKeys: 2,
	})
	admitted := func(key string, at time.Duration) int {
		n := 0
		for range 5 {
			if l.Admit(epoch.Add(at), limit.Who{Key: key}, 10).OK() {
				n++
			}
		}
		return n
	}
	for _, tc := range []struct {
		why, key string
		at       time.Duration
		want     int
	}{
		{"the default quota", "a", 0, 1},
		{"a quota of its own", "big", 0, 3},
		{"no limit at all", "free", 0, 5},
		{"no room: the shared bucket", "b", 0, 1},
		{"no room: the shared bucket is empty", "c", 0, 0},
		{"a key that has a bucket keeps it", "a", 0, 0},
		{"once the oldest is full again it makes room", "d", 2 * time.Minute, 1},
	} {
		if got := admitted(tc.key, tc.at); got != tc.want {
			t.Errorf("%s: %d admitted, want %d", tc.why, got, tc.want)
		}
	}
	if l.Keys() != 2 {
		t.Errorf("%d keys, want 2", l.Keys())
	}
	l.Reset()
	if got := admitted("a", 0); got != 1 {
		t.Errorf("after a reset %d admitted, want 1", got)
	}
}

func TestValidate(t *testing.T) {
	_, err := limit.New(limit.Config{
		Default: limit.Quota{RPM: -1, TPM: 1 << 60}, Keys: map[string]limit.Quota{"secret": {RPM: -5}}, MaxKeys: -1,
	})
	for _, want := range []string{"rpm: -1", "tpm: 1152921504606846976", "keys[0].rpm: -5", "max_keys: -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Error("a key must not appear in a message")
	}
}

// The lines that wire a limiter into a handler.
func Example() {
	l, err := limit.New(limit.Config{Default: limit.Quota{RPM: 2, TPM: 1000}})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := func(w http.ResponseWriter, key string, estimate int64) {
		d := l.Admit(epoch, limit.Who{Key: key}, estimate)
		d.SetHeaders(w.Header())
		if !d.OK() {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write(d.Body("gpt-4o"))
			return
		}
		l.Settle(epoch, limit.Who{Key: key}, d, 20)
	}
	for range 3 {
		w := httptest.NewRecorder()
		handler(w, "sk-1", 100)
		fmt.Printf("%d left=%s wait=%s\n", w.Code,
			w.Header().Get("x-ratelimit-remaining-requests"), w.Header().Get("retry-after"))
	}
	// Output:
	// 200 left=1 wait=
	// 200 left=0 wait=
	// 429 left=0 wait=30
}

func BenchmarkAdmit(b *testing.B) {
	l := newLimiter(b, limit.Config{Default: limit.Quota{RPM: 1 << 40, TPM: 1 << 40}})
	b.ReportAllocs()
	for i := range b.N {
		l.Admit(epoch.Add(time.Duration(i)), limit.Who{Key: "sk-test"}, 100)
	}
}
