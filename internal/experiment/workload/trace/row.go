package trace

import (
	"errors"
	"fmt"
	"math"
)

// row is one line of a Mooncake trace.
type row struct {
	stamp, delay          float64
	input, output, tokens uint64 // tokens: number of output_token_ids
	hashes                []uint64
	session               []byte
	seen                  seen
}

// seen says which fields a row has.
type seen uint16

const (
	hasStamp seen = 1 << iota
	hasDelay
	hasInput
	hasOutput
	hasTokens
	hasHashes
	hasSession
	hasRequest
	hasPriority
	hasStrict
	hasClass
)

func (r *row) reset() {
	*r = row{hashes: r.hashes[:0], session: r.session[:0], stamp: math.NaN()}
}

// parse reads one object, all of the line.
func (r *row) parse(line []byte) error {
	s := scanner{buf: line}
	some, err := s.opened('{', '}')
	for some && err == nil {
		var key []byte
		if key, err = s.text(); err != nil {
			return err
		}
		if err = s.expect(':'); err != nil {
			return err
		}
		if err = r.field(&s, key); err == nil {
			some, err = s.more('}')
		}
	}
	if err == nil && s.peek() != 0 {
		err = fmt.Errorf("text after the object at byte %d", s.pos+1)
	}
	return err
}

// field reads the value of one key.
func (r *row) field(s *scanner, key []byte) error {
	var bit seen
	var read func(*row, *scanner) error
	switch string(key) {
	case "timestamp", "created_time":
		bit, read = hasStamp, (*row).readStamp
	case "delay", "delay_ms":
		bit, read = hasDelay, (*row).readDelay
	case "input_length", "input_tokens":
		bit, read = hasInput, (*row).readInput
	case "output_length", "output_tokens":
		bit, read = hasOutput, (*row).readOutput
	case "output_token_ids":
		bit, read = hasTokens, (*row).readTokens
	case "hash_ids":
		bit, read = hasHashes, (*row).readHashes
	case "session_id":
		bit, read = hasSession, (*row).readSession
	case "request_id":
		bit, read = hasRequest, (*row).readText
	case "policy_class":
		bit, read = hasClass, (*row).readText
	case "priority":
		bit, read = hasPriority, (*row).readPriority
	case "strict_priority":
		bit, read = hasStrict, (*row).readStrict
	default:
		return s.skip(0)
	}
	if r.seen&bit != 0 {
		return &fieldError{string(key), errors.New("given twice")}
	}
	if s.null() {
		return nil
	}
	r.seen |= bit
	if err := read(r, s); err != nil {
		return &fieldError{string(key), err}
	}
	return nil
}

func (r *row) readStamp(s *scanner) (err error) {
	if r.stamp, err = s.float(); err == nil && !(math.Abs(r.stamp) <= maxMS) {
		err = fmt.Errorf("%v: must be within 9e12 ms", r.stamp)
	}
	return err
}

// maxMS bounds instants and spans, in milliseconds: the timeline's nanoseconds end at 292 years.
const maxMS = 9e12

func (r *row) readDelay(s *scanner) (err error) {
	if r.delay, err = s.float(); err == nil && !(r.delay >= 0 && r.delay <= maxMS) {
		err = fmt.Errorf("%v: must not be negative, nor above 9e12 ms", r.delay)
	}
	return err
}

func (r *row) readInput(s *scanner) (err error) {
	r.input, err = s.uint()
	return err
}

func (r *row) readOutput(s *scanner) (err error) {
	r.output, err = s.uint()
	return err
}

func (r *row) readTokens(s *scanner) error {
	return each(s, func(v uint64) error {
		r.tokens++
		if v > math.MaxUint32 {
			return fmt.Errorf("%d: must be below 2^32", v)
		}
		return nil
	})
}

// readHashes reads most of a trace, so plain lists of short numbers have a loop of their own.
func (r *row) readHashes(s *scanner) error {
	if ids, pos, ok := plainList(s.buf, s.pos, r.hashes); ok {
		r.hashes, s.pos = ids, pos
		return nil
	}
	return each(s, func(v uint64) error {
		r.hashes = append(r.hashes, v)
		return nil
	})
}

// plainList appends the numbers of the list that begins at pos, if it is not empty and holds nothing but numbers of at
// most 18 digits without leading zeros, commas and single blanks, and returns where it ends.
func plainList(buf []byte, pos int, ids []uint64) ([]uint64, int, bool) {
	if pos < len(buf) && buf[pos] == ' ' {
		pos++
	}
	if pos == len(buf) || buf[pos] != '[' {
		return nil, 0, false
	}
	for pos++; ; pos++ {
		if pos < len(buf) && buf[pos] == ' ' {
			pos++
		}
		start, v := pos, uint64(0)
		for pos < len(buf) && buf[pos]-'0' <= 9 {
			v = v*10 + uint64(buf[pos]-'0')
			pos++
		}
		if n := pos - start; n == 0 || n > 18 || buf[start] == '0' && n > 1 || pos == len(buf) {
			return nil, 0, false
		}
		ids = append(ids, v)
		if buf[pos] == ']' {
			return ids, pos + 1, true
		}
		if buf[pos] != ',' {
			return nil, 0, false
		}
	}
}

func each(s *scanner, take func(uint64) error) error {
	some, err := s.opened('[', ']')
	for some && err == nil {
		var v uint64
		if v, err = s.uint(); err != nil {
			return err
		}
		if err = take(v); err == nil {
			some, err = s.more(']')
		}
	}
	return err
}

func (r *row) readSession(s *scanner) error {
	text, err := s.text()
	r.session = append(r.session[:0], text...)
	return err
}

func (r *row) readText(s *scanner) error {
	_, err := s.text()
	return err
}

func (r *row) readPriority(s *scanner) error {
	v, err := s.float()
	if err == nil && (v != math.Trunc(v) || v < math.MinInt32 || v > math.MaxInt32) {
		err = fmt.Errorf("%v: must be a 32-bit whole number", v)
	}
	return err
}

func (r *row) readStrict(s *scanner) error {
	v, err := s.uint()
	if err == nil && v > math.MaxUint32 {
		err = fmt.Errorf("%d: must be below 2^32", v)
	}
	return err
}
