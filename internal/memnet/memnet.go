// Package memnet is a network of pipes inside the process: connections without sockets, which a synctest bubble can see
// through.
package memnet

import (
	"context"
	"net"
	"sync"
)

// Listener hands out one end of a net.Pipe for every Dial. It is a net.Listener, safe for concurrent use.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// New returns an open Listener.
func New() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept waits for the next dial.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends the listener; connections live on.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr names the listener.
func (l *Listener) Addr() net.Addr { return addr{} }

// Dial connects; network and address are ignored, so it fits http.Transport.DialContext.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type addr struct{}

// Network and String name an in-memory address.
func (addr) Network() string { return "memory" }
func (addr) String() string  { return "memory" }
