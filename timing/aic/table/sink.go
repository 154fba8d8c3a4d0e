package table

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// String names the kind for messages.
func (k Kind) String() string {
	return [...]string{"text", "integer", "real", "boolean"}[k]
}

// accepts reports whether values of a physical type can be read as this kind.
func (k Kind) accepts(p parquet.Kind) bool {
	switch k {
	case Text:
		return p == parquet.ByteArray
	case Int:
		return p == parquet.Int64 || p == parquet.Int32
	case Float:
		return p == parquet.Double || p == parquet.Float
	case Bool:
		return p == parquet.Boolean
	}
	return false
}

// sink collects the values of one column. A null text is "", a null boolean true (a row is eligible unless it says
// otherwise), any other null is refused.
type sink struct {
	kind  Kind
	text  Texts
	codes map[string]int32
	last  string
	code  int32
	ints  []int64
	reals []float64
	bools []bool
}

// newSink reserves room for the promised rows, but not for a promise that a small file cannot keep.
func newSink(kind Kind, rows int) *sink {
	s := &sink{kind: kind}
	room := min(rows, 1<<18)
	switch kind {
	case Text:
		s.text.Rows = make([]int32, 0, room)
		s.codes = map[string]int32{}
		s.code = -1
	case Int:
		s.ints = make([]int64, 0, room)
	case Float:
		s.reals = make([]float64, 0, room)
	case Bool:
		s.bools = make([]bool, 0, room)
	}
	return s
}

func (s *sink) rows() int {
	return len(s.text.Rows) + len(s.ints) + len(s.reals) + len(s.bools)
}

func (s *sink) add(v *parquet.Value) error {
	switch s.kind {
	case Text:
		var b []byte
		if !v.IsNull() {
			b = v.ByteArray()
		}
		s.addText(b)
		return nil
	case Bool:
		s.bools = append(s.bools, v.IsNull() || v.Boolean())
		return nil
	case Int, Float:
	}
	if v.IsNull() {
		return fmt.Errorf("no value")
	}
	switch v.Kind() {
	case parquet.Int64:
		s.ints = append(s.ints, v.Int64())
	case parquet.Int32:
		s.ints = append(s.ints, int64(v.Int32()))
	case parquet.Double, parquet.Float:
		x := v.Double()
		if v.Kind() == parquet.Float {
			x = float64(v.Float())
		}
		if err := finite(x); err != nil {
			return err
		}
		s.reals = append(s.reals, x)
	default:
		return fmt.Errorf("a value of type %v", v.Kind())
	}
	return nil
}

// addText interns a text; runs of equal texts, the usual case, cost one comparison each.
func (s *sink) addText(b []byte) {
	if s.code < 0 || string(b) != s.last {
		code, ok := s.codes[string(b)]
		if !ok {
			text := string(b)
			code = int32(len(s.text.Values))
			s.codes[text] = code
			s.text.Values = append(s.text.Values, text)
		}
		s.code, s.last = code, s.text.Values[code]
	}
	s.text.Rows = append(s.text.Rows, s.code)
}
