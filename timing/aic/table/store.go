// Package table reads the data of the AIConfigurator timing source from a file system: system descriptions, version
// slots, attention lanes, which files hold the rows of a table, and the columns of those files.
//
// It knows nothing of operators. Everything is read when asked for; a Store is immutable and safe for concurrent use.
// Start at Open, then Index, Sources and ReadColumns.
package table

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fakellm/timing/aic/fault"
)

// Store is a systems directory: *.yaml beside data/.
type Store struct {
	fsys     fs.FS
	slots    Slots
	lanes    Lanes
	manifest manifest
}

// Open reads the three yaml files that concern every system; each of them may be absent.
func Open(fsys fs.FS) (*Store, error) {
	slots, err := loadSlots(fsys)
	if err != nil {
		return nil, err
	}
	lanes, err := loadLanes(fsys)
	if err != nil {
		return nil, err
	}
	man, err := loadManifest(fsys)
	if err != nil {
		return nil, err
	}
	return &Store{fsys: fsys, slots: slots, lanes: lanes, manifest: man}, nil
}

// System reads the description of one system.
func (st *Store) System(name string) (*System, error) { return LoadSystem(st.fsys, name) }

// notFamilies are the first-level names of the older layout, which has no family level.
var notFamilies = []string{"trtllm", "sglang", "vllm", "nccl", "oneccl"}

// Index is what the data directory of one system holds: which files lie in which version directory. Immutable.
type Index struct {
	System *System
	// dirs maps family, backend, version to the file names there; the family "" is the older layout.
	dirs     map[string]map[string]map[string][]string
	families []string
}

// Index lists the data directory of a system; an absent one gives an empty index.
func (st *Store) Index(sys *System) (*Index, error) {
	ix := &Index{System: sys, dirs: map[string]map[string]map[string][]string{}}
	root := path.Clean(sys.DataDir)
	names, err := subdirs(st.fsys, root)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if slices.Contains(notFamilies, name) {
			if err := ix.addBackend(st.fsys, "", name, path.Join(root, name)); err != nil {
				return nil, err
			}
			continue
		}
		backends, err := subdirs(st.fsys, path.Join(root, name))
		if err != nil {
			return nil, err
		}
		for _, backend := range backends {
			if err := ix.addBackend(st.fsys, name, backend, path.Join(root, name, backend)); err != nil {
				return nil, err
			}
		}
	}
	for family := range ix.dirs {
		ix.families = append(ix.families, family)
	}
	slices.Sort(ix.families) // "" comes first; Locate looks there last
	return ix, nil
}

// addBackend lists the version directories of one backend in one family.
func (ix *Index) addBackend(fsys fs.FS, family, backend, dir string) error {
	versions, err := subdirs(fsys, dir)
	if err != nil {
		return err
	}
	for _, version := range versions {
		entries, err := fs.ReadDir(fsys, path.Join(dir, version))
		if err != nil {
			return fault.New(fault.BadData, "%s: %v", path.Join(dir, version), err)
		}
		var files []string
		for _, e := range entries {
			if !e.IsDir() {
				files = append(files, e.Name())
			}
		}
		if slices.Contains(files, "INCOMPLETE.txt") && !slices.Contains(files, "collection_meta.yaml") {
			continue
		}
		if ix.dirs[family] == nil {
			ix.dirs[family] = map[string]map[string][]string{}
		}
		if ix.dirs[family][backend] == nil {
			ix.dirs[family][backend] = map[string][]string{}
		}
		ix.dirs[family][backend][version] = files
	}
	return nil
}

// subdirs lists the directories in dir that do not begin with a dot, sorted; an absent dir has none.
func subdirs(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.BadData, "%s: %v", dir, err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// Versions lists the version directories of a backend over all families, sorted as text.
func (ix *Index) Versions(backend string) []string {
	var out []string
	for _, backends := range ix.dirs {
		for v := range backends[backend] {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Backends lists the serving backends that have a version directory, sorted.
func (ix *Index) Backends() []string {
	var out []string
	for _, backends := range ix.dirs {
		for b := range backends {
			if b != "nccl" && b != "oneccl" {
				out = append(out, b)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hasData reports whether any family holds a table of this backend and version.
func (ix *Index) hasData(backend, version string) bool {
	for _, backends := range ix.dirs {
		for _, file := range backends[backend][version] {
			if path.Ext(file) == ".parquet" {
				return true
			}
		}
	}
	return false
}

// locate returns the path and family of a file of a backend and version; ok is false when there is none.
func (ix *Index) locate(backend, version, file string) (full, family string, ok bool) {
	for i := range ix.families {
		family = ix.families[len(ix.families)-1-i]
		if slices.Contains(ix.dirs[family][backend][version], file) {
			return path.Join(path.Clean(ix.System.DataDir), family, backend, version, file), family, true
		}
	}
	return "", "", false
}

// Tables lists the tables that a backend and version hold, sorted by name, without the file extension.
func (ix *Index) Tables(backend, version string) []string {
	var out []string
	for _, backends := range ix.dirs {
		for _, file := range backends[backend][version] {
			if name, ok := strings.CutSuffix(file, ".parquet"); ok {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
