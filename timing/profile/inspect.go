package profile

import "slices"

// Axis describes one axis of a grid.
type Axis struct {
	// Name is the name of the array in the file.
	Name string `json:"name"`
	// Points is their number, Min and Max their range in tokens.
	Points int     `json:"points"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// Gap is the largest step between neighbours, in tokens: where interpolation has to bridge most.
	Gap float64 `json:"largest_gap"`
	// Values are the points themselves.
	Values []float64 `json:"values"`
}

// Summary describes a profile: its grids, what they cover and what looks odd.
type Summary struct {
	// Origin says what the profile was read from.
	Origin string `json:"origin"`
	// PrefillISL, DecodeKV and DecodeContext are the axes.
	PrefillISL    Axis `json:"prefill_isl"`
	DecodeKV      Axis `json:"decode_active_kv_tokens"`
	DecodeContext Axis `json:"decode_context_length"`
	// PrefillMS and DecodeMS are the smallest and largest time in milliseconds.
	PrefillMS [2]float64 `json:"prefill_ms"`
	DecodeMS  [2]float64 `json:"decode_ms"`
	// PrefillFalls and DecodeFalls count neighbours whose time falls although there is more work: noise, or a defect.
	PrefillFalls int `json:"prefill_falls"`
	DecodeFalls  int `json:"decode_falls"`
	// BelowFloor counts decode points below the floor of 1 ms, which are raised to it.
	BelowFloor int `json:"decode_below_floor"`
}

// Inspect describes the profile. O(points).
func (p *Profile) Inspect() Summary {
	a := &p.arrays
	s := Summary{
		Origin:        p.origin,
		PrefillISL:    describe(nameISL, a.PrefillISL),
		DecodeKV:      describe(nameKV, a.DecodeKV),
		DecodeContext: describe(nameContext, a.DecodeContext),
		PrefillMS:     [2]float64{slices.Min(a.PrefillTTFT), slices.Max(a.PrefillTTFT)},
		DecodeMS:      [2]float64{slices.Min(a.DecodeITL), slices.Max(a.DecodeITL)},
	}
	for i := 1; i < len(a.PrefillTTFT); i++ {
		if a.PrefillTTFT[i] < a.PrefillTTFT[i-1] {
			s.PrefillFalls++
		}
	}
	columns := len(a.DecodeContext)
	for i, v := range a.DecodeITL {
		if i >= columns && v < a.DecodeITL[i-columns] {
			s.DecodeFalls++
		}
		if v < minDecodeMS {
			s.BelowFloor++
		}
	}
	return s
}

// Arrays returns the arrays of the profile; the caller must not change them.
func (p *Profile) Arrays() Arrays { return p.arrays }

func describe(name string, points []float64) Axis {
	axis := Axis{Name: name, Points: len(points), Min: points[0], Max: points[len(points)-1], Values: points}
	for i := 1; i < len(points); i++ {
		axis.Gap = max(axis.Gap, points[i]-points[i-1])
	}
	return axis
}
