package table

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fakellm/timing/aic/fault"
)

// slotPair is what query_versions.yaml says of one backend; "" is an empty slot.
type slotPair struct {
	Current  string `yaml:"current"`
	Previous string `yaml:"previous"`
}

// Slots is SYS/query_versions.yaml: which backend versions may be asked for (spec aic-timing §1.1). The zero value, of
// an absent file, has no slots.
type Slots struct {
	Defaults  map[string]slotPair            `yaml:"defaults"`
	Overrides map[string]map[string]slotPair `yaml:"overrides"`
}

// loadSlots reads query_versions.yaml; an absent file gives no slots.
func loadSlots(fsys fs.FS) (Slots, error) {
	var s Slots
	if err := readYAML(fsys, "query_versions.yaml", &s); err != nil && !isAbsent(err) {
		return Slots{}, err
	}
	return s, nil
}

// Accepted are the versions that may be asked for: the slots of one system and backend.
type Accepted struct {
	// Current, Previous and Next are "" when the slot is empty; all three are when there are no slots at all.
	Current, Previous, Next string
}

// list names the non-empty slots for messages.
func (a Accepted) list() string {
	var out []string
	for _, s := range []struct{ name, version string }{
		{"current", a.Current}, {"next", a.Next}, {"previous", a.Previous},
	} {
		if s.version != "" {
			out = append(out, fmt.Sprintf("%s (%s)", s.version, s.name))
		}
	}
	return strings.Join(out, ", ")
}

// AcceptedVersions returns the slots of a system and backend. The cost is a listing of every system's directories.
func (st *Store) AcceptedVersions(ix *Index, backend string) (Accepted, error) {
	pair, overridden := st.slots.Overrides[ix.System.Name][backend]
	if !overridden {
		pair = st.slots.Defaults[backend]
	}
	if pair == (slotPair{}) || len(ix.Versions(backend)) == 0 {
		return Accepted{}, nil
	}
	out := Accepted{Current: pair.Current, Previous: pair.Previous}
	if overridden {
		return out, nil
	}
	newest, err := st.newest(backend)
	if err != nil {
		return Accepted{}, err
	}
	if newest != "" && slices.Compare(slotRank(newest), slotRank(pair.Current)) > 0 {
		out.Next = newest
	}
	return out, nil
}

// newest is the highest version of a backend with at least one data file, over all systems without overrides.
func (st *Store) newest(backend string) (string, error) {
	names, err := st.Systems()
	if err != nil {
		return "", err
	}
	best := ""
	for _, name := range names {
		if _, ok := st.slots.Overrides[name]; ok {
			continue
		}
		sys, err := LoadSystem(st.fsys, name)
		if err != nil {
			continue // one unusable system does not decide over the others
		}
		ix, err := st.Index(sys)
		if err != nil {
			return "", err
		}
		for _, v := range ix.Versions(backend) {
			if ix.hasData(backend, v) && (best == "" || slices.Compare(slotRank(v), slotRank(best)) > 0) {
				best = v
			}
		}
	}
	return best, nil
}

// ResolveVersion turns a request ("" or an alias or a literal) into a version. Without slots an alias is refused, a
// literal passes unchecked and "" means the newest directory.
func (st *Store) ResolveVersion(ix *Index, backend, request string) (string, error) {
	acc, err := st.AcceptedVersions(ix, backend)
	if err != nil {
		return "", err
	}
	alias := request == "current" || request == "previous" || request == "next"
	if acc == (Accepted{}) {
		switch {
		case alias:
			return "", fault.New(fault.UnlistedVersion, "backend version %q: system %s has no version slots for %s",
				request, ix.System.Name, backend)
		case request != "":
			return request, nil
		}
		versions := ix.Versions(backend)
		if len(versions) == 0 {
			return "", fault.New(fault.MissingTable,
				"system %s has no tables of backend %s; give a backend version and mode SOL",
				ix.System.Name, backend)
		}
		return slices.MaxFunc(versions, func(a, b string) int { return slices.Compare(slotRank(a), slotRank(b)) }), nil
	}
	slot := request
	var version string
	switch request {
	case "", "current":
		slot, version = "current", acc.Current
	case "previous":
		version = acc.Previous
	case "next":
		version = acc.Next
	default:
		if request == acc.Current || request == acc.Previous || request == acc.Next {
			return request, nil
		}
		return "", fault.New(fault.UnlistedVersion, "backend version %q of %s on %s is not queryable, accepted: %s",
			request, backend, ix.System.Name, acc.list())
	}
	if version == "" {
		return "", fault.New(fault.UnlistedVersion, "%s has no %s version on %s, accepted: %s",
			backend, slot, ix.System.Name, acc.list())
	}
	return version, nil
}

// Systems lists the names of the system files, sorted.
func (st *Store) Systems() ([]string, error) {
	entries, err := fs.ReadDir(st.fsys, ".")
	if err != nil {
		return nil, fault.New(fault.BadData, "systems directory: %v", err)
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if path.Ext(name) != ".yaml" || e.IsDir() {
			continue
		}
		switch name {
		case "query_versions.yaml", "attention_lane_defaults.yaml", "perf_data_reuse_manifest.yaml":
			continue
		}
		out = append(out, strings.TrimSuffix(name, ".yaml"))
	}
	return out, nil
}
