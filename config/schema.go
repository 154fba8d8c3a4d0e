package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	yamlv3 "go.yaml.in/yaml/v3"
)

func rangeTag(f Field) string {
	return reflect.TypeFor[Config]().FieldByIndex(f.index).Tag.Get("jsonschema")
}

// Schema returns the JSON schema (draft 2020-12) of a settings file, with the defaults in it.
func Schema() ([]byte, error) {
	r := jsonschema.Reflector{
		FieldNameTag: "koanf", RequiredFromJSONSchemaTags: true, DoNotReference: true, Anonymous: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[time.Duration]() {
				return &jsonschema.Schema{Type: "string", Pattern: `^[0-9.]+(ns|us|ms|s|m|h)`}
			}
			return nil
		},
	}
	s := r.Reflect(&Config{})
	s.Title = "fakellm settings"
	d := Default()
	for _, f := range Fields() {
		p, ok := s.Properties.Get(f.Key)
		if !ok {
			return nil, fmt.Errorf("setting %s is missing in its own schema", f.Key)
		}
		p.Default = plain(f.Value(&d))
	}
	out, err := json.MarshalIndent(s, "", "  ")
	return append(out, '\n'), err
}

// Print writes every setting of c as YAML in the order of declaration, each under its help.
func Print(c *Config) string {
	var b strings.Builder
	section := ""
	for _, f := range Fields() {
		if f.Section != section {
			section = f.Section
			fmt.Fprintf(&b, "# %s\n", strings.ToLower(section))
		}
		value := plain(f.Value(c))
		if (f.Key == "api_key" && len(c.APIKey) > 0) || (f.Key == "control_token" && c.ControlToken != "") {
			fmt.Fprintf(&b, "# %s: set, and not printed\n", f.Key)
			continue
		}
		v, err := yamlv3.Marshal(map[string]any{f.Key: value})
		if err != nil {
			panic(fmt.Sprintf("config: %s does not print: %v", f.Key, err)) // only plain types are declared
		}
		b.Write(v)
	}
	return b.String()
}

// Table renders the settings as a Markdown table, for the README.
func Table() string {
	var b strings.Builder
	d := Default()
	b.WriteString("| setting (`--flag`) | default | what it does |\n| --- | --- | --- |\n")
	for _, f := range Fields() {
		help := f.Help
		if len(f.Enum) > 0 {
			help += ": `" + strings.Join(f.Enum, "`, `") + "`"
		}
		v := fmt.Sprint(plain(f.Value(&d)))
		if v == "" || v == "[]" {
			v = " "
		} else {
			v = "`" + v + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Flag(), v, help)
	}
	return b.String()
}

func plain(v any) any {
	switch x := v.(type) {
	case time.Duration:
		return x.String()
	case []string:
		if x == nil {
			return []string{}
		}
	}
	return v
}
