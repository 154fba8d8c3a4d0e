package profile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// npy is an array of doubles with a header of the caller's choice.
func npy(header string, values ...float64) []byte {
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	_ = binary.Write(&b, binary.LittleEndian, values)
	return b.Bytes()
}

func doubles(shape string, values ...float64) []byte {
	return npy(fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }\n", shape), values...)
}

// container is a valid profile with one entry replaced (nil: left out).
func container(t testing.TB, name string, entry []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range []struct {
		name string
		data []byte
	}{
		{nameISL, doubles("2,", 1, 2)},
		{nameTTFT, doubles("2,", 3, 4)},
		{nameKV, doubles("2,", 0, 9)},
		{nameContext, doubles("2,", 1, 5)},
		{nameITL, doubles("2, 2", 1, 2, 3, 4)},
	} {
		if e.name == name {
			e.data = entry
		}
		if e.data == nil {
			continue
		}
		w, err := z.Create(e.name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHostileArrays(t *testing.T) {
	if _, err := Read(bytes.NewReader(container(t, "", nil)), int64(len(container(t, "", nil)))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, want string
		name      string
		entry     []byte
	}{
		{"a missing array lists what there is", "array decode_itl: missing; the file holds prefill_isl", nameITL, nil},
		{"no header", "array prefill_isl: not an .npy array", nameISL, []byte("hello")},
		{"a future version", "array prefill_isl: .npy version 9", nameISL, []byte("\x93NUMPY\x09\x00\x00\x00")},
		{"a header cut short", "truncated in its header", nameISL, doubles("2,", 1, 2)[:30]},
		{"a header of 60 kB that is not there", "truncated in its header", nameISL, []byte("\x93NUMPY\x01\x00\xff\xf0")},
		{"a header of a gigabyte", "header of 1073741824 bytes", nameISL, []byte("\x93NUMPY\x02\x00\x00\x00\x00\x40")},
		{"data cut short", "shape [2] of type <f8: truncated: 8 of 16 bytes", nameISL, doubles("2,", 1)},
		{"data after the end", "more than the 16 bytes", nameISL, doubles("2,", 1, 2, 3)},
		{"strings", `type "<U8"`, nameISL, npy("{'descr': '<U8', 'fortran_order': False, 'shape': (2,), }")},
		{"big endian", `type ">f8"`, nameISL, npy("{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }", 1, 2)},
		{"records", `type "["`, nameISL, npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", 1, 2)},
		{"pickled objects", `type "|O"`, nameISL, npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }")},
		{"a scalar", "one or two dimensions", nameISL, doubles("", 1)},
		{"three dimensions", "one or two dimensions", nameITL, doubles("1, 2, 2", 1, 2, 3, 4)},
		{"a huge shape", "at most 2097152 elements", nameITL, doubles("1000000, 1000000")},
		{"a shape that overflows", "at most 2097152 elements", nameITL, doubles("99999999999999999999,")},
		{"no shape", "descr, fortran_order and shape expected", nameITL, npy("{'descr': '<f8'}")},
		{"a column where a row is due", "array prefill_isl: shape [2 1], one dimension", nameISL, doubles("2, 1", 1, 2)},
		{"a grid turned on its side", "array decode_itl: shape [1 4], but", nameITL, doubles("1, 4", 1, 2, 3, 4)},
		{"an empty axis", "axis prefill_isl: 0 points", nameISL, doubles("0,")},
	} {
		raw := container(t, c.name, c.entry)
		if _, err := Read(bytes.NewReader(raw), int64(len(raw))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}

func TestHostileFiles(t *testing.T) {
	whole := container(t, "", nil)
	for _, c := range []struct {
		why, want string
		raw       []byte
	}{
		{"an empty file", "not an .npz", nil},
		{"text", "not an .npz", []byte("prefill_isl,prefill_ttft_ms\n")},
		{"one array", "a single .npy array", doubles("2,", 1, 2)},
		{"a git-lfs pointer", "git lfs pull", []byte("version https://git-lfs.github.com/spec/v1\nsize 12345\n")},
		{"a truncated container", "not a readable .npz", whole[:len(whole)-30]},
	} {
		path := filepath.Join(t.TempDir(), "perf.npz")
		if err := os.WriteFile(path, c.raw, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q and the path", c.why, err, c.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "absent.npz")); err == nil {
		t.Error("an absent file must be an error")
	}
	if _, err := Read(bytes.NewReader(whole), maxFile+1); err == nil {
		t.Error("a file beyond the limit must be an error")
	}
}

func TestArrayStoredTwice(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for range 2 {
		w, err := z.Create(nameISL + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(doubles("2,", 1, 2))
	}
	_ = z.Close()
	_, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err == nil || !strings.Contains(err.Error(), "array prefill_isl: stored twice") {
		t.Errorf("error %v, want that the array is stored twice", err)
	}
}

// TestBomb reads a container whose entry expands to 4 GB; only the bytes that its header announces may be touched.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(nameISL + ".npy")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(doubles("4,", 1, 2, 3, 4))
	if _, err := io.CopyN(w, zeros{}, 64<<20); err != nil {
		t.Fatal(err)
	}
	_ = z.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "more than the 32 bytes") {
		t.Errorf("error %v, want the excess", err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes allocated for 64 MB of excess", grown)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func FuzzRead(f *testing.F) {
	f.Add(container(f, "", nil))
	f.Add(container(f, nameITL, doubles("3000, 3000", 1)))
	for _, name := range []string{"grid", "mixed", "fortran", "reference"} {
		raw, err := os.ReadFile("testdata/" + name + ".npz")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Read(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		_ = p.Inspect()
		for _, v := range p.Arrays().DecodeITL {
			if !isTime(v) {
				t.Fatalf("a time of %v was accepted", v)
			}
		}
	})
}

func FuzzNPY(f *testing.F) {
	f.Add(doubles("2,", 1, 2))
	f.Add(doubles("2, 1", 1, 2))
	f.Add(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }", 1, 2))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := readNPY(bytes.NewReader(raw))
		if err == nil && len(a.data) > len(raw) {
			t.Fatalf("%d elements out of %d bytes", len(a.data), len(raw))
		}
	})
}
