package openai

import (
	"context"
	"errors"
	"net"
	"os"
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

// socket is a connection below net/http: it measures how much has not yet left and writes without waiting. It is used by
// one answer at a time.
type socket struct {
	raw syscall.RawConn
	// conn is nil where something lies between net/http and the socket, as TLS does, and bytes cannot be sent past it.
	conn *net.TCPConn
	// waiting was measured, since bytes have been written after that.
	waiting, since int
	measure        func(fd uintptr)
	ok             bool
	// put sends out[sent:]; it stops where the kernel has no room, or waits for some.
	put  func(fd uintptr) bool
	out  []byte
	sent int
	wait bool
	err  error
}

// connContext is the ConnContext of our http.Server: it lets streams find their socket.
func connContext(ctx context.Context, c net.Conn) context.Context {
	plain, _ := c.(*net.TCPConn)
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
	s := &socket{raw: raw, conn: plain}
	s.measure = func(fd uintptr) { s.waiting, s.ok = unsent(fd) }
	s.put = s.putOut
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

// send writes b and returns how much of it has left. It waits for room, until the connection's write deadline, or not
// at all.
func (s *socket) send(b []byte, wait bool) (int, error) {
	s.out, s.sent, s.wait, s.err = b, 0, wait, nil
	if err := s.raw.Write(s.put); err != nil && s.err == nil {
		s.err = err
	}
	s.out = nil
	s.since += s.sent
	return s.sent, s.err
}

// putOut is one try; it returns false to be called again when there is room.
func (s *socket) putOut(fd uintptr) bool {
	for s.sent < len(s.out) {
		n, err := write(fd, s.out[s.sent:])
		switch {
		case err == nil:
			s.sent += n
		case errors.Is(err, syscall.EAGAIN):
			return !s.wait
		case !errors.Is(err, syscall.EINTR):
			s.err = os.NewSyscallError("write", err)
			return true
		}
	}
	return true
}
