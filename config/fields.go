package config

import (
	"reflect"
	"strings"
)

// EnvPrefix starts the name of every environment variable.
const EnvPrefix = "FAKELLM_"

// Field describes one setting.
type Field struct {
	// Section is the Go section it lives in ("Engine"), Key its name in files (snake case).
	Section, Key string
	// Help says what it does, in one line.
	Help string
	// Enum are the allowed values; nil for any.
	Enum  []string
	index []int
	typ   reflect.Type
}

// Flag returns the name of its flag, without dashes in front.
func (f Field) Flag() string { return strings.ReplaceAll(f.Key, "_", "-") }

// Env returns the name of its environment variable.
func (f Field) Env() string { return EnvPrefix + strings.ToUpper(f.Key) }

// Fields lists every setting in the order of declaration. It walks the type once per call: O(settings).
func Fields() []Field {
	var out []Field
	root := reflect.TypeFor[Config]()
	for i := range root.NumField() {
		section := root.Field(i)
		if !section.Anonymous {
			continue // Origin is no setting
		}
		for j := range section.Type.NumField() {
			f := section.Type.Field(j)
			out = append(out, Field{
				Section: section.Name, Key: f.Tag.Get("koanf"), Help: f.Tag.Get("jsonschema_description"),
				Enum: enum(f.Tag.Get("jsonschema")), index: []int{i, j}, typ: f.Type,
			})
		}
	}
	return out
}

// Sections lists the fields of the named sections.
func Sections(names ...string) []Field {
	var out []Field
	for _, f := range Fields() {
		for _, n := range names {
			if f.Section == n {
				out = append(out, f)
			}
		}
	}
	return out
}

// Value returns the setting's value in c.
func (f Field) Value(c *Config) any {
	return reflect.ValueOf(c).Elem().FieldByIndex(f.index).Interface()
}

func enum(tag string) []string {
	var out []string
	for part := range strings.SplitSeq(tag, ",") {
		if v, ok := strings.CutPrefix(part, "enum="); ok {
			out = append(out, v)
		}
	}
	return out
}
