package openai

import (
	"net/http"
	"reflect"
	"strconv"
	"time"
)

// Once net/http has sent the header of a chunked answer and its buffers are empty, a chunk may as well be written to the
// socket itself: net/http adds the last chunk and the trailers when the handler returns, and knows nothing of the rest.
// That saves its four layers of buffers per event, about 2 of 13 µs, and the kernel itself says when a client is slow,
// because the socket does not block. Faults, TLS, HTTP/2 and systems without a measure go through net/http as ever.

// isNetHTTP tells whether w is net/http's own writer of HTTP/1 with nothing in between. The type has no exported name.
func isNetHTTP(w http.ResponseWriter) bool { return reflect.TypeOf(w).String() == "*http.response" }

// directly says that events go to the socket itself by now.
func (s *stream) directly() bool { return s.direct && s.begun }

// appendChunk adds body to dst as one chunk of HTTP/1.1.
func appendChunk(dst, body []byte) []byte {
	dst = strconv.AppendInt(dst, int64(len(body)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, body...)
	return append(dst, "\r\n"...)
}

// try sends out without waiting; what the socket does not take is handed over. It returns out, grown. mu is held.
func (s *stream) try(out []byte, due time.Time) []byte {
	n := len(out)
	out = appendChunk(out, out)
	sent, err := s.socket.send(out[n:], false)
	if err == nil && n+sent < len(out) {
		s.owed += n
		s.handOver(out[n+sent:])
		return out
	}
	s.sentDirectly(n, due, err)
	return out
}

// force sends what is pending and due, and waits for the client until the write deadline. It reports whether more is
// due. mu is held.
func (s *stream) force() (more bool) {
	body, due, more := s.fill(nil, ownBatch)
	if len(body) > 0 {
		s.pending = appendChunk(s.pending, body)
		s.owed += len(body)
	}
	if len(s.pending) == 0 {
		return more
	}
	s.setDeadline(time.Now())
	_, err := s.socket.send(s.pending, true)
	n := s.owed
	s.pending, s.owed = s.pending[:0], 0
	s.sentDirectly(n, due, err)
	return more
}

// sentDirectly closes the connection after an error: net/http has seen none and would end the answer as if it were whole.
func (s *stream) sentDirectly(n int, due time.Time, err error) {
	if err != nil {
		_ = s.socket.conn.Close()
	}
	s.wrote(n, due, err)
}
