package fault

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Bounds of what Middleware reads before a hang or an error answer: net/http notices a client that leaves only when the
// body has been read, and a client that is answered while it still writes may see a broken connection instead.
const (
	maxRead     = 32 << 20
	readTimeout = 30 * time.Second
)

// Middleware carries out, on every answer of next, the plan that choose gives. An error of choose is answered with 400.
// Requests without a plan pass through untouched.
func Middleware(next http.Handler, choose func(*http.Request) (Plan, error), opts Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		plan, err := choose(r)
		switch {
		case err != nil:
			takeBody(w, r)
			answer(w, Failure{Status: http.StatusBadRequest, Message: err.Error(), Param: Header, Code: "invalid_fault"}, opts)
		case len(plan) == 0:
			next.ServeHTTP(w, r)
		default:
			serve(w, r, next, plan, opts)
		}
	})
}

// serve runs one request under a plan.
func serve(w http.ResponseWriter, r *http.Request, next http.Handler, plan Plan, opts Options) {
	var fired Plan
	if opts.Report != nil {
		defer func() { opts.Report(r, plan, fired) }()
	}
	_, hang := plan.first(Hang)
	if _, status := plan.first(Status); status || hang {
		takeBody(w, r)
	}
	fired, done := Before(r.Context(), w, plan, opts)
	if done {
		return
	}
	if !plan.inBody() {
		next.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	fw := Wrap(r.Context(), cancel, w, plan, opts)
	returned := false
	defer func() {
		fired = append(fired, fw.Fired()...)
		if !returned {
			fw.discard()
		}
	}()
	next.ServeHTTP(fw, r.WithContext(ctx))
	returned = true
	fw.Finish()
}

// Before carries out what comes before an answer: Hang and Status, in their order. It reports which came about and
// whether the request has been dealt with; after an endless hang nothing has been written.
func Before(ctx context.Context, w http.ResponseWriter, plan Plan, opts Options) (fired Plan, done bool) {
	for _, f := range plan {
		switch f.Kind {
		case Hang:
			fired = append(fired, f)
			if f.For == 0 {
				<-ctx.Done()
				return fired, true
			}
			if sleep(ctx, f.For) != nil {
				return fired, true
			}
		case Status:
			fired = append(fired, f)
			answer(w, f.Failure, opts)
			return fired, true
		default:
		}
	}
	return fired, false
}

// answer writes an error answer.
func answer(w http.ResponseWriter, e Failure, opts Options) {
	body := opts.errorBody(e)
	e = e.withDefaults()
	h := w.Header()
	e.SetHeaders(h)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(e.Status)
	_, _ = w.Write(body)
}

func (o Options) errorBody(e Failure) []byte {
	if o.ErrorBody != nil {
		return o.ErrorBody(e.withDefaults())
	}
	return e.Body()
}

// takeBody reads the body into memory and puts it back.
func takeBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(readTimeout))
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	var buf bytes.Buffer
	_, err := buf.ReadFrom(io.LimitReader(r.Body, maxRead))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = failing{err}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&buf, rest), r.Body}
}

// failing is a reader that has failed.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
