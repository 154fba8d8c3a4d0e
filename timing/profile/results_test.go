package profile

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

// TestConvertedDirectory compares with numpy's least squares (testdata/make.py).
func TestConvertedDirectory(t *testing.T) {
	for _, dir := range []string{"results", "results-json"} {
		a := load1(t, "testdata/"+dir).Arrays()
		for _, r := range rows(t, "testdata/converted.csv") {
			i, j := int(r[0]), int(r[4])
			for _, c := range []struct {
				name      string
				got, want float64
			}{
				{nameISL, a.PrefillISL[i], r[1]},
				{nameTTFT, a.PrefillTTFT[i], r[2]},
				{nameKV, a.DecodeKV[i], r[3]},
				{nameContext, a.DecodeContext[j], r[5]},
				{nameITL, a.DecodeITL[i*gridPoints+j], r[6]},
			} {
				if math.Abs(c.got-c.want) > 1e-9*math.Abs(c.want) {
					t.Errorf("%s: %s at (%d, %d) = %v, want %v", dir, c.name, i, j, c.got, c.want)
				}
			}
		}
	}
}

const (
	goodPrefill = `{"prefill_isl":[100,200,300],"prefill_ttft":[1,2,3]}`
	goodDecode  = `{"x_kv_usage":[0.1,0.5,0.9],"y_context_length":[10,10,90],"z_itl":[4,5,6],"max_kv_tokens":[1000]}`
)

func directory(prefill, decode string) fstest.MapFS {
	return fstest.MapFS{
		"prefill_raw_data.json": {Data: []byte(prefill)},
		"decode_raw_data.json":  {Data: []byte(decode)},
	}
}

func TestResultsRefuse(t *testing.T) {
	if _, err := ReadResults(directory(goodPrefill, goodDecode)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ why, want, prefill, decode string }{
		{"no JSON", "prefill_raw_data.json: ", `{`, goodDecode},
		{"a missing column", "array prefill_ttft: missing", `{"prefill_isl":[1]}`, goodDecode},
		{"columns of unequal length", "ttft: 1 values, 2 expected", `{"prefill_isl":[1,2],"prefill_ttft":[1]}`, goodDecode},
		{"no rows", "array prefill_isl: 0 values", `{"prefill_isl":[],"prefill_ttft":[]}`, goodDecode},
		{"a wrong type", "array prefill_isl: json", `{"prefill_isl":["a"],"prefill_ttft":[1]}`, goodDecode},
		{"a negative time", "array prefill_ttft[1] = -2", `{"prefill_isl":[1,2],"prefill_ttft":[1,-2]}`, goodDecode},
		{"only zeros", "no measurement above zero", `{"prefill_isl":[1,2],"prefill_ttft":[0,0]}`, goodDecode},
		{"longer prompts are faster", "time falls with tokens", `{"prefill_isl":[1,2],"prefill_ttft":[2,1]}`, goodDecode},
		{"one length has no range", "axis prefill_isl[1]", `{"prefill_isl":[5,5],"prefill_ttft":[2,1]}`, goodDecode},
		{
			"more KV is faster", "the fitted time falls with KV tokens", goodPrefill,
			strings.Replace(goodDecode, "[4,5,6]", "[6,5,1]", 1),
		},
	} {
		if _, err := ReadResults(directory(c.prefill, c.decode)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
	_, err := ReadResults(fstest.MapFS{})
	if err == nil || !strings.Contains(err.Error(), "not a profiler results directory") {
		t.Errorf("an empty directory: %v", err)
	}
}

// TestFitPlane recovers planes from exact points, also when one axis does not vary or both are proportional.
func TestFitPlane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slope := rapid.Float64Range(0, 1)
		want := plane{slope.Draw(t, "c"), slope.Draw(t, "a"), slope.Draw(t, "b")}
		kind := rapid.SampledFrom([]string{"free", "x fixed", "y fixed", "proportional"}).Draw(t, "kind")
		var x, y, v []float64
		for i := range 12 {
			px, py := float64(i%4+1), float64(i*i+3)
			switch kind {
			case "x fixed":
				px = 2
			case "y fixed":
				py = 7
			case "proportional":
				py = 3 * px
			}
			x, y, v = append(x, px), append(y, py), append(v, want.intercept+want.a*px+want.b*py)
		}
		got := fitPlane(x, y, v)
		for i := range x {
			if math.Abs(got.at(x[i], y[i])-max(minPredicted, v[i])) > 1e-9 {
				t.Fatalf("%s: plane %+v gives %v at (%v, %v), want %v", kind, got, got.at(x[i], y[i]), x[i], y[i], v[i])
			}
		}
	})
}

func FuzzResultsJSON(f *testing.F) {
	f.Add(goodPrefill, goodDecode)
	f.Add(`{"prefill_isl":null}`, goodDecode)
	f.Add(goodPrefill, `{"x_kv_usage":[1e308],"y_context_length":[0],"z_itl":[1e308],"max_kv_tokens":1e308}`)
	f.Fuzz(func(_ *testing.T, prefill, decode string) {
		_, _ = ReadResults(directory(prefill, decode))
	})
}
