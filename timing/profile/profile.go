package profile

import (
	"fmt"
	"io"
	"math"
	"os"

	"fakellm/engine"
)

// Names of the arrays of a Mocker-format file.
const (
	nameISL     = "prefill_isl"
	nameTTFT    = "prefill_ttft_ms"
	nameKV      = "decode_active_kv_tokens"
	nameContext = "decode_context_length"
	nameITL     = "decode_itl"
)

// minDecodeMS is the floor of a decode pass in milliseconds (spec engine-core §6.4).
const minDecodeMS = 1.0

// Arrays are the five arrays of a profile. Axes rise strictly and have at least two points; values are milliseconds.
type Arrays struct {
	// PrefillISL is the axis of PrefillTTFT, in new tokens of the batch.
	PrefillISL []float64
	// PrefillTTFT is the time of a prefill in milliseconds, one per point of PrefillISL.
	PrefillTTFT []float64
	// DecodeKV is the first axis of DecodeITL, in active KV tokens.
	DecodeKV []float64
	// DecodeContext is the second axis of DecodeITL, in tokens of mean context.
	DecodeContext []float64
	// DecodeITL is the time of a decode pass in milliseconds, row by row: [i·len(DecodeContext) + j].
	DecodeITL []float64
}

// Profile is a timing source over measured grids. The zero value is not usable; see [New], [Read] and [Load].
type Profile struct {
	arrays               Arrays
	tokens, kv, contexts axis
	origin               string
}

// New checks the arrays and returns their profile, which keeps them. Errors name array, axis and index.
func New(a Arrays) (*Profile, error) {
	for _, axis := range []struct {
		name   string
		points []float64
	}{{nameISL, a.PrefillISL}, {nameKV, a.DecodeKV}, {nameContext, a.DecodeContext}} {
		if err := checkAxis(axis.name, axis.points); err != nil {
			return nil, err
		}
	}
	if len(a.PrefillTTFT) != len(a.PrefillISL) {
		return nil, fmt.Errorf("array %s: %d values, but %s has %d", nameTTFT, len(a.PrefillTTFT), nameISL, len(a.PrefillISL))
	}
	if k, c := len(a.DecodeKV), len(a.DecodeContext); len(a.DecodeITL) != k*c {
		return nil, fmt.Errorf("array %s: %d values, but %s and %s ask for %d by %d",
			nameITL, len(a.DecodeITL), nameKV, nameContext, k, c)
	}
	for i, v := range a.PrefillTTFT {
		if !isTime(v) {
			return nil, fmt.Errorf("array %s[%d] = %v: must be finite and not negative", nameTTFT, i, v)
		}
	}
	for i, v := range a.DecodeITL {
		if !isTime(v) {
			row, column := i/len(a.DecodeContext), i%len(a.DecodeContext)
			return nil, fmt.Errorf("array %s[%d][%d] = %v: must be finite and not negative", nameITL, row, column, v)
		}
	}
	return &Profile{
		arrays: a, origin: "arrays",
		tokens: newAxis(a.PrefillISL), kv: newAxis(a.DecodeKV), contexts: newAxis(a.DecodeContext),
	}, nil
}

// Read reads a Mocker-format .npz container of the given size in bytes. Memory is bounded whatever the container
// claims.
func Read(r io.ReaderAt, size int64) (*Profile, error) {
	m, err := readNPZ(r, size, nameISL, nameTTFT, nameKV, nameContext, nameITL)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{nameISL, nameTTFT, nameKV, nameContext} {
		if len(m[name].shape) != 1 {
			return nil, fmt.Errorf("array %s: shape %v, one dimension expected", name, m[name].shape)
		}
	}
	k, c := m[nameKV].shape[0], m[nameContext].shape[0]
	if s := m[nameITL].shape; len(s) != 2 || s[0] != k || s[1] != c {
		return nil, fmt.Errorf("array %s: shape %v, but %s and %s ask for [%d %d]", nameITL, s, nameKV, nameContext, k, c)
	}
	p, err := New(Arrays{m[nameISL].data, m[nameTTFT].data, m[nameKV].data, m[nameContext].data, m[nameITL].data})
	if err != nil {
		return nil, err
	}
	p.origin = "npz file"
	return p, nil
}

// Load reads path: an .npz file, or the results directory of a profiler (see [ReadResults]). Errors name the path.
func Load(path string) (*Profile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("timing profile: %w", err)
	}
	p, err := load(path, info)
	if err != nil {
		return nil, fmt.Errorf("timing profile %s: %w", path, err)
	}
	return p, nil
}

func load(path string, info os.FileInfo) (*Profile, error) {
	switch {
	case info.IsDir():
		return ReadResults(os.DirFS(path))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("neither a file nor a directory")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return Read(f, info.Size())
}

// PrefillMS implements timing.Source: piecewise linear at the new tokens of the batch, floored at 0. O(log points).
func (p *Profile) PrefillMS(b engine.PrefillBatch) (float64, error) {
	x := float64(b.Requests) * float64(b.New())
	return max(0, p.tokens.linear(p.arrays.PrefillTTFT, x)), nil
}

// DecodeMS implements timing.Source: bilinear at (active KV tokens, mean context), floored at 1 ms. O(log points).
func (p *Profile) DecodeMS(b engine.DecodeBatch) (float64, error) {
	ms := bilinear(&p.kv, &p.contexts, p.arrays.DecodeITL, float64(b.ActiveKV), float64(b.MeanContext))
	return max(minDecodeMS, ms), nil
}

// CoversPrefill implements timing.Coverage.
func (p *Profile) CoversPrefill(b engine.PrefillBatch) bool {
	return p.tokens.covers(float64(b.Requests) * float64(b.New()))
}

// CoversDecode implements timing.Coverage.
func (p *Profile) CoversDecode(b engine.DecodeBatch) bool {
	return p.kv.covers(float64(b.ActiveKV)) && p.contexts.covers(float64(b.MeanContext))
}

// checkAxis refuses an axis that an interpolation cannot stand on.
func checkAxis(name string, points []float64) error {
	if len(points) < 2 {
		return fmt.Errorf("axis %s: %d points, at least 2 are needed", name, len(points))
	}
	for i, v := range points {
		if !isTime(v) {
			return fmt.Errorf("axis %s[%d] = %v: must be finite and not negative", name, i, v)
		}
		if i > 0 && v <= points[i-1] {
			return fmt.Errorf("axis %s[%d] = %v: must be greater than %v before it", name, i, v, points[i-1])
		}
	}
	return nil
}

func isTime(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }
