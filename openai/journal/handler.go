package journal

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxQuery bounds the body of a query, in bytes.
const maxQuery = 64 << 10

// Routes adds the control routes to a mux; clock is asked for spans like since=5m. What the mux does not know, or not with
// that method, is for its owner to answer.
//
//	GET    /sim/requests             list, with filters as query parameters; newest 100 unless asked otherwise
//	DELETE /sim/requests             forget all (POST /sim/requests/reset does the same)
//	GET    /sim/requests/{id}        one record, by request id or number
//	GET    /sim/requests/summary     lengths and times of what a filter chooses
//	GET    /sim/requests/unmatched   requests that no mapping answered
//	GET, POST /sim/requests/count    how many a filter chooses
//	POST   /sim/requests/find        as the list, with the filter as a JSON body
//	POST   /sim/verify               an expectation as a JSON body: 200 when it holds, else 417, with the reason
func (j *Journal) Routes(mux *http.ServeMux, clock func() time.Time) {
	filtered := func(answer func(w http.ResponseWriter, f Filter)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			q, err := query(w, r)
			if err != nil {
				refuse(w, http.StatusBadRequest, err)
				return
			}
			f, err := ParseFilter(q, clock())
			if err != nil {
				refuse(w, http.StatusBadRequest, err)
				return
			}
			answer(w, f)
		}
	}
	list := filtered(func(w http.ResponseWriter, f Filter) { j.list(w, f) })
	mux.Handle("GET /sim/requests", newestFirst(list))
	mux.Handle("POST /sim/requests/find", list)
	mux.HandleFunc("GET /sim/requests/unmatched", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		q.Set("matched", "false")
		newestFirst(list).ServeHTTP(w, withQuery(r, q))
	})
	counted := filtered(func(w http.ResponseWriter, f Filter) {
		_, n := j.Find(f)
		respond(w, http.StatusOK, map[string]int{"count": n})
	})
	mux.Handle("GET /sim/requests/count", counted)
	mux.Handle("POST /sim/requests/count", counted)
	mux.Handle("GET /sim/requests/summary", filtered(func(w http.ResponseWriter, f Filter) {
		respond(w, http.StatusOK, j.Summarize(f))
	}))
	reset := func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]int{"removed": j.Reset()})
	}
	mux.HandleFunc("DELETE /sim/requests", reset)
	mux.HandleFunc("POST /sim/requests/reset", reset)
	mux.HandleFunc("GET /sim/requests/{id}", func(w http.ResponseWriter, r *http.Request) {
		rec, ok := j.Get(r.PathValue("id"))
		if !ok {
			refuse(w, http.StatusNotFound, errors.New("no record of request "+r.PathValue("id")))
			return
		}
		respond(w, http.StatusOK, rec)
	})
	mux.HandleFunc("POST /sim/verify", func(w http.ResponseWriter, r *http.Request) { j.verify(w, r, clock()) })
}

// newestFirst is what a list without wishes does: the newest hundred.
func newestFirst(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		for name, def := range map[string]string{"order": "newest", "limit": "100"} {
			if !q.Has(name) {
				q.Set(name, def)
			}
		}
		next.ServeHTTP(w, withQuery(r, q))
	})
}

// withQuery is r with another query; r itself belongs to the caller.
func withQuery(r *http.Request, q url.Values) *http.Request {
	other, u := *r, *r.URL
	u.RawQuery = q.Encode()
	other.URL = &u
	return &other
}

func (j *Journal) list(w http.ResponseWriter, f Filter) {
	page, total := j.Find(f)
	type meta struct {
		Total int `json:"total"`
		Totals
	}
	respond(w, http.StatusOK, struct {
		Requests []*Record `json:"requests"`
		Meta     meta      `json:"meta"`
	}{page, meta{total, j.Totals()}})
}

func (j *Journal) verify(w http.ResponseWriter, r *http.Request, now time.Time) {
	q, err := query(w, r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	x, err := ParseExpectation(q, now)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	v := j.Verify(x)
	status := http.StatusOK
	if !v.OK {
		status = http.StatusExpectationFailed
	}
	respond(w, status, v)
}

// query collects filters from the query string and, if there is one, the JSON body.
func query(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	q := r.URL.Query()
	if r.Method != http.MethodPost {
		return q, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuery))
	if err != nil {
		return nil, err
	}
	more, err := valuesOf(body)
	for name, values := range more {
		q[name] = append(q[name], values...)
	}
	return q, err
}

// respond writes JSON.
func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client may have left.
}

// refuse writes an error in the envelope of the other routes.
func refuse(w http.ResponseWriter, status int, err error) {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	respond(w, status, struct {
		Error inner `json:"error"`
	}{inner{Message: err.Error(), Type: "invalid_request_error"}})
}
