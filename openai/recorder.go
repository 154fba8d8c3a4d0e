package openai

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"fakellm/openai/journal"
	"fakellm/openai/reply/script"
)

// Recorder passes requests on to a real endpoint, gives its answers back unchanged and writes them to a tape. Keys
// travel to the endpoint but never reach the tape: of a request only its body is kept. What is passed on is neither paced
// nor limited by us; faults break it on its way back. It is safe for concurrent use.
type Recorder struct {
	upstream *url.URL
	client   *http.Client

	mu sync.Mutex
	// tape is guarded by mu: one recording is one write.
	tape io.Writer
}

// NewRecorder records what the endpoint with this base URL (https://api.openai.com/v1) answers. An error names the URL.
func NewRecorder(upstream string, tape io.Writer) (*Recorder, error) {
	u, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%q is no http or https URL", upstream)
	}
	// What is recorded must be readable, and what is passed on must be what came: no compression, no redirects.
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Recorder{upstream: u, client: client, tape: tape}, nil
}

// Close gives idle connections back. The tape is its owner's.
func (r *Recorder) Close() { r.client.CloseIdleConnections() }

// passOn has a request answered by the real endpoint, broken where a fault says so. route is that of the tape.
func (x *exchange) passOn(route, model string, sm *Sampling, body []byte) {
	plan, err := x.breakage(model, sm, "")
	if err != nil {
		x.s.refuse(x.c, asAPIError(err))
		return
	}
	x.s.breaking(x.c, plan, func() { x.s.opts.Recorder.pass(x.s, x.c, route, body) })
}

// pass answers a request by the real endpoint.
func (r *Recorder) pass(s *Server, c *gin.Context, route string, body []byte) {
	entry := journal.From(c.Request.Context())
	req, err := r.request(c.Request, body)
	if err == nil {
		start := time.Now()
		var resp *http.Response
		if resp, err = r.client.Do(req); err == nil {
			defer func() { _ = resp.Body.Close() }()
			entry.Update(func(rec *journal.Record) { rec.Mapping = "upstream" })
			p := passage{rec: script.Recording{Route: route, Request: body}}
			p.report(c, r.relay(s, c, resp, &p, start))
			return
		}
	}
	if c.Request.Context().Err() != nil {
		c.Set(keyStatus, statusGone)
		return
	}
	s.refuse(c, &APIError{
		Status: http.StatusBadGateway, Type: typeServer, Code: "upstream_unreachable",
		Message: "the endpoint that answers are recorded from cannot be reached: " + err.Error(),
	})
}

// request is the client's request for the real endpoint.
func (r *Recorder) request(from *http.Request, body []byte) (*http.Request, error) {
	to := r.upstream.JoinPath(strings.TrimPrefix(from.URL.Path, "/v1"))
	to.RawQuery = from.URL.RawQuery
	req, err := http.NewRequestWithContext(from.Context(), from.Method, to.String(), strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	copyHeader(req.Header, from.Header)
	for name := range req.Header {
		if strings.HasPrefix(name, simPrefix) {
			req.Header.Del(name)
		}
	}
	req.Header.Del("Accept-Encoding")
	return req, nil
}

// copyHeader copies what is meant for the other end and not for the next hop (RFC 9110 §7.6.1).
func copyHeader(dst, src http.Header) {
	for name, values := range src {
		dst[name] = append([]string(nil), values...)
	}
	for _, list := range src["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			dst.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade",
	} {
		dst.Del(name)
	}
}

// relay gives an answer to the client as it comes, and records it when all of it has passed. O(bytes).
func (r *Recorder) relay(s *Server, c *gin.Context, resp *http.Response, p *passage, start time.Time) error {
	copyHeader(c.Writer.Header(), resp.Header)
	c.Status(resp.StatusCode)
	c.Writer.WriteHeaderNow()
	p.stream = strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	err := p.copy(s.patient(c), resp.Body, start)
	if err != nil {
		c.Set(keyCut, true)
	} else {
		c.Set(keyDelivered, true)
	}
	if !lasting(resp.StatusCode) {
		return err
	}
	unheard := p.rec.Listen(resp.StatusCode, p.stream, p.heard)
	if err = cmp.Or(err, unheard); err != nil {
		return err
	}
	return r.write(p.rec)
}

// lasting tells answers that belong to the request from those that belong to a key or to the moment, which nobody
// wants to hear again from a tape.
func lasting(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status < http.StatusInternalServerError
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// write puts a recording onto the tape.
func (r *Recorder) write(rec script.Recording) error {
	var err error
	if rec.Key, err = script.RequestKey(rec.Route, rec.Request); err != nil {
		return err
	}
	line, err := script.AppendRecording(nil, rec)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.tape.Write(line)
	return err
}
