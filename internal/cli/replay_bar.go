package cli

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// bar shows how far a replay is, on a terminal only and not for short work.
type bar struct {
	out   io.Writer
	start time.Time
	shown *progressbar.ProgressBar
	total int
}

// barAfter is how long a replay must take to be worth a bar; barEvery how many requests pass between looks at the
// clock.
const (
	barAfter = 500 * time.Millisecond
	barEvery = 256
)

func newBar(out io.Writer, total int) *bar {
	file, ok := out.(*os.File)
	if !ok {
		return &bar{}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &bar{}
	}
	return &bar{out: out, start: time.Now(), total: total}
}

func (b *bar) step(done, _ int) {
	if b.out == nil || done%barEvery != 0 {
		return
	}
	if b.shown == nil {
		if time.Since(b.start) < barAfter {
			return
		}
		b.shown = progressbar.NewOptions(b.total,
			progressbar.OptionSetWriter(b.out), progressbar.OptionSetDescription("replaying"),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
			progressbar.OptionShowIts(), progressbar.OptionSetItsString("req"))
	}
	_ = b.shown.Set(done) // a bar that cannot be drawn is no reason to stop
}

func (b *bar) finish() {
	if b.shown != nil {
		_ = b.shown.Finish()
	}
}
