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
			return nil, fmt.Errorf("mixed %q: no decode half: want REQUESTS:NEW[:PREFIX]+REQUESTS:CONTEXT, "+
				"for example 1:1024+16:1024", text)
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
	n, err := numbers(text, "REQUESTS", "NEW", "PREFIX")
	if err != nil {
		return fmt.Errorf("%s %q: %w: want REQUESTS:NEW[:PREFIX], for example 4:1024", flag, text, err)
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
	n, err := numbers(text, "REQUESTS", "CONTEXT")
	if err != nil {
		return fmt.Errorf("%s %q: %w: want REQUESTS:CONTEXT, for example 16:1024", flag, text, err)
	}
	if n[0] < 1 || n[1] < 1 {
		return fmt.Errorf("%s %q: requests and context must be at least 1", flag, text)
	}
	s.decode = engine.DecodeBatch{Requests: n[0], ActiveKV: n[0] * n[1], MeanContext: n[1], TotalKV: totalKV}
	return nil
}

// numbers splits text at colons into numbers of 0 to mostShape, which have these names. The first two must be there.
func numbers(text string, names ...string) ([]int, error) {
	fields := strings.Split(text, ":")
	if len(fields) < 2 {
		return nil, fmt.Errorf("%s is missing", names[1])
	}
	if len(fields) > len(names) {
		return nil, fmt.Errorf("%q is one number too many", fields[len(names)])
	}
	out := make([]int, 0, len(fields))
	for i, field := range fields {
		v, err := strconv.Atoi(field)
		if err != nil || v < 0 || v > mostShape {
			return nil, fmt.Errorf("%s: %q is not a number of 0 to %d", names[i], field, mostShape)
		}
		out = append(out, v)
	}
	return out, nil
}
