package cli

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// serving is a server started by the command line.
type serving struct {
	url     string
	signals chan os.Signal
	out     *bufio.Reader
	stderr  lockedBuffer
	code    chan int
}

// lockedBuffer may be written while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is what was written so far.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var listening = regexp.MustCompile(`listening on (\S+) `)

// startServing runs serve with args on a free port, until stop.
func startServing(t *testing.T, args ...string) *serving {
	t.Helper()
	r, w := io.Pipe()
	s := &serving{signals: make(chan os.Signal, 2), out: bufio.NewReader(r), code: make(chan int, 1)}
	go func() {
		code := Main(Env{
			Args: append([]string{"serve", "--port", "0", "--fast"}, args...), Stdin: strings.NewReader(""),
			Stdout: w, Stderr: &s.stderr, Version: "test", Signals: s.signals,
		})
		_ = w.Close()
		s.code <- code
	}()
	line, err := s.out.ReadString('\n')
	m := listening.FindStringSubmatch(line)
	if err != nil || m == nil {
		t.Fatalf("%q, %v, %s", line, err, s.stderr.String())
	}
	s.url = m[1]
	return s
}

// stop ends the server as a signal does and returns what it printed since the start.
func (s *serving) stop(t *testing.T) string {
	t.Helper()
	s.signals <- os.Interrupt
	rest, err := io.ReadAll(s.out)
	if err != nil {
		t.Fatal(err)
	}
	if code := <-s.code; code != ExitOK {
		t.Errorf("exit %d: %s", code, s.stderr.String())
	}
	return string(rest)
}

const hi = `{"model":"gpt-4o","max_tokens":3,"messages":[{"role":"user","content":"Hi"}]}`

func chat(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(hi))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestFullDisksAreSaid: serving goes on, the log says it once per file, and so does the goodbye, with what is missing.
func TestFullDisksAreSaid(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no disk that is always full")
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","choices":[]}`)
	}))
	defer upstream.Close()
	for _, row := range []struct {
		setting string
		args    []string
		lost    string
	}{
		{"journal_jsonl", []string{"--journal-jsonl", "/dev/full"}, "2 lines lost"},
		{"fpm_jsonl", []string{"--fpm-jsonl", "/dev/full"}, "lines lost"},
		{"record_to", []string{"--record-to", "/dev/full", "--record-from", upstream.URL + "/v1"}, "2 lines lost"},
	} {
		s := startServing(t, row.args...)
		for range 2 {
			if status := chat(t, s.url); status != http.StatusOK {
				t.Errorf("%s: status %d", row.setting, status)
			}
		}
		goodbye := s.stop(t)
		if !strings.Contains(goodbye, row.setting+" /dev/full: ") || !strings.Contains(goodbye, row.lost) {
			t.Errorf("%s: goodbye %q", row.setting, goodbye)
		}
		if n := strings.Count(s.stderr.String(), "setting="+row.setting+" file=/dev/full"); n != 1 {
			t.Errorf("%s: logged %d times: %s", row.setting, n, s.stderr.String())
		}
	}
}

// TestAddresses: the host is printed as it was given; who is to try it gets an address that answers, and the key.
func TestAddresses(t *testing.T) {
	for _, row := range []struct{ host, base, here string }{
		{"0.0.0.0", "http://0.0.0.0:80", "http://127.0.0.1:80"},
		{"", "http://0.0.0.0:80", "http://127.0.0.1:80"},
		{"::", "http://[::]:80", "http://127.0.0.1:80"},
		{"localhost", "http://localhost:80", "http://localhost:80"},
		{"::1", "http://[::1]:80", "http://[::1]:80"},
	} {
		if base, here := addresses(row.host, &net.TCPAddr{IP: net.IPv6unspecified, Port: 80}); base != row.base || here != row.here {
			t.Errorf("%q: %s and %s, want %s and %s", row.host, base, here, row.base, row.here)
		}
	}
	s := startServing(t, "--host", "0.0.0.0", "--hello", "--api-key", "z'z")
	if !strings.HasPrefix(s.url, "http://0.0.0.0:") {
		t.Errorf("listens on %s", s.url)
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(line, "curl") {
			continue
		}
		if !strings.Contains(line, "http://127.0.0.1:") || !strings.Contains(line, `-H 'Authorization: Bearer z'\''z'`) {
			t.Error(line)
		}
		break
	}
	s.stop(t)
}
