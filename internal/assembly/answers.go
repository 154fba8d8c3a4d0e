package assembly

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// answers knows the connections on which an answer is under way: from the start of its handler until net/http has sent
// its last byte. [http.Server.Shutdown] alone would also wait for connections on which nothing, or half a request, has
// come. The zero value knows none.
type answers struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
	// none is closed when the last answer ends; it is nil when nobody waits.
	none chan struct{}
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
		if c, ok := r.Context().Value(answersKey{}).(net.Conn); ok {
			a.begin(c)
		}
		next.ServeHTTP(w, r)
	})
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
	if len(a.open) == 0 && a.none != nil {
		close(a.none)
		a.none = nil
	}
}

// wait returns when no answer is under way, or how many are when ctx ends. One goroutine waits at a time.
func (a *answers) wait(ctx context.Context) int {
	a.mu.Lock()
	if len(a.open) == 0 {
		a.mu.Unlock()
		return 0
	}
	none := make(chan struct{})
	a.none = none
	a.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.none = nil
	return len(a.open)
}
