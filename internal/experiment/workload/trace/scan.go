package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// scanner walks one JSON text without building values: the readers know which keys they want. Its errors carry no
// place; readers add line and field.
type scanner struct {
	buf []byte
	pos int
}

var errShort = errors.New("the line ends too early")

// maxDepth bounds the nesting of values that are skipped.
const maxDepth = 64

func (s *scanner) space() {
	for s.pos < len(s.buf) {
		switch s.buf[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that is no white space, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos == len(s.buf) {
		return 0
	}
	return s.buf[s.pos]
}

// expect consumes c.
func (s *scanner) expect(c byte) error {
	got := s.peek()
	if got == 0 {
		return errShort
	}
	if got != c {
		return fmt.Errorf("expected %q, found %q at byte %d", c, got, s.pos+1)
	}
	s.pos++
	return nil
}

// more is called between the elements of an array or object that closes with end: it consumes a comma or the end.
func (s *scanner) more(end byte) (bool, error) {
	switch c := s.peek(); c {
	case 0:
		return false, errShort
	case end:
		s.pos++
		return false, nil
	case ',':
		s.pos++
		return true, nil
	default:
		return false, fmt.Errorf("expected ',' or %q, found %q at byte %d", end, c, s.pos+1)
	}
}

// opened consumes the begin of an array or object and reports whether it has elements.
func (s *scanner) opened(begin, end byte) (bool, error) {
	if err := s.expect(begin); err != nil {
		return false, err
	}
	if s.peek() == end {
		s.pos++
		return false, nil
	}
	return true, nil
}

// null consumes a null if there is one.
func (s *scanner) null() bool {
	if s.peek() == 'n' && bytes.HasPrefix(s.buf[s.pos:], []byte("null")) {
		s.pos += 4
		return true
	}
	return false
}

// text returns a string. The result is only valid while the buffer is.
func (s *scanner) text() ([]byte, error) {
	if s.peek() != '"' {
		return nil, errors.New("malformed JSON: a string in quotes belongs here")
	}
	start := s.pos + 1
	for i := start; i < len(s.buf); i++ {
		switch c := s.buf[i]; {
		case c == '"':
			s.pos = i + 1
			return s.buf[start:i], nil
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return nil, errors.New("a string holds a control character")
		}
	}
	return nil, errShort
}

// escaped finishes a string that has escapes, which no trace needs, by the standard library.
func (s *scanner) escaped(start int) ([]byte, error) {
	for i := start; i < len(s.buf); i++ {
		switch s.buf[i] {
		case '\\':
			i++
		case '"':
			var out string
			if err := json.Unmarshal(s.buf[start-1:i+1], &out); err != nil {
				return nil, errors.New("must be a valid string")
			}
			s.pos = i + 1
			return []byte(out), nil
		}
	}
	return nil, errShort
}

// number returns the bytes of a number in JSON's grammar.
func (s *scanner) number() ([]byte, error) {
	s.space()
	start := s.pos
	for s.pos < len(s.buf) && inNumber(s.buf[s.pos]) {
		s.pos++
	}
	raw := s.buf[start:s.pos]
	if len(raw) == 0 {
		return nil, errors.New("must be a number")
	}
	if !isNumber(raw) {
		return nil, fmt.Errorf("%s is not a number", raw)
	}
	return raw, nil
}

// isNumber reports whether raw is -? (0 | 1-9 digits) (. digits)? (e sign? digits)?.
func isNumber(raw []byte) bool {
	raw = bytes.TrimPrefix(raw, []byte("-"))
	whole := digits(raw)
	if whole == 0 || raw[0] == '0' && whole > 1 {
		return false
	}
	raw = raw[whole:]
	if len(raw) > 0 && raw[0] == '.' {
		n := digits(raw[1:])
		if n == 0 {
			return false
		}
		raw = raw[1+n:]
	}
	if len(raw) > 0 && (raw[0] == 'e' || raw[0] == 'E') {
		raw = raw[1:]
		if len(raw) > 0 && (raw[0] == '+' || raw[0] == '-') {
			raw = raw[1:]
		}
		n := digits(raw)
		return n > 0 && n == len(raw)
	}
	return len(raw) == 0
}

// digits counts the leading ones.
func digits(raw []byte) int {
	n := 0
	for n < len(raw) && raw[n]-'0' <= 9 {
		n++
	}
	return n
}

// float returns a finite number.
func (s *scanner) float() (float64, error) {
	raw, err := s.number()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s is not a finite number", raw)
	}
	return v, nil
}

// uint returns a whole number from 0 to 2^64-1.
func (s *scanner) uint() (uint64, error) {
	s.space()
	start := s.pos
	var v uint64
	for s.pos < len(s.buf) && s.pos-start < 19 {
		d := s.buf[s.pos] - '0'
		if d > 9 {
			break
		}
		v = v*10 + uint64(d)
		s.pos++
	}
	if s.pos > start && (s.pos == len(s.buf) || !inNumber(s.buf[s.pos])) && (s.buf[start] != '0' || s.pos == start+1) {
		return v, nil
	}
	s.pos = start
	raw, err := s.number()
	if err != nil {
		return 0, err
	}
	v, err = strconv.ParseUint(string(raw), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number from 0 to 2^64-1", raw)
	}
	return v, nil
}

func inNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+'
}

// skip consumes any value.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("values nest deeper than %d", maxDepth)
	}
	switch c := s.peek(); c {
	case '{', '[':
		end := c + 2 // '}' and ']' in ASCII
		some, err := s.opened(c, end)
		for some && err == nil {
			if c == '{' {
				if _, err = s.text(); err != nil {
					return err
				}
				if err = s.expect(':'); err != nil {
					return err
				}
			}
			if err = s.skip(depth + 1); err == nil {
				some, err = s.more(end)
			}
		}
		return err
	case '"':
		_, err := s.text()
		return err
	case 't', 'f', 'n':
		for _, word := range []string{"true", "false", "null"} {
			if bytes.HasPrefix(s.buf[s.pos:], []byte(word)) {
				s.pos += len(word)
				return nil
			}
		}
		return errors.New("must be a JSON value")
	default:
		_, err := s.float()
		return err
	}
}
