package openai

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// serveTCP starts a face on loopback and returns its address.
func serveTCP(t testing.TB, opts Options, p *pacer, planner Planner) (*Server, string) {
	t.Helper()
	s, err := New(opts, p, planner)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := s.HTTPServer()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = h.Close()
		<-served
		s.Close()
		p.rest()
	})
	return s, ln.Addr().String()
}

// dialStream opens a raw connection and sends one streaming request.
func dialStream(t testing.TB, addr, body string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	sendStream(t, c, body)
	return c
}

// sendStream sends a request on an open connection.
func sendStream(t testing.TB, c net.Conn, body string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		chatPath, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
}

// TestTCPStreams: over real sockets, through shared writers, every stream is whole and in order.
func TestTCPStreams(t *testing.T) {
	p := &pacer{gap: 200 * time.Microsecond}
	s, addr := serveTCP(t, Options{Writers: 2}, p, words{tokens: 200})
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			resp, err := http.Post("http://"+addr+chatPath, "application/json", strings.NewReader(streaming(hello, "")))
			if err != nil {
				t.Error(err)
				return
			}
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Error(err)
			}
			texts := checkOrder(t, string(b), 1, false)
			if texts[0] != wordChoice(200, "").Text {
				t.Errorf("text of %d bytes", len(texts[0]))
			}
		})
	}
	wg.Wait()
	if c := s.Counters(); c.Aborted != 0 {
		t.Errorf("counters %+v", c)
	}
}

// TestSlowClient: one client does not read; it shares its only writer with others, which must finish all the same. Then
// it reads on and finds its stream complete.
func TestSlowClient(t *testing.T) {
	if !canMeasure {
		t.Skip("sockets cannot be measured on this system, every stream has its own goroutine")
	}
	big := words{choice: func(int, int) Choice {
		c := wordChoice(2000, "stop")
		// Long tokens fill any socket buffer: 2,000 × 4 KiB.
		var b strings.Builder
		for i := range c.Ends {
			b.WriteString(strings.Repeat("x", 4<<10))
			c.Ends[i] = uint32(b.Len())
		}
		c.Text = b.String()
		return c
	}}
	p := &pacer{gap: 100 * time.Microsecond}
	s, addr := serveTCP(t, Options{Writers: 1}, p, big)
	slow := dialStream(t, addr, streaming(hello, ""))
	for s.Counters().Handovers == 0 {
		time.Sleep(time.Millisecond) // the socket is filling up: an event to wait for, not a pause.
	}
	for range 3 {
		resp, err := http.Post("http://"+addr+chatPath, "application/json", strings.NewReader(streaming(hello, "")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	if open := s.Counters().Streams; open != 1 {
		t.Errorf("%d streams open, want only the slow one", open)
	}
	resp, err := http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if texts := checkOrder(t, string(b), 1, false); len(texts[0]) != 2000*4<<10 {
		t.Errorf("the slow client got %d bytes", len(texts[0]))
	}
}

// TestDirectAnswers: events that go past net/http leave a connection as net/http expects it: the body is well chunked,
// and the next request on the same connection is answered.
func TestDirectAnswers(t *testing.T) {
	if !canMeasure {
		t.Skip("on this system every event goes through net/http")
	}
	s, addr := serveTCP(t, Options{Writers: 1}, &pacer{gap: 200 * time.Microsecond}, words{tokens: 50})
	c := dialStream(t, addr, streaming(hello, ""))
	r := bufio.NewReader(c)
	for i := range 3 {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		if texts := checkOrder(t, string(b), 1, false); texts[0] != wordChoice(50, "").Text {
			t.Errorf("answer %d: %q", i, texts[0])
		}
		sendStream(t, c, streaming(hello, ""))
	}
	if c := s.Counters(); c.Handovers != 0 || c.Aborted != 0 {
		t.Errorf("counters %+v", c)
	}
}

// TestDirectReaderStops: a client that stays and never reads is given up after the write timeout, and its connection is
// closed in the middle of a chunk rather than ended as if the answer were whole.
func TestDirectReaderStops(t *testing.T) {
	if !canMeasure {
		t.Skip("on this system every event goes through net/http")
	}
	p := &pacer{gap: 100 * time.Microsecond}
	s, addr := serveTCP(t, Options{Writers: 1, WriteTimeout: 50 * time.Millisecond}, p, words{choice: func(int, int) Choice {
		c := wordChoice(4000, "stop")
		c.Text = strings.Repeat("x", 4<<10*4000)
		for i := range c.Ends {
			c.Ends[i] = uint32(4 << 10 * (i + 1))
		}
		return c
	}})
	c := dialStream(t, addr, streaming(hello, ""))
	for s.Counters().Aborted == 0 {
		time.Sleep(time.Millisecond) // the socket fills up and the timeout passes: an event to wait for, not a pause.
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("the cut answer looks whole to its client")
	}
	p.rest()
	if n := p.openTickets(); n != 0 {
		t.Errorf("%d tickets open", n)
	}
}

// TestHalfClosed: a client that closes its sending side has left for net/http, and nothing it can still receive may look
// like an answer: neither an empty 200 nor a stream with a proper end.
func TestHalfClosed(t *testing.T) {
	for _, row := range []struct {
		why, body string
		first     bool // wait for the first event
	}{
		{"before a stream begins", streaming(hello, ""), false},
		{"before a whole answer", hello, false},
		{"in a stream", streaming(hello, ""), true},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, addr := serveTCP(t, Options{}, &pacer{gap: 20 * time.Millisecond}, words{tokens: 1000})
			c := dialStream(t, addr, row.body)
			r := bufio.NewReader(c)
			if row.first {
				if _, err := r.Peek(1); err != nil {
					t.Fatal(err)
				}
			}
			half, ok := c.(*net.TCPConn)
			if !ok {
				t.Fatalf("a %T", c)
			}
			if err := half.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				return // no answer at all
			}
			if b, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s: a whole answer of %d bytes", resp.Status, len(b))
			}
		})
	}
}
