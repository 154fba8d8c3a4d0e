// Package schema invents JSON that fits a JSON Schema: the arguments of tool calls and the answers of structured
// output.
//
// Compile checks a schema and finds out how deep its values must be; Generate writes a value from a seed. A value is
// always validated by an independent validator before it is returned, so what comes back fits; what cannot be invented
// is an *Error that names the keyword. Generation always ends: deep in a value, only what the schema demands is made,
// by the shortest way.
//
// A *Schema never changes, and is safe for concurrent use. Everything is pure: equal schema and seed give equal text.
//
// Start reading at spec.go: a value is made from the conjunction of all schemas that apply to it, which flatten
// collects by following references and choosing among alternatives. Where that choice can be wrong (not, oneOf, if, …)
// the value is checked on the spot and made again. object.go, array.go, number.go and text.go make the values;
// pattern.go writes text for a regular expression, format.go for the formats.
//
// The dialect is draft 2020-12. Earlier drafts' definitions, dependencies, and items as a list are understood.
package schema
