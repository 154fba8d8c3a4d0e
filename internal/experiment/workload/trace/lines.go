package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one line: 64 MB hold a prompt of two thousand million tokens.
const maxLine = 64 << 20

// lines hands out the lines of a file that are not blank, with their numbers.
type lines struct {
	r      *bufio.Reader
	number int
	long   []byte
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 1<<16)} }

// next returns the next line, valid until the next call, or io.EOF.
func (l *lines) next() ([]byte, int, error) {
	for {
		line, err := l.read()
		if len(line) > 0 || err == nil {
			l.number++
		}
		if len(bytes.TrimSpace(line)) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			return line, l.number, nil
		}
		if err != nil {
			return nil, l.number, err
		}
	}
}

func (l *lines) read() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	l.long = append(l.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(l.long) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
		line, err = l.r.ReadSlice('\n')
		l.long = append(l.long, line...)
	}
	return l.long, err
}
