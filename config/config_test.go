package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// sample returns three values of a field that differ from its default and from each other, as texts.
func sample(f Field) [3]string {
	if len(f.Enum) > 0 {
		d := Default()
		var others []string
		for _, e := range f.Enum {
			if e != f.Value(&d) {
				others = append(others, e)
			}
		}
		return [3]string{others[0], others[len(others)/2], others[len(others)-1]}
	}
	switch {
	case f.typ == reflect.TypeFor[time.Duration]():
		return [3]string{"1s", "2s", "3s"}
	case f.typ.Kind() == reflect.Bool:
		d := Default()
		on := fmt.Sprint(f.Value(&d) == false)
		off := fmt.Sprint(f.Value(&d) == true)
		return [3]string{on, off, on}
	case f.typ.Kind() == reflect.Int || f.typ.Kind() == reflect.Uint64:
		return [3]string{"3", "4", "5"}
	case f.typ.Kind() == reflect.Float64:
		return [3]string{"0.5", "0.25", "0.75"}
	}
	return [3]string{"a", "b", "c"}
}

func TestPrecedencePerKey(t *testing.T) {
	for _, f := range Fields() {
		t.Run(f.Key, func(t *testing.T) {
			v := sample(f)
			path := filepath.Join(t.TempDir(), "fakellm.yaml")
			if err := os.WriteFile(path, fmt.Appendf(nil, "%s: %s\n", f.Key, v[0]), 0o600); err != nil {
				t.Fatal(err)
			}
			env := []string{f.Env() + "=" + v[1]}
			flags := pflag.NewFlagSet("t", pflag.ContinueOnError)
			AddFlags(flags, Fields())
			if err := flags.Parse([]string{"--" + f.Flag() + "=" + v[2]}); err != nil {
				t.Fatal(err)
			}
			unset := pflag.NewFlagSet("t", pflag.ContinueOnError)
			AddFlags(unset, Fields())
			for _, row := range []struct {
				why  string
				src  Source
				want string
			}{
				{"the file beats the default", Source{File: path, Flags: unset}, v[0]},
				{"the environment beats the file", Source{File: path, Environ: env, Flags: unset}, v[1]},
				{"a flag beats the environment", Source{File: path, Environ: env, Flags: flags}, v[2]},
			} {
				c, err := Load(row.src)
				if err != nil {
					t.Fatalf("%s: %v", row.why, err)
				}
				want, err := f.parse(row.want)
				if err != nil {
					t.Fatal(err)
				}
				if got := f.Value(&c); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: got %v, want %v", row.why, got, want)
				}
			}
		})
	}
}

func TestDefaultsLoadUnchanged(t *testing.T) {
	c, err := Load(Source{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), c); diff != "" {
		t.Error(diff)
	}
}

func TestBadSettings(t *testing.T) {
	for _, row := range []struct {
		why, file string
		env       []string
		args      []string
		want      string
	}{
		{"a typing error is named with its line and neighbour", "port: 1\nmax_num_seq: 3\n", nil, nil, `fakellm.yaml:2: unknown setting "max_num_seq" (did you mean "max_num_seqs"?)`},
		{"a text where a number belongs", "port: eighty\n", nil, nil, `fakellm.yaml:1: port: "eighty" is not a whole number`},
		{"a fraction is not rounded", "port: 80.5\n", nil, nil, `port: 80.5 is not a whole number`},
		{"out of range", "port: 70000\n", nil, nil, `fakellm.yaml:1: port: 70000 is above 65535`},
		{"a ratio of zero", "speedup_ratio: 0\n", nil, nil, `speedup_ratio: 0 is not above 0`},
		{"not in the list", "backend: tgi\n", nil, nil, `backend: "tgi" is none of vllm, sglang, trtllm`},
		{"the same key in two spellings", "max_num_seqs: 1\nmax-num-seqs: 2\n", nil, nil, `max_num_seqs is set twice`},
		{"a list is no mapping", "- a\n", nil, nil, `fakellm.yaml`},
		{"nested settings do not exist", "engine:\n  port: 3\n", nil, nil, `fakellm.yaml:1: unknown setting "engine"`},
		{"a bad variable is named", "", []string{"FAKELLM_MAX_NUM_SEQS=-1"}, nil, `environment FAKELLM_MAX_NUM_SEQS: max_num_seqs: -1 is below 0`},
		{"an unknown variable is refused", "", []string{"FAKELLM_PROT=1"}, nil, `environment FAKELLM_PROT: unknown setting "prot"`},
		{"a bad flag is named", "", nil, []string{"--log-level=loud"}, `flag --log-level: log_level: "loud" is none of`},
		{"a key twice in JSON, which YAML's parser reads as well", "{\"port\": 1, \"port\": 2}", nil, nil, `port is set twice`},
		{"a second document would be ignored", "port: 1\n---\nport: 2\n", nil, nil, `a second document`},
		{"a second document is named like any other", "port: 1\n---\nport: 2\n", nil, nil, `fakellm.yaml:2: a second document`},
		{"a list is named with its line", "\n- a\n", nil, nil, `fakellm.yaml:2: settings must be a mapping`},
		{"a key twice is named with its line", "port: 1\nport: 2\n", nil, nil, `fakellm.yaml:2: port is set twice, first in line 1`},
		{"the parser leaves out the first line", "a: b: c\n", nil, nil, `fakellm.yaml:1: mapping values are not allowed`},
		{"a line of the scanner", "port: 1\nhost: a\na: b: c\n", nil, nil, `fakellm.yaml:3: mapping values are not allowed`},
		{"a line that the parser counts from 0", "port: 1\n- a\n", nil, nil, `fakellm.yaml:2: did not find expected key`},
		{"an open list is named where it begins", "port: 1\napi_key: [a, b\nhost: x\n", nil, nil, `fakellm.yaml:2: did not find expected ','`},
		{"an alias that the parser does not place", "port: 1\nhost: *here\n", nil, nil, `fakellm.yaml:2: unknown anchor 'here'`},
		{"a control character", "port: 1\nhost: a\x01\n", nil, nil, `fakellm.yaml:2: control characters`},
		{"a nested key twice", "port: 1\nx: {a: 1, a: 2}\n", nil, nil, `fakellm.yaml:2: mapping key "a" already defined`},
		{"null where zero means something else", "port: null\n", nil, nil, `port: null is not a value`},
		{"more workers than any machine holds", "num_workers: 1000000\n", nil, nil, `num_workers: 1000000 is above 10000`},
		{"more than fits", "tpm: 99999999999999999999\n", nil, nil, `fakellm.yaml:1: tpm: 1e+20 is too large, at most 9223372036854775807`},
		{"a variable with more than fits", "", []string{"FAKELLM_TPM=99999999999999999999"}, nil, `tpm: "99999999999999999999" is too large`},
		{"less than fits", "", []string{"FAKELLM_TPM=-99999999999999999999"}, nil, `tpm: "-99999999999999999999" is too small`},
		{"not a number", "decode_ms: .nan\n", nil, nil, `not a finite number`},
	} {
		t.Run(row.why, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "fakellm.yaml")
			if err := os.WriteFile(path, []byte(row.file), 0o600); err != nil {
				t.Fatal(err)
			}
			flags := pflag.NewFlagSet("t", pflag.ContinueOnError)
			AddFlags(flags, Fields())
			if err := flags.Parse(row.args); err != nil {
				t.Fatal(err)
			}
			_, err := Load(Source{File: path, Environ: row.env, Flags: flags})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want it to say %s", err, row.want)
			}
		})
	}
}

// TestJSONSyntax: a JSON file is read as JSON after YAML has given the positions.
func TestJSONSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"{\"port\": 1,\n \"host\": }":      "x.json:2: invalid character '}'",
		"{\"port\": 1,\n\n \"host\": 'a'}": "x.json:3: invalid character",
		"{\"port\": 1,\n":                  "x.json:2: did not find expected",
		"{\"host\": 'a' 'b'}":              "x.json:1: did not find expected",
	} {
		if _, _, err := ParseFile("x.json", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestLocate: a problem that a room found is told with where the setting was given that it begins with.
func TestLocate(t *testing.T) {
	c := Default()
	if err := errors.New("gpu x: unknown"); !errors.Is(c.Locate(err), err) || c.Locate(nil) != nil {
		t.Error("without origins nothing changes")
	}
	c.Origin = Origin{"gpu": "x.yaml:3", "block_size": "flag --block-size", "model": "x.yaml:9"}
	cause := errors.New("gpu \"h999\": unknown")
	got := c.Locate(errors.Join(
		errors.Join(cause, errors.New("chunked_prefill_size 8192: must be a multiple of block_size")),
		nil,
		fmt.Errorf("trace: gpu %w", errors.Join(errors.New("a"), errors.New("b"))),
		errors.New("acceptance_rates: the model has none"),
		errors.New("block_size: 0"),
	))
	const want = "x.yaml:3: gpu \"h999\": unknown\n" + // begins with a given setting
		"flag --block-size: chunked_prefill_size 8192: must be a multiple of block_size\n" + // begins with one left alone
		"trace: gpu a\nb\n" + // begins with no setting, and is no list although it wraps one
		"acceptance_rates: the model has none\n" + // a word of a sentence is no setting
		"flag --block-size: block_size: 0"
	if got.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !errors.Is(got, cause) {
		t.Error("what went wrong can no longer be asked for")
	}
	before := c
	c.GPU = "a100"
	c.Override(&before, "flag --x")
	if c.Origin["gpu"] != "flag --x" || before.Origin["gpu"] != "x.yaml:3" {
		t.Errorf("%v after %v", c.Origin, before.Origin)
	}
}

func TestEveryProblemIsReported(t *testing.T) {
	_, err := Load(Source{Environ: []string{"FAKELLM_PORT=abc", "FAKELLM_OUTPUT_MEAN=0", "FAKELLM_BACKEND=x"}})
	for _, want := range []string{"FAKELLM_PORT", "FAKELLM_OUTPUT_MEAN", "FAKELLM_BACKEND"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

func TestServiceVariablesAreNotSettings(t *testing.T) {
	env := []string{"FAKELLM_PORT=tcp://10.0.0.1:80", "FAKELLM_SERVICE_HOST=10.0.0.1", "FAKELLM_PORT_80_TCP=tcp://10.0.0.1:80"}
	c, err := Load(Source{Environ: env})
	if err != nil || c.Port != 8000 {
		t.Errorf("port %d, error %v: variables that an orchestrator invents must be ignored", c.Port, err)
	}
}

func TestDashesJSONAndNull(t *testing.T) {
	values, _, err := ParseFile("x.json", []byte(`{"max-num-seqs": null, "api_key": ["a", "b"]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, _, errs := coerce(values, map[string]string{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := map[string]any{"max_num_seqs": 0, "api_key": []string{"a", "b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoFlagSwitchesOff(t *testing.T) {
	flags := pflag.NewFlagSet("t", pflag.ContinueOnError)
	AddFlags(flags, Fields())
	if err := flags.Parse([]string{"--no-enable-prefix-caching"}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Source{Flags: flags})
	if err != nil || c.EnablePrefixCaching {
		t.Errorf("still on (error %v)", err)
	}
}

func TestAliasesNameRealFlags(t *testing.T) {
	flags := pflag.NewFlagSet("t", pflag.ContinueOnError)
	AddFlags(flags, Fields())
	for alias, to := range aliases() {
		if f := flags.Lookup(alias); f == nil || f.Name != to {
			t.Errorf("--%s does not lead to --%s", alias, to)
		}
	}
}

func TestPrintLoadsBack(t *testing.T) {
	c := Default()
	c.Port, c.Host = 81, "::1"
	path := filepath.Join(t.TempDir(), "printed.yaml")
	if err := os.WriteFile(path, []byte(Print(&c)), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(Source{File: path})
	if err != nil {
		t.Fatal(err)
	}
	// An empty list prints as [].
	got.ServedModelName, got.APIKey, got.Mappings, got.Limit = c.ServedModelName, c.APIKey, c.Mappings, c.Limit
	got.Origin = nil
	if diff := cmp.Diff(c, got); diff != "" {
		t.Error(diff)
	}
	c.APIKey = []string{"secret"}
	if strings.Contains(Print(&c), "secret") {
		t.Error("a printed config shows its keys")
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Fields() {
		if f.Help == "" || f.Key == "" || !strings.Contains(string(schema), fmt.Sprintf("%q", f.Key)) {
			t.Errorf("%s.%s lacks a key, a help or its place in the schema", f.Section, f.Key)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte("port: 3\n"), false)
	f.Add([]byte(`{"port": 1e400}`), true)
	f.Add([]byte("a: &x [*x]\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, asJSON bool) {
		path := map[bool]string{false: "x.yaml", true: "x.json"}[asJSON]
		values, from, err := ParseFile(path, data)
		if err == nil {
			coerce(values, from)
		}
	})
}

// TestOthers: what depends on a bad value is not told, everything else is.
func TestOthers(t *testing.T) {
	c, err := Load(Source{Environ: []string{"FAKELLM_NUM_SPECULATIVE_TOKENS=9", "FAKELLM_BACKEND=x", "FAKELLM_PORT=a", "FAKELLM_DECODE_MS=-1"}})
	if err == nil || c.NumSpeculativeTokens != 5 || c.Backend != "vllm" || c.Port != 8000 || c.DecodeMS != 0 {
		t.Errorf("%v, and in their place %d %s %d %v", err, c.NumSpeculativeTokens, c.Backend, c.Port, c.DecodeMS)
	}
	got := c.Others(func(*Config) error {
		return errors.Join(errors.New("limit: b"), errors.New("acceptance_rates: set num_speculative_tokens"), errors.New("host: x"))
	})
	if got == nil || got.Error() != "limit: b\nhost: x" {
		t.Error(got)
	}
	c, err = Load(Source{File: "/nope", FileFrom: "flag --config"})
	if err == nil || !strings.HasPrefix(err.Error(), "flag --config: open /nope") {
		t.Error(err)
	}
	if got := c.Others(func(*Config) error { return errors.New("limit: b") }); got != nil {
		t.Errorf("%v is said of settings that could not be read", got)
	}
}
