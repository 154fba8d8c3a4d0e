package script

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnknownMapping is returned for an id that no mapping has.
var ErrUnknownMapping = errors.New("no such mapping")

// Mappings returns a copy of the mappings in file order.
func (b *Book) Mappings() []Mapping { return slices.Clone(b.mappings) }

// Len is the number of mappings. O(1).
func (b *Book) Len() int { return len(b.mappings) }

// Mapping returns the mapping with an id. O(mappings).
func (b *Book) Mapping(id string) (Mapping, error) {
	if i := b.index(id); i >= 0 {
		return b.mappings[i], nil
	}
	return Mapping{}, fmt.Errorf("%w: id %q", ErrUnknownMapping, id)
}

func (b *Book) index(id string) int {
	return slices.IndexFunc(b.mappings, func(m Mapping) bool { return m.ID == id })
}

// Add returns a Book in which m is tried before all others of its priority, as WireMock does with what comes later. The
// mapping as it was added, with its id, comes back too.
func (b *Book) Add(m Mapping) (*Book, Mapping, error) {
	if m.ID == "" {
		list := append(b.Mappings(), m)
		nameAll(list)
		m = list[len(list)-1]
	} else if b.index(m.ID) >= 0 {
		return nil, m, fmt.Errorf("id: %q is taken", m.ID)
	}
	out, err := build(append([]Mapping{m}, b.mappings...), only)
	return out, m, err
}

// Replace returns a Book in which m stands in the place of the mapping with id.
func (b *Book) Replace(id string, m Mapping) (*Book, error) {
	i := b.index(id)
	if i < 0 {
		return nil, fmt.Errorf("%w: id %q", ErrUnknownMapping, id)
	}
	if m.ID != "" && m.ID != id {
		return nil, fmt.Errorf("id: %q in the body is not %q of the path", m.ID, id)
	}
	m.ID = id
	list := b.Mappings()
	list[i] = m
	return build(list, only)
}

// Remove returns a Book without the mapping with id.
func (b *Book) Remove(id string) (*Book, error) {
	i := b.index(id)
	if i < 0 {
		return nil, fmt.Errorf("%w: id %q", ErrUnknownMapping, id)
	}
	return build(slices.Delete(b.Mappings(), i, i+1), only)
}

// Import returns a Book with the mappings of a file added, as WireMock's import does: a mapping whose id is taken
// overwrites (or is ignored, by importOptions.duplicatePolicy), and with deleteAllNotInImport only the file's remain.
func (b *Book) Import(name string, data []byte) (*Book, error) {
	list, _, opts, err := parseFile(name, data)
	if err != nil {
		return nil, err
	}
	policy := opts.DuplicatePolicy
	if policy != "" && policy != "OVERWRITE" && policy != "IGNORE" {
		return nil, fmt.Errorf("%s: importOptions.duplicatePolicy: %q is none of OVERWRITE, IGNORE", name, policy)
	}
	merged := b.Mappings()
	if opts.DeleteAllNotInImport {
		merged = slices.DeleteFunc(merged, func(m Mapping) bool {
			return !slices.ContainsFunc(list, func(n Mapping) bool { return n.ID == m.ID })
		})
	}
	var fresh []Mapping
	for _, m := range list {
		i := slices.IndexFunc(merged, func(n Mapping) bool { return n.ID == m.ID })
		switch {
		case m.ID == "" || i < 0:
			fresh = append(fresh, m)
		case policy != "IGNORE":
			merged[i] = m
		}
	}
	return build(append(fresh, merged...), func(i int) string { return fmt.Sprintf("%s: mappings[%d]", name, i) })
}

// only names the one mapping that an edit is about; the others have been checked before.
func only(int) string { return "mapping" }

// ParseMapping reads one mapping, YAML or JSON, for the control routes.
func ParseMapping(name string, data []byte) (Mapping, error) {
	root, err := parseTree(name, data)
	if err != nil {
		return Mapping{}, err
	}
	if root == nil {
		return Mapping{}, fmt.Errorf("%s: empty, a mapping is expected", name)
	}
	d := newDecoder(name)
	var m Mapping
	d.fill(root, &m, "", 0)
	return m, d.err()
}

// ToJSON writes all mappings in WireMock's shape: {"mappings":[…],"meta":{"total":n}}. Parse reads it back.
func (b *Book) ToJSON() ([]byte, error) {
	type meta struct {
		Total int `json:"total"`
	}
	list := b.mappings
	if list == nil {
		list = []Mapping{}
	}
	return marshal(struct {
		Mappings []Mapping `json:"mappings"`
		Meta     meta      `json:"meta"`
	}{list, meta{len(list)}})
}

// MappingJSON writes one mapping as ToJSON does.
func MappingJSON(m Mapping) ([]byte, error) { return marshal(m) }

// FaultRef is a fault that an answer names.
type FaultRef struct {
	// Where names the mapping and the answer.
	Where, Fault string
}

// Faults lists every fault that answers name, for the caller to check against package fault.
func (b *Book) Faults() []FaultRef {
	var out []FaultRef
	for _, r := range b.rules {
		for i := range r.answers {
			if f := r.answers[i].src.Fault; f != "" {
				out = append(out, FaultRef{Where: fmt.Sprintf("mapping %s, answer %d", r.label(), i), Fault: f})
			}
		}
	}
	return out
}

// Scenarios lists the states that mappings name, by scenario, each list in order of first mention after Started.
func (b *Book) Scenarios() []Scenario {
	var out []Scenario
	for i := range b.mappings {
		m := &b.mappings[i]
		if m.ScenarioName == "" {
			continue
		}
		at := slices.IndexFunc(out, func(s Scenario) bool { return s.Name == m.ScenarioName })
		if at < 0 {
			at = len(out)
			out = append(out, Scenario{Name: m.ScenarioName, States: []string{Started}})
		}
		for _, st := range []string{m.RequiredScenarioState, m.NewScenarioState} {
			if st != "" && !slices.Contains(out[at].States, st) {
				out[at].States = append(out[at].States, st)
			}
		}
	}
	return out
}

// Scenario is a state machine that mappings name.
type Scenario struct {
	Name   string   `json:"name"`
	States []string `json:"possibleStates"`
}
