package datadir

import (
	"archive/zip"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"fakellm/timing/aic"
	"fakellm/timing/aic/internal/fixture"
)

// wheel writes the made-up tables as the reference's wheel lays them out.
func wheel(t *testing.T, fsys fs.FS) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aisimulate-0.0-py3-none-any.whl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		entry, err := w.Create("aisimulate_core/" + name)
		if err != nil {
			return err
		}
		_, err = entry.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOpen gives the same answer from a systems directory, its parent, an installed package and a wheel.
func TestOpen(t *testing.T) {
	fsys, err := fixture.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "aisimulate_core"), fsys); err != nil {
		t.Fatal(err)
	}
	core := filepath.Join(dir, "aisimulate_core")
	var first float64
	for i, path := range []string{filepath.Join(core, "systems"), core, dir, wheel(t, fsys)} {
		o, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := o.Model(aic.Config{Model: "toy/dense", System: "toy", Backend: "vllm"})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		ms, err := m.PrefillMS(2, 50, 10)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = ms
		}
		if ms != first || ms <= 0 {
			t.Errorf("%s: %v ms, want %v", path, ms, first)
		}
	}
}

// TestOpenRefuses names the path.
func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "not-a-wheel")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(t.TempDir(), "absent"), t.TempDir()} {
		if _, err := Open(path); err == nil {
			t.Errorf("%s opened", path)
		}
	}
}
