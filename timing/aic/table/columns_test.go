package table

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/internal/fixture"
)

var columns = []Column{
	{Name: "name"},
	{Name: "m", Kind: Int},
	{Name: "latency", Kind: Float},
	{Name: "ok", Kind: Bool, Optional: true},
	{Name: "later", Kind: Int, Optional: true},
}

func sample(t testing.TB, latency float64) []byte {
	t.Helper()
	data, err := fixture.Parquet([]string{"name", "m", "latency", "ok"}, [][]any{
		{"a", int64(1), 0.5, true}, {"b", int64(-2), latency, false}, {"a", int64(3), 2.5, true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDecodeColumns reads what was written.
func TestDecodeColumns(t *testing.T) {
	f, err := DecodeColumns("x", sample(t, 1.5), columns)
	if err != nil {
		t.Fatal(err)
	}
	name := f.Text("name")
	if f.Rows != 3 || name.At(0) != "a" || name.At(1) != "b" || name.At(2) != "a" || len(name.Values) != 2 {
		t.Errorf("texts %v of %d rows", name, f.Rows)
	}
	if m := f.Ints("m"); m[0] != 1 || m[1] != -2 || m[2] != 3 {
		t.Errorf("integers %v", m)
	}
	if v := f.Floats("latency"); v[1] != 1.5 {
		t.Errorf("reals %v", v)
	}
	if ok := f.Bools("ok"); !ok[0] || ok[1] {
		t.Errorf("booleans %v", ok)
	}
	if f.Ints("later") != nil || f.Text("absent").At(1) != "" {
		t.Error("absent columns are not empty")
	}
}

// TestDecodeRefuses names file and column for every kind of damage.
func TestDecodeRefuses(t *testing.T) {
	good := sample(t, 1.5)
	rows := []struct {
		why  string
		data []byte
		cols []Column
		word string
	}{
		{"empty", nil, columns, "PAR1"},
		{"git-lfs pointer", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), columns, "PAR1"},
		{"truncated", good[:len(good)-20], columns, "truncated"},
		{"footer longer than the file", append(bytes.Clone(good[:len(good)-8]), 0xff, 0xff, 0xff, 0x7f, 'P', 'A', 'R', '1'), columns, "footer"},
		{"absent column", good, []Column{{Name: "n", Kind: Int}}, "column n"},
		{"wrong type", good, []Column{{Name: "latency", Kind: Int}}, "column latency"},
		{"not a number", sample(t, math.NaN()), columns, "column latency"},
		{"infinite", sample(t, math.Inf(1)), columns, "column latency"},
	}
	for _, r := range rows {
		_, err := DecodeColumns("some/file.parquet", r.data, r.cols)
		if fault.Of(err) != fault.BadData || !strings.Contains(err.Error(), r.word) || !strings.Contains(err.Error(), "some/file") {
			t.Errorf("%s: %v, want bad_data naming the file and %q", r.why, err, r.word)
		}
	}
}

// TestReadBounded refuses files beyond the bound instead of reading them.
func TestReadBounded(t *testing.T) {
	fsys := fstest.MapFS{"big": &fstest.MapFile{Data: make([]byte, 1000)}}
	if _, err := ReadBounded(fsys, "big", 999); fault.Of(err) != fault.BadData {
		t.Errorf("got %v", err)
	}
	if data, err := ReadBounded(fsys, "big", 1000); err != nil || len(data) != 1000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// FuzzDecodeColumns must never panic, nor return columns of another length than it says.
func FuzzDecodeColumns(f *testing.F) {
	good := sample(f, 1.5)
	f.Add(good)
	for _, n := range []int{0, 4, 11, 12, 40, len(good) / 2, len(good) - 1} {
		f.Add(good[:n])
	}
	for i := 0; i < len(good); i += 7 {
		bent := bytes.Clone(good)
		bent[i] ^= 0x81
		f.Add(bent)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := DecodeColumns("fuzz", data, columns)
		if err != nil {
			if fault.Of(err) != fault.BadData {
				t.Fatalf("category of %v", err)
			}
			return
		}
		if len(frame.Ints("m")) != frame.Rows || len(frame.Floats("latency")) != frame.Rows || len(frame.Text("name").Rows) != frame.Rows {
			t.Fatalf("columns of other lengths than %d", frame.Rows)
		}
		for _, v := range frame.Floats("latency") {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("latency %v", v)
			}
		}
	})
}

// FuzzYAML reads every yaml file of a systems directory from the same bytes.
func FuzzYAML(f *testing.F) {
	f.Add([]byte(fixture.System))
	f.Add([]byte(fixture.Versions))
	f.Add([]byte("sglang: {'0.5.14': {90: fa3}}"))
	f.Add([]byte("groups: [{op_file: a, kernel_source: b, tier: shared, frameworks: [x]}]"))
	f.Add([]byte("a: &a [*a, *a]"))
	f.Add([]byte("version https://git-lfs.github.com/spec/v1"))
	f.Add([]byte("gpu: {mem_bw: .nan}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entry := &fstest.MapFile{Data: data}
		sys, err := LoadSystem(fstest.MapFS{"s.yaml": entry}, "s")
		if err == nil && (!(sys.GPU.MemBW > 0) || sys.Node.GPUs < 1) {
			t.Fatalf("accepted %+v", sys)
		}
		_, err = Open(fstest.MapFS{
			"query_versions.yaml": entry, "attention_lane_defaults.yaml": entry, "perf_data_reuse_manifest.yaml": entry,
		})
		if err != nil && fault.Of(err) != fault.BadData {
			t.Fatalf("category of %v", err)
		}
	})
}
