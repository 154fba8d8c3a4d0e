package script

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Book is a set of mappings, compiled. It is immutable and safe for concurrent use; the zero value has no mapping.
type Book struct {
	// mappings in file order, rules in the order of trial.
	mappings []Mapping
	rules    []*rule
}

// rule is a compiled mapping.
type rule struct {
	Mapping
	cond    condition
	answers []answer
	// weight is the sum of the weights of all answers.
	weight float64
}

// MaxMappings bounds a Book.
const MaxMappings = 10_000

// Parse reads a file of mappings, YAML or JSON: an object with the key "mappings", or a list of mappings. Name is only
// for messages. It returns every problem (up to 20), each with file, line and path.
func Parse(name string, data []byte) (*Book, error) {
	list, lines, _, err := parseFile(name, data)
	if err != nil {
		return nil, err
	}
	return build(list, func(i int) string { return fmt.Sprintf("%s:%d: mappings[%d]", name, lines[i], i) })
}

// New makes a Book of mappings. It returns every problem.
func New(list []Mapping) (*Book, error) {
	return build(slices.Clone(list), func(i int) string { return fmt.Sprintf("mappings[%d]", i) })
}

// file is the outer object. Meta and importOptions are WireMock's.
type file struct {
	Mappings      []Mapping      `json:"mappings"`
	Meta          *Value         `json:"meta"`
	ImportOptions *importOptions `json:"importOptions"`
}

type importOptions struct {
	// DuplicatePolicy is OVERWRITE (the default) or IGNORE.
	DuplicatePolicy      string `json:"duplicatePolicy"`
	DeleteAllNotInImport bool   `json:"deleteAllNotInImport"`
}

// parseFile decodes mappings with the line of each.
func parseFile(name string, data []byte) (list []Mapping, lines []int, opts importOptions, err error) {
	root, err := parseTree(name, data)
	if err != nil || root == nil || isNull(root) {
		return nil, nil, opts, err
	}
	d := newDecoder(name)
	var f file
	if root.Kind == yaml.SequenceNode {
		root = &yaml.Node{Kind: yaml.MappingNode, Line: root.Line, Content: []*yaml.Node{
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "mappings", Line: root.Line}, root,
		}}
	}
	d.fill(root, &f, "", 0)
	if err := d.err(); err != nil {
		return nil, nil, opts, err
	}
	if f.ImportOptions != nil {
		opts = *f.ImportOptions
	}
	return f.Mappings, mappingLines(root, len(f.Mappings)), opts, nil
}

func mappingLines(root *yaml.Node, n int) []int {
	lines := make([]int, n)
	for i := 0; i+1 < len(root.Content); i += 2 {
		seq := root.Content[i+1]
		if seq.Kind == yaml.AliasNode {
			seq = seq.Alias
		}
		if root.Content[i].Value != "mappings" || seq.Kind != yaml.SequenceNode {
			continue
		}
		for j, m := range seq.Content {
			if j < n {
				lines[j] = m.Line
			}
		}
	}
	return lines
}

// build compiles mappings; where names one in messages. It fills missing ids in.
func build(list []Mapping, where func(i int) string) (*Book, error) {
	if len(list) > MaxMappings {
		return nil, fmt.Errorf("%d mappings, the limit is %d", len(list), MaxMappings)
	}
	b := &Book{mappings: list}
	nameAll(list)
	var errs []error
	seen := make(map[string]int, len(list))
	for i := range list {
		r, problems := compileRule(list[i])
		if first, ok := seen[list[i].ID]; ok {
			problems = append(problems, fmt.Errorf("id: %q is also that of mappings[%d]", list[i].ID, first))
		}
		seen[list[i].ID] = i
		for _, p := range problems {
			errs = append(errs, fmt.Errorf("%s: %w", where(i), p))
		}
		b.rules = append(b.rules, r)
		if len(errs) >= maxErrors {
			break
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.SortStableFunc(b.rules, func(x, y *rule) int { return cmp.Compare(x.priority(), y.priority()) })
	return b, nil
}

// nameAll gives ids to mappings that have none: m1, m2, … as far as they are free.
func nameAll(list []Mapping) {
	used := make(map[string]bool, len(list))
	for i := range list {
		used[list[i].ID] = true
	}
	next := 1
	for i := range list {
		for list[i].ID == "" {
			id := "m" + strconv.Itoa(next)
			next++
			if !used[id] {
				list[i].ID = id
			}
		}
	}
}

func (m *Mapping) priority() int { return cmp.Or(m.Priority, DefaultPriority) }

// label names a mapping for people.
func (m *Mapping) label() string {
	if m.Name == "" {
		return m.ID
	}
	return fmt.Sprintf("%s (%s)", m.ID, m.Name)
}

// compileRule prepares one mapping and returns every problem with its path.
func compileRule(m Mapping) (*rule, []error) {
	r := &rule{Mapping: m}
	var errs []error
	var problems []error
	if r.cond, problems = m.Request.compile(); len(problems) > 0 {
		for _, p := range problems {
			errs = append(errs, fmt.Errorf("request.%w", p))
		}
	}
	given := 0
	add := func(at string, list []Reply) {
		given++
		for i := range list {
			a, problems := list[i].compile()
			place := strings.ReplaceAll(at, "#", strconv.Itoa(i))
			for _, p := range problems {
				between := "."
				if _, whole := errors.AsType[replyError](p); whole {
					between = ": "
				}
				errs = append(errs, fmt.Errorf("%s%s%w", place, between, p))
			}
			r.answers = append(r.answers, a)
			r.weight += a.weight
		}
	}
	if m.Response != nil {
		add("response", []Reply{*m.Response})
	}
	if m.Responses != nil {
		add("responses[#]", m.Responses)
	}
	if m.Steps != nil {
		add("steps[#]", m.Steps)
	}
	if given != 1 || len(r.answers) == 0 {
		errs = append(errs, errors.New("give one of response, responses and steps, and at least one answer"))
	}
	return r, append(errs, r.check()...)
}

// check judges the words of a mapping.
func (r *rule) check() []error {
	var errs []error
	word := func(field, v string, known ...string) {
		if v != "" && !slices.Contains(known, v) {
			errs = append(errs, fmt.Errorf("%s: %q is none of %s", field, v, strings.Join(known, ", ")))
		}
	}
	word("choose", r.Choose, chooseSequence, chooseWeighted)
	word("exhausted", r.Exhausted, exhaustedRepeat, exhaustedError, exhaustedNext)
	word("scope", r.Scope, scopeSession, scopeGlobal)
	if r.Priority < 0 {
		errs = append(errs, fmt.Errorf("priority: %d is negative", r.Priority))
	}
	if r.Choose == chooseWeighted && (r.Responses == nil || r.weight <= 0) {
		errs = append(errs, errors.New("choose: weighted needs responses whose weights sum to more than 0"))
	}
	if r.ScenarioName == "" && (r.RequiredScenarioState != "" || r.NewScenarioState != "") {
		errs = append(errs, errors.New("scenarioName: missing beside requiredScenarioState or newScenarioState"))
	}
	repeats := r.Exhausted == "" || r.Exhausted == exhaustedRepeat
	if n := len(r.Steps); n > 0 && repeats && len(r.Steps[n-1].ToolCalls) > 0 {
		errs = append(errs, fmt.Errorf("steps[%d]: the last step calls tools, so the agent would never end; "+
			"add a step with text or set exhausted to error or next", n-1))
	}
	return errs
}
