package kvevents

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fakellm/engine"
)

// TestHeartbeat: a zeroed record after every second of silence, numbered with the others, on absolute deadlines.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var got []string
		s := &speaker{send: func(n uint64, wall time.Time, l *engine.Load) {
			got = append(got, fmt.Sprintf("%d at %v: %d", n, wall.Sub(start), l.DecodeRequests))
		}}
		s.start()
		time.Sleep(2500 * time.Millisecond)
		for range 3 { // nobody is silent here
			s.speak(time.Now(), &engine.Load{DecodeRequests: 7})
			time.Sleep(900 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		s.stop()
		time.Sleep(time.Minute)
		want := []string{
			"0 at 1s: 0", "1 at 2s: 0", "2 at 2.5s: 7", "3 at 3.4s: 7", "4 at 4.3s: 7", "5 at 5.3s: 0", "6 at 6.3s: 0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestHeartbeatOverZMQ: publishers of forward-pass metrics beat, files get no beats.
func TestHeartbeatOverZMQ(t *testing.T) {
	var out strings.Builder
	p, err := NewPasses(Config{Host: "127.0.0.1", Port: freePorts(t), Workers: 1, Ranks: 1}, &out)
	if err != nil {
		t.Fatal(err)
	}
	s := p.speakers[0]
	if s.timer == nil {
		t.Fatal("no heartbeat is due")
	}
	s.mu.Lock()
	s.due = time.Now()
	s.mu.Unlock()
	s.beat()
	if s.count == 0 {
		t.Error("no beat")
	}
	if err := p.Close(); err != nil || out.Len() > 0 {
		t.Errorf("%v, wrote %q", err, out.String())
	}
}
