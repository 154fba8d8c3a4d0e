package openai

import (
	"context"
	"net"
	"syscall"
)

// socketRoom is how many bytes may wait unacknowledged in a socket before its client counts as slow. Together with
// maxBatch it stays far below the smallest send buffer Linux gives a connection, so that a shared writer never blocks.
const (
	socketRoom = 16 << 10
	maxBatch   = 8 << 10
	// ownBatch is what a stream renders at once on its own goroutine, where blocking harms nobody.
	ownBatch = 64 << 10
)

type connKey struct{}

// socket measures how much a connection has not yet got rid of. It is used by one answer at a time.
type socket struct {
	raw syscall.RawConn
	// waiting was measured, since bytes have been written after that.
	waiting, since int
	measure        func(fd uintptr)
	ok             bool
}

// connContext is the ConnContext of our http.Server: it lets streams find their socket.
func connContext(ctx context.Context, c net.Conn) context.Context {
	for {
		inner, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = inner.NetConn()
	}
	sc, ok := c.(*net.TCPConn)
	if !ok || !canMeasure {
		return ctx
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return ctx
	}
	s := &socket{raw: raw}
	s.measure = func(fd uintptr) { s.waiting, s.ok = unsent(fd) }
	return context.WithValue(ctx, connKey{}, s)
}

// fits reports whether n more bytes can be written without any risk of blocking. It asks the kernel only when what was
// written since the last question could be too much: about once in forty events.
func (s *socket) fits(n int) bool {
	if s.waiting+s.since+n <= socketRoom {
		s.since += n
		return true
	}
	s.ok = false
	if err := s.raw.Control(s.measure); err != nil || !s.ok {
		return false
	}
	s.since = n
	return s.waiting+n <= socketRoom
}
