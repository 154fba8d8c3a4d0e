package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// fileRule is a Rule as a file writes it.
type fileRule struct {
	Name        string       `yaml:"name" json:"name,omitempty"`
	Route       string       `yaml:"route" json:"route,omitempty"`
	Model       string       `yaml:"model" json:"model,omitempty"`
	Key         string       `yaml:"key" json:"key,omitempty"`
	Session     string       `yaml:"session" json:"session,omitempty"`
	Stream      *bool        `yaml:"stream" json:"stream,omitempty"`
	MaxRetry    *int         `yaml:"max_retry" json:"max_retry,omitempty"`
	First       int          `yaml:"first" json:"first,omitempty"`
	Every       int          `yaml:"every" json:"every,omitempty"`
	PerSession  bool         `yaml:"per_session" json:"per_session,omitempty"`
	PerKey      bool         `yaml:"per_key" json:"per_key,omitempty"`
	Probability float64      `yaml:"probability" json:"probability,omitempty"`
	Windows     []fileWindow `yaml:"windows" json:"windows,omitempty"`
	Fault       string       `yaml:"fault" json:"fault"`
}

// fileWindow is a Window with spans such as "90s".
type fileWindow struct {
	From   string `yaml:"from" json:"from,omitempty"`
	To     string `yaml:"to" json:"to"`
	Period string `yaml:"period" json:"period,omitempty"`
}

// maxFile bounds a file of rules, in bytes, and maxRules their number.
const (
	maxFile  = 4 << 20
	maxRules = 10_000
)

// ParseRules reads rules from YAML or JSON:
//
//	faults:
//	  - name: warming up
//	    route: /v1/chat/*
//	    first: 2
//	    fault: status=503;retry-after=1
//
// Unknown keys are errors. The error joins every problem and names the file and the rule; rules are checked by NewSet.
func ParseRules(name string, data []byte) ([]Rule, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: %d bytes, at most %d are read", name, len(data), maxFile)
	}
	var in struct {
		Faults []*fileRule `yaml:"faults"`
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlProblems(name, err)
	}
	if len(in.Faults) > maxRules {
		return nil, fmt.Errorf("%s: %d rules, at most %d are read", name, len(in.Faults), maxRules)
	}
	var out []Rule
	var problems []error
	for i, f := range in.Faults {
		if f == nil {
			f = new(fileRule)
		}
		r, err := f.rule()
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: faults[%d]: %w", name, i, err))
		}
		out = append(out, r)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if _, err := NewSet(out); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

var (
	unknownKey = regexp.MustCompile(`field (\w+) not found in type [\w.]+`)
	wrongType  = regexp.MustCompile("cannot unmarshal !!(\\w+)( `[^`]*`)? into [\\w.\\[\\]*]+")
)

// yamlLine takes the position out of a message of the YAML parser; shifted are the messages that count lines from 0, where
// a first line is left out.
var (
	yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s).*)$`)
	shifted  = regexp.MustCompile(`^did not find expected (<document start>|node content|'-' indicator|key|',' or)`)
)

// yamlProblems says, line by line, what a decoder found wrong in the words of the file, not in those of Go.
func yamlProblems(name string, err error) error {
	texts := []string{err.Error()}
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = several.Errors
	}
	var all []error
	for _, text := range texts {
		m := yamlLine.FindStringSubmatch(text)
		line, _ := strconv.Atoi(m[1]) // the pattern has digits only, or nothing
		if shifted.MatchString(m[2]) {
			line++
		}
		why := unknownKey.ReplaceAllString(m[2], "unknown key $1 (known: name, route, model, key, session, stream, max_retry, "+
			"first, every, per_session, per_key, probability, windows, fault)")
		why = wrongType.ReplaceAllString(why, "a $1$2 stands where something else belongs")
		all = append(all, fmt.Errorf("%s:%d: %s", name, max(1, line), why))
	}
	return errors.Join(all...)
}

func (f *fileRule) rule() (Rule, error) {
	plan, err := Parse(f.Fault)
	problems := []error{err}
	if f.Fault == "" {
		problems = append(problems, errors.New("fault: missing"))
	}
	r := Rule{
		Name: f.Name, Route: f.Route, Model: f.Model, Key: f.Key, Session: f.Session, Stream: f.Stream, MaxRetry: f.MaxRetry,
		First: f.First, Every: f.Every, PerSession: f.PerSession, PerKey: f.PerKey, Probability: f.Probability, Plan: plan,
	}
	for i, w := range f.Windows {
		var out Window
		for _, part := range []struct {
			field, text string
			to          *time.Duration
		}{{"from", w.From, &out.From}, {"to", w.To, &out.To}, {"period", w.Period, &out.Period}} {
			if part.text == "" {
				continue
			}
			d, err := time.ParseDuration(part.text)
			if err != nil {
				problems = append(problems, fmt.Errorf("windows[%d].%s: %q is not a span such as 90s", i, part.field, part.text))
			}
			*part.to = d
		}
		r.Windows = append(r.Windows, out)
	}
	return r, errors.Join(problems...)
}

// FormatRules writes rules as JSON in the form that ParseRules reads.
func FormatRules(rules []Rule) ([]byte, error) {
	out := struct {
		Faults []fileRule `json:"faults"`
	}{[]fileRule{}}
	for i := range rules {
		r := &rules[i]
		f := fileRule{
			Name: r.Name, Route: r.Route, Model: r.Model, Key: r.Key, Session: r.Session, Stream: r.Stream, MaxRetry: r.MaxRetry,
			First: r.First, Every: r.Every, PerSession: r.PerSession, PerKey: r.PerKey, Probability: r.Probability,
			Fault: r.Plan.String(),
		}
		for _, w := range r.Windows {
			f.Windows = append(f.Windows, fileWindow{From: w.From.String(), To: w.To.String(), Period: w.Period.String()})
		}
		out.Faults = append(out.Faults, f)
	}
	return json.Marshal(out)
}
