package assembly

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"fakellm/config"
	"fakellm/internal/observe/metrics"
	"fakellm/openai"
	"fakellm/openai/fault"
	"fakellm/openai/journal"
	"fakellm/openai/limit"
	"fakellm/openai/reply/script"
)

// rooms are the optional parts of the face: scripted replies, tapes, faults, limits and the journal.
type rooms struct {
	script   *openai.Script
	recorder *openai.Recorder
	breaker  *openai.Breaker
	limiter  *limit.Limiter
	journal  *journal.Journal
	close    []func() error
}

// newRooms builds what the settings ask for. Errors name the setting and the file.
func newRooms(c *config.Config, p *parts, own *metrics.Own, to *files) (*rooms, error) {
	r := &rooms{script: openai.NewScript(p.book, c.Seed), breaker: openai.NewBreaker(c.Seed, own.Fault)}
	r.script.Play(p.tape)
	if err := r.breaker.Use(p.faults); err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	if p.limits.Default != (limit.Quota{}) || len(p.limits.Models) > 0 {
		var err error
		if r.limiter, err = limit.New(p.limits); err != nil {
			return nil, err
		}
	}
	if err := r.record(c, to); err != nil {
		return r, err
	}
	return r, r.keep(c, to)
}

// limits are what API keys may use, by key and by model. The error joins every problem.
func limits(c *config.Config) (limit.Config, error) {
	l := limit.Config{Default: limit.Quota{RPM: int64(c.RPM), TPM: int64(c.TPM)}}
	var err error
	if l.Models, err = limit.ParseModels(c.Limit); err != nil {
		return l, named("limit", err)
	}
	return l, errors.Join(l.Validate()...)
}

// loadTape reads the tape that is played; no path is no tape.
func loadTape(path string) (*script.Tape, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("replay_tape: %w", err)
	}
	defer func() { _ = f.Close() }() // it is only read
	tape, err := script.ReadTape(path, f)
	if err != nil {
		return nil, fmt.Errorf("replay_tape: %w", err)
	}
	return tape, nil
}

// recordProblem says what is missing or wrong for recording.
func recordProblem(c *config.Config) error {
	switch {
	case c.RecordFrom != "" && c.RecordTo == "":
		return fmt.Errorf("record_from %q: needs record_to, the file to record to", c.RecordFrom)
	case c.RecordTo != "" && c.RecordFrom == "":
		return fmt.Errorf("record_to %q: needs record_from, the endpoint to record", c.RecordTo)
	case c.RecordFrom != "":
		probe, err := openai.NewRecorder(c.RecordFrom, io.Discard)
		if err != nil {
			return fmt.Errorf("record_from: %w", err)
		}
		probe.Close()
	}
	return nil
}

// record opens the tape that is recorded, if one is.
func (r *rooms) record(c *config.Config, to *files) error {
	if c.RecordTo == "" {
		return nil
	}
	f, err := to.create("record_to", c.RecordTo, os.O_APPEND, 0o600, true)
	if err != nil {
		return err
	}
	r.close = append(r.close, f.Close)
	if r.recorder, err = openai.NewRecorder(c.RecordFrom, f); err != nil {
		return fmt.Errorf("record_from: %w", err)
	}
	r.close = append(r.close, func() error { r.recorder.Close(); return nil })
	return nil
}

// keep starts the journal. A file alone keeps one record in memory.
func (r *rooms) keep(c *config.Config, to *files) error {
	if c.JournalRecords == 0 && c.JournalFile == "" {
		return nil
	}
	cfg := journal.Config{Records: max(1, c.JournalRecords)}
	if c.JournalFile != "" {
		f, err := to.create("journal_jsonl", c.JournalFile, os.O_APPEND, 0o600, false)
		if err != nil {
			return err
		}
		cfg.Sink = journal.NewSink(f, 0)
		r.close = append(r.close, cfg.Sink.Close, f.Close)
	}
	var err error
	r.journal, err = journal.New(cfg)
	return err
}

// loadBook reads every file of mappings into one book; the files count in their order.
func loadBook(files []string) (*script.Book, error) {
	var all []script.Mapping
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("mappings: %w", err)
		}
		book, err := script.Parse(path, data)
		if err != nil {
			return nil, fmt.Errorf("mappings: %w", err)
		}
		all = append(all, book.Mappings()...)
	}
	book, err := script.New(all)
	if err != nil {
		return nil, fmt.Errorf("mappings: %w", err)
	}
	return book, checkFaults(book)
}

// checkFaults sees to it that every fault a mapping names can be carried out.
func checkFaults(book *script.Book) error {
	for _, f := range book.Faults() {
		if _, err := fault.Parse(f.Fault); err != nil {
			return fmt.Errorf("mappings: %s: %w", f.Where, err)
		}
	}
	return nil
}

func loadFaults(path string) ([]fault.Rule, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	rules, err := fault.ParseRules(path, data)
	if err != nil {
		return nil, named("faults", err)
	}
	return rules, nil
}

// reloadEvery is how often files of mappings and faults are looked at.
const reloadEvery = time.Second

// watch reads files again when they change, until stop is closed. A bad file is reported and changes nothing.
func (s *Server) watch(stop <-chan struct{}) {
	files := s.cfg.Mappings
	if s.cfg.Faults != "" {
		files = append(append([]string(nil), files...), s.cfg.Faults)
	}
	if len(files) == 0 {
		return
	}
	seen := stamps(files)
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if now := stamps(files); now != seen {
				seen = now
				s.reload()
			}
		}
	}
}

// reload reads mappings and faults from their files, and takes both or neither.
func (s *Server) reload() {
	book, errBook := loadBook(s.cfg.Mappings)
	rules, errRules := loadFaults(s.cfg.Faults)
	err := errors.Join(errBook, errRules)
	if err == nil && s.cfg.Faults != "" {
		err = s.rooms.breaker.Use(rules)
	}
	if err != nil {
		s.log.Error("a changed file was not taken; the old replies and faults stay", "err", err)
		return
	}
	s.rooms.script.Replace(book)
	s.log.Info("replies and faults were read again", "mappings", book.Len())
}

// stamps are the sizes and times of files, as one comparable value.
func stamps(files []string) string {
	var b strings.Builder
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&b, "%s %d %d;", path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
