package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
)

// gridPoints is the number of points that a converted profile has on each axis.
const gridPoints = 100

// samples are the raw measurements of one half: named columns of equal length.
type samples map[string][]float64

// ReadResults converts the results directory of a profiler: selected_prefill_interpolation/raw_data.npz (or
// prefill_raw_data.json) with prefill_isl and prefill_ttft in ms, selected_decode_interpolation/raw_data.npz (or
// decode_raw_data.json) with x_kv_usage (a share of the pool), y_context_length, z_itl in ms and max_kv_tokens.
//
// As in the reference, each half is fitted by least squares, prefill over tokens, decode over (requests, KV tokens),
// and the fit is laid out on grids of 100 points (spec engine-core §6.3). A fit that falls with tokens is an error; one
// that falls with requests loses that slope.
func ReadResults(fsys fs.FS) (*Profile, error) {
	prefill, err := readSamples(fsys, "selected_prefill_interpolation/raw_data.npz", "prefill_raw_data.json",
		"prefill_isl", "prefill_ttft")
	if err != nil {
		return nil, err
	}
	decode, err := readSamples(fsys, "selected_decode_interpolation/raw_data.npz", "decode_raw_data.json",
		"x_kv_usage", "y_context_length", "z_itl", "max_kv_tokens")
	if err != nil {
		return nil, err
	}
	var a Arrays
	if err := convertPrefill(prefill, &a); err != nil {
		return nil, err
	}
	if err := convertDecode(decode, &a); err != nil {
		return nil, err
	}
	p, err := New(a)
	if err != nil {
		return nil, err
	}
	p.origin = "profiler results directory"
	return p, nil
}

// convertPrefill fits seconds over whole tokens; measurements of zero time count for the range only.
func convertPrefill(s samples, a *Arrays) error {
	var x, t []float64
	isl := s["prefill_isl"]
	for i := range isl {
		isl[i] = math.Trunc(isl[i])
		if ms := s["prefill_ttft"][i]; ms != 0 {
			x, t = append(x, isl[i]), append(t, ms/1000)
		}
	}
	if len(x) == 0 {
		return errors.New("array prefill_ttft: no measurement above zero")
	}
	fit := fitLine(x, t)
	if err := checkSlope("prefill", "tokens", fit.a); err != nil {
		return err
	}
	a.PrefillISL = linspace(slices.Min(isl), slices.Max(isl))
	a.PrefillTTFT = make([]float64, gridPoints)
	for i, tokens := range a.PrefillISL {
		a.PrefillTTFT[i] = fit.at(tokens, 0) * 1000
	}
	return nil
}

// convertDecode fits seconds over (requests, KV tokens) and lays the fit out over (KV tokens, context).
func convertDecode(s samples, a *Arrays) error {
	pool := math.Trunc(s["max_kv_tokens"][0])
	var n, kv, t []float64
	var maxKV, maxContext float64
	for i, share := range s["x_kv_usage"] {
		tokens, requests := math.RoundToEven(share*pool), 1.0
		if context := s["y_context_length"][i]; context > 0 {
			requests = max(1, math.RoundToEven(tokens/context))
		}
		maxKV, maxContext = max(maxKV, tokens), max(maxContext, tokens/requests)
		if ms := s["z_itl"][i]; ms != 0 {
			n, kv, t = append(n, requests), append(kv, tokens), append(t, ms/1000)
		}
	}
	if len(n) == 0 {
		return errors.New("array z_itl: no measurement above zero")
	}
	fit := fitPlane(n, kv, t)
	if err := checkSlope("decode", "KV tokens", fit.b); err != nil {
		return err
	}
	if fit.a < -1e-6 {
		fit.a = 0
	}
	a.DecodeKV, a.DecodeContext = linspace(0, maxKV), linspace(1, maxContext)
	a.DecodeITL = make([]float64, 0, gridPoints*gridPoints)
	for _, tokens := range a.DecodeKV {
		for _, context := range a.DecodeContext {
			a.DecodeITL = append(a.DecodeITL, fit.at(max(1, tokens/context), tokens)*1000)
		}
	}
	return nil
}

// readSamples reads the named columns from the npz file, or from the JSON file if there is none. The last name may be
// max_kv_tokens, a single number.
func readSamples(fsys fs.FS, npz, fallback string, names ...string) (samples, error) {
	name, read := npz, readNPZSamples
	raw, err := readBounded(fsys, npz)
	if errors.Is(err, fs.ErrNotExist) {
		name, read = fallback, readJSONSamples
		raw, err = readBounded(fsys, fallback)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("not a profiler results directory: neither %s nor %s", npz, fallback)
	}
	if err != nil {
		return nil, err
	}
	s, err := read(raw, names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, column := range names {
		want := len(s[names[0]])
		if column == "max_kv_tokens" {
			want = 1
		}
		if got := len(s[column]); got != want || got == 0 {
			return nil, fmt.Errorf("%s: array %s: %d values, %d expected", name, column, got, max(1, want))
		}
		for i, v := range s[column] {
			if !isTime(v) {
				return nil, fmt.Errorf("%s: array %s[%d] = %v: must be finite and not negative", name, column, i, v)
			}
		}
	}
	return s, nil
}

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxFile)
	}
	return raw, nil
}

func readNPZSamples(raw []byte, names []string) (samples, error) {
	arrays, err := readNPZ(bytes.NewReader(raw), int64(len(raw)), names...)
	if err != nil {
		return nil, err
	}
	s := samples{}
	for _, name := range names {
		if len(arrays[name].shape) != 1 {
			return nil, fmt.Errorf("array %s: shape %v, one dimension expected", name, arrays[name].shape)
		}
		s[name] = arrays[name].data
	}
	return s, nil
}

func readJSONSamples(raw []byte, names []string) (samples, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	s := samples{}
	for _, name := range names {
		var column []float64
		var number float64
		switch {
		case fields[name] == nil:
			return nil, fmt.Errorf("array %s: missing", name)
		case name == "max_kv_tokens" && json.Unmarshal(fields[name], &number) == nil:
			column = []float64{number}
		default:
			if err := json.Unmarshal(fields[name], &column); err != nil {
				return nil, fmt.Errorf("array %s: %w", name, err)
			}
		}
		s[name] = column
	}
	return s, nil
}

// linspace is gridPoints evenly spaced values from lo to hi, both included exactly.
func linspace(lo, hi float64) []float64 {
	v := make([]float64, gridPoints)
	step := (hi - lo) / (gridPoints - 1)
	for i := range v {
		v[i] = float64(float64(i)*step) + lo
	}
	v[gridPoints-1] = hi
	return v
}
