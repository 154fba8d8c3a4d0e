package fault

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"time"
)

// op is one thing to do to the real response.
type op struct {
	kind opKind
	data []byte
	wait time.Duration
	step int
}

type opKind uint8

const (
	opWrite opKind = iota
	opDrip
	opFlush
	opWait
	endCleanly
	endClose
	endReset
)

// perform does one operation. An error means that nothing more can be done.
func (w *Writer) perform(o op) error {
	switch o.kind {
	case opWrite:
		return w.write(o.data)
	case opDrip:
		return w.trickle(o)
	case opFlush:
		return w.flush()
	case opWait:
		return sleep(w.ctx, o.wait)
	case endCleanly:
		w.cancel()
		return ErrInjected
	default:
		w.cut(o.kind)
		return ErrInjected
	}
}

// trickle sends step bytes at a time and waits in between; where the handler cut its writes does not matter.
func (w *Writer) trickle(o op) error {
	for data := o.data; len(data) > 0; {
		if w.dripped == o.step {
			w.dripped = 0
			if err := sleep(w.ctx, o.wait); err != nil {
				return err
			}
		}
		n := min(o.step-w.dripped, len(data))
		if err := w.write(data[:n]); err != nil {
			return err
		}
		if err := w.flush(); err != nil {
			return err
		}
		w.dripped += n
		data = data[n:]
	}
	return nil
}

func (w *Writer) write(p []byte) error {
	if w.pump != nil {
		_ = w.rc.SetWriteDeadline(time.Now().Add(w.opts.WriteTimeout))
	}
	n, err := w.w.Write(p)
	w.meter.Pass(p[:n])
	return err
}

// flush sends what net/http buffers; a writer that cannot flush sends at the end.
func (w *Writer) flush() error {
	err := w.rc.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	if err == nil {
		w.leave()
	}
	return err
}

// cut ends the connection without the last chunk: with a reset, or with an orderly end of the TCP stream. Where there
// is no connection to take over (HTTP/2), net/http resets the stream when the handler ends.
func (w *Writer) cut(how opKind) {
	conn, _, err := w.rc.Hijack()
	if err != nil {
		w.aborted = true
		w.cancel()
		return
	}
	if how == endReset {
		raw := conn
		for {
			inner, ok := raw.(interface{ NetConn() net.Conn })
			if !ok {
				break
			}
			raw = inner.NetConn()
		}
		if l, ok := raw.(interface{ SetLinger(sec int) error }); ok {
			_ = l.SetLinger(0)
		}
		_ = raw.Close()
	}
	_ = conn.Close()
	w.cancel()
}

// Flush sends what has been written.
func (w *Writer) Flush() { _ = w.FlushError() }

// FlushError is Flush with its error. Behind a slow fault it is queued and reports what has failed so far.
func (w *Writer) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.begin(http.StatusOK)
	if !w.over {
		w.commit()
		w.do(op{kind: opFlush})
	}
	return w.err
}

// Hijack takes the connection over; the plan ends there.
func (w *Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pump != nil {
		return nil, nil, http.ErrNotSupported
	}
	return w.rc.Hijack()
}

// SetReadDeadline is that of the connection.
func (w *Writer) SetReadDeadline(t time.Time) error { return w.rc.SetReadDeadline(t) }

// SetWriteDeadline is that of the connection. Behind a slow fault it is ignored: the handler does not know when its
// bytes are written, so the Writer keeps a deadline of its own.
func (w *Writer) SetWriteDeadline(t time.Time) error {
	if w.pump != nil {
		return nil
	}
	return w.rc.SetWriteDeadline(t)
}

// EnableFullDuplex is that of the connection.
func (w *Writer) EnableFullDuplex() error { return w.rc.EnableFullDuplex() }
