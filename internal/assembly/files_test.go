package assembly

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

var errFull = errors.New("no room")

// disk has room for so many more bytes.
type disk struct {
	room int
	on   strings.Builder
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(d.room, len(p))
	d.room -= n
	d.on.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// TestOutputOnAFullDisk: whole lines or none are read back, the failure is said once, and the count is right.
func TestOutputOnAFullDisk(t *testing.T) {
	for _, row := range []struct {
		why    string
		room   int // at first
		then   int // after the second write
		writes []string
		want   string
		lost   int
	}{
		{"nothing fits", 0, 0, []string{"a\n", "b\n", "c\n"}, "", 3},
		{"room comes back", 2, 99, []string{"a\n", "b\n", "c\n"}, "a\nc\n", 1},
		{"a line is torn and ended before the next", 1, 99, []string{"aa\n", "bb\n", "cc\n"}, "a\ncc\n", 2},
		{"a chunk ends within a line: its rest is lost too", 0, 99, []string{"aa\n", "bb\nc", "c\ndd\n"}, "dd\n", 3},
		{"no line ends in a chunk", 0, 99, []string{"a", "a", "a\nb\n"}, "b\n", 1},
	} {
		var log strings.Builder
		d := &disk{room: row.room}
		o := &output{
			setting: "fpm_jsonl", path: "/there", to: d, close: func() error { return nil },
			log: slog.New(slog.NewTextHandler(&log, nil)),
		}
		for i, w := range row.writes {
			if i == 2 {
				d.room = row.then
			}
			if n, err := o.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: %d, %v: the writer would give up", row.why, n, err)
			}
		}
		if d.on.String() != row.want || o.lost != row.lost {
			t.Errorf("%s: %q and %d lost, want %q and %d", row.why, d.on.String(), o.lost, row.want, row.lost)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=ERROR") ||
			!strings.Contains(got, "setting=fpm_jsonl file=/there") {
			t.Errorf("%s: logged %q", row.why, got)
		}
	}
}
