package table

import (
	"io/fs"
	"slices"
)

// Lanes is SYS/attention_lane_defaults.yaml: backend, then version, then sm version, to the lane (a kernel source) that
// answers first. The per-architecture part of the file concerns families that are not built here.
type Lanes map[string]map[string]map[int]string

// loadLanes reads the file; an absent one gives no defaults.
func loadLanes(fsys fs.FS) (Lanes, error) {
	var raw map[string]map[string]any
	if err := readYAML(fsys, "attention_lane_defaults.yaml", &raw); err != nil {
		if isAbsent(err) {
			return nil, nil
		}
		return nil, err
	}
	lanes := Lanes{}
	for backend, versions := range raw {
		if backend == "architectures" {
			continue
		}
		lanes[backend] = map[string]map[int]string{}
		for version, sms := range versions {
			lanes[backend][version] = laneRow(sms)
		}
	}
	return lanes, nil
}

// laneRow reads one {sm: lane} map; entries of other types say nothing.
func laneRow(v any) map[int]string {
	out := map[int]string{}
	switch m := v.(type) {
	case map[any]any:
		for k, lane := range m {
			sm, okKey := k.(int)
			name, okLane := lane.(string)
			if okKey && okLane {
				out[sm] = name
			}
		}
	case map[string]any:
		for k, lane := range m {
			if name, ok := lane.(string); ok {
				out[number(k)] = name
			}
		}
	}
	return out
}

// Default returns the lane of the highest listed version that is not above the asked one, for an sm version. found is
// false when nothing is listed (spec aic-timing §5.4).
func (l Lanes) Default(backend, version string, sm int) (lane string, found bool) {
	want := leading(version)
	best := ""
	for v := range l[backend] {
		if slices.Compare(leading(v), want) > 0 {
			continue
		}
		if best == "" || slices.Compare(leading(v), leading(best)) > 0 {
			best = v
		}
	}
	if best == "" {
		return "", false
	}
	lane, found = l[backend][best][sm]
	return lane, found
}

// Lanes returns the lane defaults of the systems directory.
func (st *Store) Lanes() Lanes { return st.lanes }
