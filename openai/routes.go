package openai

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// routes builds the gin engine: routing and middleware, nothing else of it is used.
func (s *Server) routes() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.Use(s.around)
	e.NoRoute(s.unknownPath)
	e.NoMethod(s.wrongMethod)

	get := func(g gin.IRoutes, path string, h gin.HandlerFunc) {
		g.GET(path, h)
		g.HEAD(path, h)
	}
	get(e, "/health", s.health)
	get(e, "/live", s.health)
	get(e, "/ready", s.readiness)
	get(e, "/ping", s.health)
	e.POST("/ping", s.health)
	get(e, "/version", s.version)
	if s.opts.Metrics != nil {
		get(e, "/metrics", gin.WrapH(s.opts.Metrics))
	}
	for _, prefix := range []string{"/v1", ""} {
		g := e.Group(prefix, s.journalled, s.authorise)
		g.POST("/chat/completions", s.chat)
		g.POST("/completions", s.completion)
		get(g, "/models", s.listModels)
		get(g, "/models/*id", s.getModel)
		g.DELETE("/models/*id", s.deleteModel)
		s.storeRoutes(g, get)
	}
	return e
}

// around is the outermost middleware: identity, limits of the head, cross-origin answers, panics, counts.
func (s *Server) around(c *gin.Context) {
	start, client, own := time.Now(), c.Request.Context(), isNetHTTP(unwrap(c.Writer))
	h := c.Writer.Header()
	h.Set("X-Request-Id", s.requestID(c.Request))
	h.Set("Openai-Version", "2020-10-01")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "*")
	c.Set(keyStart, start)
	defer func() {
		if p := recover(); p != nil {
			s.recovered(c, p)
		}
		s.account(c, start, client)
		if own && (c.GetBool(keyCut) || client.Err() != nil && statusOf(c) == statusGone) {
			panic(http.ErrAbortHandler) // net/http would end the answer as if it were whole, for a half-closed client to see
		}
	}()
	switch {
	case headerSize(c.Request) > s.opts.MaxHeaderBytes:
		s.refuse(c, &APIError{
			Status: http.StatusRequestHeaderFieldsTooLarge, Type: typeInvalid, Code: "headers_too_large",
			Message: fmt.Sprintf("the request headers are larger than the limit of %d bytes", s.opts.MaxHeaderBytes),
		})
		c.Abort()
	case c.Request.Method == http.MethodOptions:
		preflight(c)
		c.Abort()
	default:
		c.Next()
	}
}

const (
	keyStart  = "fakellm.start"
	keyStatus = "fakellm.status"
	keyRoute  = "fakellm.route"
	// keyCut is set when a stream ended before its time.
	keyCut = "fakellm.cut"
	// keyDelivered is set when all of an answer has been written.
	keyDelivered = "fakellm.delivered"
	// statusGone is what logs and metrics say when the client left before the first byte (spec openai-endpoint X8).
	statusGone = 499
)

// account counts a finished request.
func (s *Server) account(c *gin.Context, start time.Time, client context.Context) {
	status := statusOf(c)
	s.counters.requests.Add(1)
	switch {
	case status >= http.StatusInternalServerError:
		s.counters.failed.Add(1)
	case status >= http.StatusBadRequest && status != statusGone:
		s.counters.refused.Add(1)
	}
	if o := s.opts.Observer; o != nil {
		route := c.FullPath()
		if route == "" {
			route = "unknown"
		}
		o.Answered(route, status, time.Since(start))
		if l, ok := o.(Leaver); ok && left(c, client) {
			l.Left()
		}
	}
}

// recovered answers a panic of a handler; the server goes on.
func (s *Server) recovered(c *gin.Context, p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	tellPanic(c.FullPath(), p)
	c.Abort()
	if c.Writer.Written() {
		c.Set(keyCut, true)
		return
	}
	s.refuse(c, internalError())
}

// tellPanic writes what happened to the log, with the stack.
func tellPanic(where string, p any) {
	_, _ = fmt.Fprintf(gin.DefaultErrorWriter, "fakellm: panic in %s: %v\n%s", where, p, debug.Stack())
}

func internalError() *APIError {
	return &APIError{Status: http.StatusInternalServerError, Type: typeServer, Message: "internal error"}
}

// requestID echoes a sane X-Request-Id or makes one.
func (s *Server) requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > 128 {
		return s.ids.make("req_")
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return s.ids.make("req_")
		}
	}
	return id
}

// headerSize is the length of all header lines as they came.
func headerSize(r *http.Request) int {
	n := len(r.RequestURI)
	for k, vs := range r.Header {
		for _, v := range vs {
			n += len(k) + len(v) + len(": \r\n")
		}
	}
	return n
}

// preflight answers OPTIONS on any path, for browsers.
func preflight(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Allow", "GET, HEAD, POST, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS")
	allow := c.Request.Header.Get("Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Headers", orDefault(allow, "Authorization, Content-Type"))
	h.Set("Access-Control-Max-Age", "86400")
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
}

// refuse writes an error as the whole answer.
func (s *Server) refuse(c *gin.Context, e *APIError) {
	if e.RetryAfter > 0 {
		c.Writer.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	s.writeJSON(c, e.Status, e.body(s.opts.Dialect))
}

// writeJSON writes a whole JSON answer.
func (s *Server) writeJSON(c *gin.Context, status int, body []byte) {
	h := c.Writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Openai-Processing-Ms", strconv.FormatInt(time.Since(c.GetTime(keyStart)).Milliseconds(), 10))
	c.Status(status)
	if _, err := s.patient(c).Write(body); err == nil && status < http.StatusBadRequest {
		c.Set(keyDelivered, true)
	}
}

func (s *Server) unknownPath(c *gin.Context) {
	s.refuse(c, &APIError{
		Status: http.StatusNotFound, Type: typeInvalid, Code: "unknown_url",
		Message: fmt.Sprintf("unknown request URL: %s %s", c.Request.Method, clip(c.Request.URL.Path)),
	})
}

func (s *Server) wrongMethod(c *gin.Context) {
	s.refuse(c, &APIError{
		Status: http.StatusMethodNotAllowed, Type: typeInvalid, Code: "method_not_allowed",
		Message: fmt.Sprintf("method %s is not allowed for %s", c.Request.Method, clip(c.Request.URL.Path)),
	})
}

// keyring holds the digests of the accepted keys, so that neither length nor content leaks through timing.
type keyring [][sha256.Size]byte

func newKeyring(keys []string) keyring {
	k := make(keyring, len(keys))
	for i, key := range keys {
		k[i] = sha256.Sum256([]byte(key))
	}
	return k
}

// has compares with every key in constant time.
func (k keyring) has(key string) bool {
	digest := sha256.Sum256([]byte(key))
	found := 0
	for i := range k {
		found |= subtle.ConstantTimeCompare(k[i][:], digest[:])
	}
	return found == 1
}

// authorise asks for a key when there are any: Bearer, api-key (Azure) or x-api-key (Anthropic).
func (s *Server) authorise(c *gin.Context) {
	if len(s.keys) == 0 {
		return
	}
	given := clientKey(c.Request.Header)
	if given != "" && s.keys.has(given) {
		return
	}
	e := &APIError{
		Status: http.StatusUnauthorized, Type: typeInvalid, Code: "invalid_api_key", Message: "incorrect API key provided",
	}
	if given == "" {
		e.Message = "no API key provided: send it as 'Authorization: Bearer KEY'"
	}
	c.Writer.Header().Set("WWW-Authenticate", "Bearer")
	s.refuse(c, e)
	c.Abort()
}

// clientKey finds the key a client sent, empty if none.
func clientKey(h http.Header) string {
	if scheme, key, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	return orDefault(h.Get("Api-Key"), h.Get("X-Api-Key"))
}
