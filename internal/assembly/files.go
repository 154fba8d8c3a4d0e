package assembly

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
)

// files are the outputs of a server that go to disk line by line.
type files struct {
	log  *slog.Logger
	open []*output
}

// create opens the file of a setting. Errors name the setting and the file. A strict output tells its writer of every
// failure; any other swallows them, for writers that would give up after the first.
func (f *files) create(setting, path string, flags int, perm os.FileMode, strict bool) (*output, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flags, perm)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	o := &output{setting: setting, path: path, log: f.log, to: file, close: file.Close, strict: strict}
	f.open = append(f.open, o)
	return o, nil
}

// lost says, per file, how many lines could not be written, and why; nil when nothing was lost.
func (f *files) lost() []string {
	var out []string
	for _, o := range f.open {
		if text := o.report(); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// output writes lines to a file whose disk may be full: serving goes on, the first failure is logged, what is lost is
// counted, and once there is room again whole lines follow. It is safe for concurrent use.
type output struct {
	setting, path string
	log           *slog.Logger
	to            io.Writer
	close         func() error
	strict        bool

	mu    sync.Mutex
	lost  int
	first error // what the first failed write met
	// torn: the file ends within a line. skip: what comes next is the rest of a line whose beginning is lost.
	torn, skip bool
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.put(p)
	if err == nil {
		return len(p), nil
	}
	if o.first == nil {
		o.first = err
		o.log.Error("a file could not be written; what belongs there is lost", "setting", o.setting, "file", o.path, "err", err)
	}
	if o.strict {
		return 0, err
	}
	return len(p), nil
}

// put writes p behind the end of the line before, or counts the lines of it that are lost.
func (o *output) put(p []byte) error {
	if o.skip {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			return nil
		}
		o.lost++
		o.skip, p = false, p[end+1:]
	}
	if len(p) == 0 {
		return nil
	}
	if o.torn {
		if _, err := io.WriteString(o.to, "\n"); err != nil {
			o.miss(p)
			return err
		}
		o.torn = false
	}
	n, err := o.to.Write(p)
	if err == nil {
		return nil
	}
	if n > 0 {
		o.torn = p[n-1] != '\n'
	}
	o.miss(p[n:])
	return err
}

// miss counts p as lost.
func (o *output) miss(p []byte) {
	o.lost += bytes.Count(p, []byte("\n"))
	o.skip = len(p) > 0 && p[len(p)-1] != '\n'
}

// Close closes the file; a file system may only now say that it has no room.
func (o *output) Close() error {
	err := o.close()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil && o.first == nil {
		o.first = err
	}
	return err
}

// report says what was lost; "" for nothing.
func (o *output) report() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %d lines lost: %v", o.setting, o.path, o.lost, o.first)
}

// Lost says, after Close, which files could not be written whole, one text each, and how much of them is missing.
func (s *Server) Lost() []string { return s.files.lost() }
