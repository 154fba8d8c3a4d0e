package table

import (
	"path"
	"slices"
	"strings"

	"fakellm/timing/aic/fault"
)

// Source is one file that rows of a table may come from.
type Source struct {
	Path string
	// Primary is set for the file of the asked version itself.
	Primary bool
	// Kernels limits the rows to these kernel sources; nil takes every row.
	Kernels []string
}

// reuseFile is a version directory's reuse.yaml: which tables may borrow rows from which version.
type reuseFile struct {
	Reuse []struct {
		Table      string `yaml:"table"`
		From       string `yaml:"from_version"`
		Reason     string `yaml:"reason"`
		ApprovedBy string `yaml:"approved_by"`
	} `yaml:"reuse"`
}

// Sources lists the files of a table in the order in which their rows win (spec aic-timing §2.2): the version's own,
// the donors of its reuse.yaml, earlier versions of the same backend, other backends with declared kernels. Without
// shared only the first remains. An absent file is left out.
func (st *Store) Sources(ix *Index, backend, version, name string, shared bool) ([]Source, error) {
	file := name + ".parquet"
	var out []Source
	own, family, ok := ix.locate(backend, version, file)
	if ok {
		out = append(out, Source{Path: own, Primary: true})
	}
	if !shared {
		return out, nil
	}
	if family == "" {
		family = ix.familyOf(file)
	}
	seen := []string{version}
	add := func(donor string) {
		if slices.Contains(seen, donor) {
			return
		}
		seen = append(seen, donor)
		if p, _, ok := ix.locate(backend, donor, file); ok {
			out = append(out, Source{Path: p})
		}
	}
	if family != "comm" {
		donors, err := st.reuse(ix, backend, version, name)
		if err != nil {
			return nil, err
		}
		for _, d := range donors {
			add(d)
		}
	}
	for _, v := range ix.earlier(backend, version) {
		add(v)
	}
	if family != "comm" {
		out = append(out, st.borrowed(ix, backend, file)...)
	}
	return out, nil
}

// familyOf returns the family that holds a file for any backend and version, or "".
func (ix *Index) familyOf(file string) string {
	for _, family := range ix.families {
		for _, versions := range ix.dirs[family] {
			for _, files := range versions {
				if slices.Contains(files, file) {
					return family
				}
			}
		}
	}
	return ""
}

// earlier lists the versions of a backend before the given one, nearest first; names that are no versions are skipped.
func (ix *Index) earlier(backend, version string) []string {
	limit, ok := ParseVersion(version)
	if !ok {
		return nil
	}
	return newestFirst(ix.Versions(backend), func(v Version) bool { return v.Compare(limit) < 0 })
}

// newestFirst sorts the parseable names that keep accepts, highest first.
func newestFirst(names []string, keep func(Version) bool) []string {
	type parsed struct {
		name    string
		version Version
	}
	var out []parsed
	for _, n := range names {
		if v, ok := ParseVersion(n); ok && keep(v) {
			out = append(out, parsed{n, v})
		}
	}
	slices.SortStableFunc(out, func(a, b parsed) int { return b.version.Compare(a.version) })
	list := make([]string, len(out))
	for i, p := range out {
		list[i] = p.name
	}
	return list
}

// reuse lists the donors that the version directories declare for a table, in file order.
func (st *Store) reuse(ix *Index, backend, version, name string) ([]string, error) {
	var out []string
	for _, family := range ix.families {
		if !slices.Contains(ix.dirs[family][backend][version], "reuse.yaml") {
			continue
		}
		file := path.Join(path.Clean(ix.System.DataDir), family, backend, version, "reuse.yaml")
		var r reuseFile
		if err := readYAML(st.fsys, file, &r); err != nil {
			return nil, err
		}
		for i, e := range r.Reuse {
			for _, field := range []string{e.Table, e.From, e.Reason, e.ApprovedBy} {
				if strings.TrimSpace(field) == "" {
					return nil, fault.New(fault.BadData, "%s: reuse[%d] lacks table, from_version, reason or approved_by", file, i)
				}
			}
			if e.Table == name {
				out = append(out, e.From)
			}
		}
	}
	return out, nil
}

// borrowed lists the files of other backends whose declared kernels may stand in, newest version first per backend.
func (st *Store) borrowed(ix *Index, backend, file string) []Source {
	var out []Source
	for _, other := range ix.Backends() {
		if other == backend {
			continue
		}
		kernels := st.manifest.kernels(file, backend, other)
		if len(kernels) == 0 {
			continue
		}
		for _, v := range newestFirst(ix.Versions(other), func(Version) bool { return true }) {
			if p, _, ok := ix.locate(other, v, file); ok {
				out = append(out, Source{Path: p, Kernels: kernels})
			}
		}
	}
	return out
}

// Fixed returns the one source of a table that lies in a fixed directory below the system's data, such as the NCCL
// table.
func (ix *Index) Fixed(backend, version, name string) []Source {
	if p, _, ok := ix.locate(backend, version, name+".parquet"); ok {
		return []Source{{Path: p, Primary: true}}
	}
	return nil
}
