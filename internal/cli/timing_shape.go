package cli

import (
	"fmt"
	"strconv"
	"strings"

	"fakellm/engine"
)

// passShape is a pass to price: either half may be empty.
type passShape struct {
	text    string
	prefill engine.PrefillBatch
	decode  engine.DecodeBatch
}

// mostShape bounds batch sizes and lengths.
const mostShape = 1 << 24

// shapeFlags are the shapes that a command prices.
type shapeFlags struct {
	prefill, decode, mixed []string
	totalKV                int
}

// shapes parses the flags; without any it returns a small tour.
func (f *shapeFlags) shapes() ([]passShape, error) {
	if len(f.prefill)+len(f.decode)+len(f.mixed) == 0 {
		f.prefill = []string{"1:128", "1:1024", "1:8192", "4:1024", "1:512:3584"}
		f.decode = []string{"1:1024", "16:1024", "64:2048", "256:2048"}
		f.mixed = []string{"1:1024+16:1024"}
	}
	var out []passShape
	for _, text := range f.prefill {
		s := passShape{text: "prefill " + text}
		if err := s.setPrefill("prefill", text); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	for _, text := range f.decode {
		s := passShape{text: "decode " + text}
		if err := s.setDecode("decode", text, f.totalKV); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	for _, text := range f.mixed {
		s := passShape{text: "mixed " + text}
		p, d, ok := strings.Cut(text, "+")
		if !ok {
			return nil, fmt.Errorf("mixed %q: want REQUESTS:NEW[:PREFIX]+REQUESTS:CONTEXT", text)
		}
		if err := s.setPrefill("mixed", p); err != nil {
			return nil, err
		}
		if err := s.setDecode("mixed", d, f.totalKV); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (s *passShape) setPrefill(flag, text string) error {
	n, err := numbers(text, 2, 3)
	if err != nil {
		return fmt.Errorf("%s %q: want REQUESTS:NEW[:PREFIX]: %w", flag, text, err)
	}
	prefix := 0
	if len(n) == 3 {
		prefix = n[2]
	}
	if n[0] < 1 || n[1] < 1 {
		return fmt.Errorf("%s %q: requests and new tokens must be at least 1", flag, text)
	}
	s.prefill = engine.PrefillBatch{Requests: n[0], MeanISL: n[1] + prefix, MeanPrefix: prefix}
	return nil
}

func (s *passShape) setDecode(flag, text string, totalKV int) error {
	n, err := numbers(text, 2, 2)
	if err != nil {
		return fmt.Errorf("%s %q: want REQUESTS:CONTEXT: %w", flag, text, err)
	}
	if n[0] < 1 || n[1] < 1 {
		return fmt.Errorf("%s %q: requests and context must be at least 1", flag, text)
	}
	s.decode = engine.DecodeBatch{Requests: n[0], ActiveKV: n[0] * n[1], MeanContext: n[1], TotalKV: totalKV}
	return nil
}

// numbers splits text at colons into least to most numbers of 0 to mostShape.
func numbers(text string, least, most int) ([]int, error) {
	fields := strings.Split(text, ":")
	if len(fields) < least || len(fields) > most {
		return nil, fmt.Errorf("%d numbers", len(fields))
	}
	out := make([]int, 0, len(fields))
	for _, field := range fields {
		v, err := strconv.Atoi(field)
		if err != nil || v < 0 || v > mostShape {
			return nil, fmt.Errorf("%q is not a number of 0 to %d", field, mostShape)
		}
		out = append(out, v)
	}
	return out, nil
}
