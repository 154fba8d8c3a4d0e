package assembly

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
)

// answers knows the connections on which an answer is under way: from the end of the request's body until net/http has
// sent the last byte. [http.Server.Shutdown] alone would also wait for connections on which nothing, or half a request,
// has come. The zero value knows none.
type answers struct {
	mu sync.Mutex
	// open are all of them, awaited those that wait waits for; none is closed when the last of these ends.
	open, awaited map[net.Conn]struct{}
	none          chan struct{}
}

type answersKey struct{}

// watch follows the connections of a server and returns the handler to give it.
func (a *answers) watch(s *http.Server, next http.Handler) http.Handler {
	inner := s.ConnContext
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if inner != nil {
			ctx = inner(ctx, c)
		}
		return context.WithValue(ctx, answersKey{}, c)
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateIdle, http.StateClosed, http.StateHijacked:
			a.end(c)
		case http.StateNew, http.StateActive:
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(answersKey{}).(net.Conn)
		switch {
		case !ok:
		case r.ContentLength == 0:
			a.begin(c)
		default:
			r.Body = &body{r.Body, func() { a.begin(c) }}
		}
		next.ServeHTTP(w, r)
	})
}

// body tells when it has come to its end.
type body struct {
	io.ReadCloser
	ended func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended()
	}
	return n, err
}

func (a *answers) begin(c net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = make(map[net.Conn]struct{})
	}
	a.open[c] = struct{}{}
}

func (a *answers) end(c net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, c)
	delete(a.awaited, c)
	if len(a.awaited) == 0 && a.none != nil {
		close(a.none)
		a.none = nil
	}
}

// wait returns when all answers that are under way have ended, or how many have not when ctx ends. Later ones are not
// waited for. One goroutine waits at a time.
func (a *answers) wait(ctx context.Context) int {
	a.mu.Lock()
	if len(a.open) == 0 {
		a.mu.Unlock()
		return 0
	}
	none := make(chan struct{})
	a.none, a.awaited = none, maps.Clone(a.open)
	a.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	left := len(a.awaited)
	a.none, a.awaited = nil, nil
	return left
}
