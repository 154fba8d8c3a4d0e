package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Limits that keep a hostile file within bounded memory: 2^21 elements are 16 MB, a grid of 1,448 by 1,448.
const (
	maxElements = 1 << 21
	maxHeader   = 1 << 16
)

// array is a one- or two-dimensional array in row-major order, whatever the order and type in the file.
type array struct {
	shape []int
	data  []float64
}

var npyMagic = []byte("\x93NUMPY")

// readNPY reads one array in the .npy format, versions 1 to 3, of type <f4, <f8, <i4 or <i8. It allocates at most
// 16 bytes per element, and never for more elements than maxElements.
func readNPY(r io.Reader) (*array, error) {
	header, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	raw, err := readBody(r, h.elements*h.size)
	if err != nil {
		return nil, fmt.Errorf("shape %v of type %s: %w", h.shape, h.descr, err)
	}
	a := &array{shape: h.shape, data: make([]float64, h.elements)}
	for i := range a.data {
		at := i
		if h.fortran && len(h.shape) == 2 {
			at = i/h.shape[0] + i%h.shape[0]*h.shape[1]
		}
		a.data[at] = h.decode(raw[i*h.size:])
	}
	return a, nil
}

// readHeader returns the text between the magic and the data.
func readHeader(r io.Reader) (string, error) {
	var start [10]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || !bytes.Equal(start[:6], npyMagic) {
		return "", errors.New("not an .npy array: its magic is missing")
	}
	size := int(binary.LittleEndian.Uint16(start[8:]))
	switch start[6] {
	case 1:
	case 2, 3:
		var more [2]byte
		if _, err := io.ReadFull(r, more[:]); err != nil {
			return "", errors.New("truncated in its header")
		}
		size |= int(binary.LittleEndian.Uint16(more[:])) << 16
	default:
		return "", fmt.Errorf(".npy version %d: known are 1, 2 and 3", start[6])
	}
	if size > maxHeader {
		return "", fmt.Errorf("header of %d bytes: at most %d are read", size, maxHeader)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", errors.New("truncated in its header")
	}
	return string(text), nil
}

// readBody reads exactly size bytes and refuses more.
func readBody(r io.Reader, size int) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%d of %d bytes read: %w", len(raw), size, err)
	case len(raw) < size:
		return nil, fmt.Errorf("truncated: %d of %d bytes", len(raw), size)
	case len(raw) > size:
		return nil, fmt.Errorf("more than the %d bytes it should have", size)
	}
	return raw, nil
}

// header is what the text of an .npy header says.
type header struct {
	descr    string
	fortran  bool
	shape    []int
	elements int
	size     int // bytes of an element
	decode   func([]byte) float64
}

var (
	descrField   = regexp.MustCompile(`'descr'\s*:\s*('[^']*'|\[)`)
	fortranField = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	shapeField   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9,\sL]*)\)`)
)

// parseHeader understands the Python dictionary that numpy writes, and no other Python.
func parseHeader(text string) (header, error) {
	var h header
	descr, fortran := descrField.FindStringSubmatch(text), fortranField.FindStringSubmatch(text)
	shape := shapeField.FindStringSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return h, fmt.Errorf("header %.80q: descr, fortran_order and shape expected", text)
	}
	h.descr, h.fortran = strings.Trim(descr[1], "'"), fortran[1] == "True"
	switch h.descr {
	case "<f8":
		h.size, h.decode = 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
	case "<f4":
		h.size, h.decode = 4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	case "<i8":
		h.size, h.decode = 8, func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) }
	case "<i4":
		h.size, h.decode = 4, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }
	default:
		return h, fmt.Errorf("type %q: known are <f4, <f8, <i4 and <i8", h.descr)
	}
	h.elements = 1
	for field := range strings.SplitSeq(shape[1], ",") {
		field = strings.TrimSuffix(strings.TrimSpace(field), "L")
		if field == "" {
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil || n > maxElements {
			return h, fmt.Errorf("shape (%s): at most %d elements are read", shape[1], maxElements)
		}
		h.shape = append(h.shape, n)
		if h.elements *= n; h.elements > maxElements {
			return h, fmt.Errorf("shape (%s): at most %d elements are read", shape[1], maxElements)
		}
	}
	if len(h.shape) != 1 && len(h.shape) != 2 {
		return h, fmt.Errorf("shape (%s): one or two dimensions expected", shape[1])
	}
	return h, nil
}
