package trace

import (
	"errors"
	"fmt"
	"io"
	"math"

	"fakellm/internal/experiment/workload"
)

// Options say how to read a trace.
type Options struct {
	// Name is the file's name, for errors.
	Name string
	// Block is the number of tokens of one hash id; 0 for 512.
	Block int
	// Hashes makes block hashes those that others compute from the tokens (spec engine-core §5.1), for runs whose cache
	// events are seen outside; otherwise they are names, which cost less.
	Hashes bool
	// Delta reads the format mooncake-delta: later turns of a session carry only the new input.
	Delta bool
}

// DefaultBlock is the trace block of the published Mooncake traces, in tokens.
const DefaultBlock = 512

// Mooncake reads one JSON object per line: timestamp (or created_time, ms), input_length (input_tokens), output_length
// (output_tokens), hash_ids, output_token_ids, session_id, delay (delay_ms). Rows with equal session_id are turns in
// file order, each with its full prompt. Blank lines are skipped, other keys ignored (spec simulation-harness §3.1,
// §3.2). Memory grows with the number of ids, 4 bytes each. Errors are *workload.Error.
func Mooncake(r io.Reader, opt Options) (*workload.Load, error) {
	if opt.Block == 0 {
		opt.Block = DefaultBlock
	}
	if opt.Block < 0 {
		problem := fmt.Sprintf("%d: must be at least 1", opt.Block)
		return nil, &workload.Error{Source: opt.Name, Field: "trace_block_size", Problem: problem}
	}
	table := workload.NewNamedTable
	if opt.Hashes {
		table = workload.NewTable
	}
	m := &mooncake{opt: opt, table: table(opt.Block), prompts: slab[workload.Prompt]{size: 1024}}
	lines := newLines(r)
	for {
		line, number, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = m.row(line, number)
		}
		if err != nil {
			return nil, place(err, opt.Name, number)
		}
	}
	return m.load(), nil
}

// fieldError is a problem with the value of one key.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

func place(err error, name string, line int) error {
	out := &workload.Error{Source: name, Line: line, Problem: err.Error()}
	if f, ok := errors.AsType[*fieldError](err); ok {
		out.Field, out.Problem = f.field, f.err.Error()
	}
	return out
}

// mooncake gathers sessions row by row.
type mooncake struct {
	opt      Options
	table    *workload.Table
	intern   interner
	chunk    []uint32
	prompts  slab[workload.Prompt]
	row1     row
	sessions []workload.Session
	turns    []workload.Turn
	// owner is the session of each turn, stamps the latest timestamp of each named session, NaN if unknown.
	owner  []int32
	byName map[string]int32
	stamps map[int32]float64
}

// row takes one line.
func (m *mooncake) row(line []byte, number int) error {
	r := &m.row1
	r.reset()
	if err := r.parse(line); err != nil {
		return err
	}
	turn, err := m.turn(r)
	if err != nil {
		return err
	}
	if i, ok := m.byName[string(r.session)]; ok && r.seen&hasSession != 0 {
		return m.later(i, r, turn)
	}
	if r.delay != 0 {
		return &fieldError{"delay", errors.New("must be 0 on the first turn of a session")}
	}
	index := int32(len(m.sessions))
	s := workload.Session{Start: r.stamp, Line: number}
	if r.seen&hasSession != 0 {
		s.Name = string(r.session)
		if m.byName == nil {
			m.byName, m.stamps = make(map[string]int32), make(map[int32]float64)
		}
		m.byName[s.Name], m.stamps[index] = index, r.stamp
	}
	m.sessions = append(m.sessions, s)
	m.add(index, turn)
	return nil
}

func (m *mooncake) add(session int32, turn workload.Turn) {
	m.turns, m.owner = append(m.turns, turn), append(m.owner, session)
	m.sessions[session].Count++
}

// later adds a turn to a session: its delay is given, or the distance of the timestamps, or 0.
func (m *mooncake) later(session int32, r *row, turn workload.Turn) error {
	switch {
	case r.seen&hasDelay != 0:
		turn.Delay = r.delay
	case r.seen&hasStamp != 0:
		before := m.stamps[session]
		if math.IsNaN(before) {
			return &fieldError{"timestamp", errors.New("the turn before it has none")}
		}
		turn.Delay = r.stamp - before
		if turn.Delay < 0 {
			return &fieldError{"timestamp", fmt.Errorf("%v lies before the turn before it", r.stamp)}
		}
	}
	m.stamps[session] = r.stamp
	m.add(session, turn)
	return nil
}

// turn checks the lengths and interns the ids.
func (m *mooncake) turn(r *row) (workload.Turn, error) {
	var none workload.Turn
	if r.seen&hasHashes == 0 || len(r.hashes) == 0 {
		return none, &fieldError{"hash_ids", errors.New("missing or empty")}
	}
	if r.seen&hasOutput == 0 {
		return none, &fieldError{"output_length", errors.New("missing")}
	}
	room := len(r.hashes) * m.opt.Block
	if r.seen&hasInput == 0 {
		r.input = uint64(room)
	}
	switch {
	case r.input == 0:
		return none, &fieldError{"input_length", errors.New("0: must be at least 1")}
	case r.input > uint64(room):
		return none, &fieldError{"input_length", fmt.Errorf("%d: %d hash_ids of %d tokens hold only %d",
			r.input, len(r.hashes), m.opt.Block, room)}
	case r.output > math.MaxInt32:
		return none, &fieldError{"output_length", fmt.Errorf("%d: must be below 2^31", r.output)}
	case r.seen&hasTokens != 0 && r.tokens != r.output:
		return none, &fieldError{"output_token_ids", fmt.Errorf("%d ids for output_length %d", r.tokens, r.output)}
	}
	ids := m.keep(r.hashes)
	prompt := m.prompts.next()
	*prompt = m.table.Prompt(ids, int(r.input))
	return workload.Turn{Prompt: int(r.input), Output: int(r.output), Content: prompt}, nil
}

// keep stores the numbers of hashes in a chunk shared by many rows.
func (m *mooncake) keep(hashes []uint64) []uint32 {
	if len(hashes) > cap(m.chunk)-len(m.chunk) {
		m.chunk = make([]uint32, 0, max(1<<14, len(hashes)))
	}
	start := len(m.chunk)
	for _, h := range hashes {
		m.chunk = append(m.chunk, m.intern.number(h))
	}
	return m.chunk[start:len(m.chunk):len(m.chunk)]
}

// load lays the sessions out: the turns of each in a row.
func (m *mooncake) load() *workload.Load {
	l := &workload.Load{
		Source: m.opt.Name, File: true, Grows: m.opt.Delta, Sessions: m.sessions, Turns: m.turns,
		Named: len(m.turns) > len(m.sessions),
	}
	next := make([]int32, len(m.sessions)) // where the next turn of each goes
	first := int32(0)
	for i := range m.sessions {
		m.sessions[i].First, next[i] = first, first
		first += m.sessions[i].Count
	}
	if l.Named {
		l.Turns = make([]workload.Turn, len(m.turns))
		for i, turn := range m.turns {
			l.Turns[next[m.owner[i]]] = turn
			next[m.owner[i]]++
		}
	}
	return l
}

// slab hands out values that live as long as any of their chunk.
type slab[T any] struct {
	free []T
	size int
}

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.free = make([]T, s.size)
	}
	out := &s.free[0]
	s.free = s.free[1:]
	return out
}
