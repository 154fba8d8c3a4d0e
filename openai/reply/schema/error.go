package schema

import "fmt"

// Error says which keyword of a schema cannot be served, and why.
type Error struct {
	// Path is the JSON pointer of the schema that has the keyword, Keyword its name.
	Path, Keyword string
	// Reason ends the sentence.
	Reason string
	// Unsatisfiable tells a schema without any value, or one none was found for, from one that is unsupported or
	// broken.
	Unsatisfiable bool
}

// Error names place, keyword and reason.
func (e *Error) Error() string {
	path := e.Path
	if path == "" {
		path = "/"
	}
	return fmt.Sprintf("schema at %s: %s: %s", path, e.Keyword, e.Reason)
}

func unsupported(o *object, keyword, format string, args ...any) *Error {
	return &Error{Path: pathOf(o), Keyword: keyword, Reason: fmt.Sprintf(format, args...)}
}

func impossible(o *object, keyword, format string, args ...any) *Error {
	e := unsupported(o, keyword, format, args...)
	e.Unsatisfiable = true
	return e
}

func pathOf(o *object) string {
	if o == nil {
		return ""
	}
	return o.path
}
