package openai

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// encoding/json matches member names without regard to case, real services do not: MAX_TOKENS is an unknown member. The
// walk here looks at every name that a request is decoded by before it is decoded, finds the first unknown one for the
// strict policy, and takes names that are known but for their case out of the decoder's sight.

// shape is what may stand in a place of a request: an object with these members, or a list of such objects. A nil shape
// is a place that is free, as metadata and JSON schemas are; scalars are nobody's business here.
type shape struct {
	members map[string]*shape
	// names are the members, sorted.
	names []string
}

// rawShapes are the types that raw members are decoded into later.
func rawShapes(t reflect.Type, member string) reflect.Type {
	switch t {
	case reflect.TypeFor[chatBody]():
		return map[string]reflect.Type{
			"messages": reflect.TypeFor[messageBody](), "tools": reflect.TypeFor[toolBody](),
			"tool_choice": reflect.TypeFor[choiceBody](), "function_call": reflect.TypeFor[nameBody](),
			"audio": reflect.TypeFor[audioBody](), simMember: reflect.TypeFor[simBody](),
			"web_search_options": reflect.TypeFor[searchBody](), "structured_outputs": reflect.TypeFor[structuredBody](),
		}[member]
	case reflect.TypeFor[completionBody]():
		return map[string]reflect.Type{
			simMember: reflect.TypeFor[simBody](), "structured_outputs": reflect.TypeFor[structuredBody](),
			"response_format": reflect.TypeFor[responseFormat](),
		}[member]
	case reflect.TypeFor[messageBody]():
		return map[string]reflect.Type{"content": reflect.TypeFor[partBody](), "audio": reflect.TypeFor[spokenBody]()}[member]
	case reflect.TypeFor[prediction]():
		return map[string]reflect.Type{"content": reflect.TypeFor[partBody]()}[member]
	case reflect.TypeFor[audioBody]():
		return map[string]reflect.Type{"voice": reflect.TypeFor[idBody]()}[member]
	}
	return nil
}

// accepted are members that have no effect and so stand in no struct (spec openai-endpoint R2, §3.5), and those that
// clients send back as they got them in an answer, or as OpenAI's SDKs parsed it.
func accepted(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[messageBody]():
		return []string{"annotations", "parsed"}
	case reflect.TypeFor[callBody]():
		return []string{"index"}
	case reflect.TypeFor[functionBody]():
		return []string{"parsed_arguments"}
	case reflect.TypeFor[spokenBody]():
		return []string{"data", "transcript", "expires_at"}
	case reflect.TypeFor[partBody]():
		return []string{"prompt_cache_breakpoint"}
	case reflect.TypeFor[nvext]():
		return []string{
			"greed_sampling", "use_raw_prompt", "annotations", "backend_instance_id", "token_data", "max_thinking_tokens",
			"extra_fields", "prefill_worker_id", "decode_worker_id", "agent_hints",
		}
	}
	return nil
}

// shapeOf reads the shape of a struct, or of pointers and lists of it; nil for anything else.
func shapeOf(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	s := &shape{members: map[string]*shape{}}
	depth := map[string]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		// As in encoding/json the shallowest field of a name counts.
		if d, ok := depth[name]; ok && d <= len(f.Index) {
			continue
		}
		depth[name] = len(f.Index)
		child := f.Type
		if raw := rawShapes(t, name); raw != nil {
			child = raw
		}
		s.members[name] = shapeOf(child)
	}
	for _, name := range accepted(t) {
		s.members[name] = nil
	}
	for name := range s.members {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	return s
}

var (
	chatShape       = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[chatBody]()) })
	completionShape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[completionBody]()) })
	updateShape     = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[updateBody]()) })
)

// looksLike says whether a name is a member but for its case, as encoding/json folds it. O(members).
func (s *shape) looksLike(name string) bool {
	return slices.ContainsFunc(s.names, func(n string) bool { return strings.EqualFold(n, name) })
}

// decode parses a body into v, a pointer to the struct that s is the shape of. The strict policy refuses unknown members.
func (c checker) decode(body []byte, v any, s *shape, maxDepth int) error {
	exact, unknown, found := exactNames(body, s)
	if err := decodeBody(exact, v, maxDepth); err != nil {
		return err
	}
	if !found || c.policy != PolicyStrict {
		return nil
	}
	const code = "unknown_parameter"
	switch {
	case strings.HasPrefix(unknown, simMember+"."):
		return unknownWish(unknown)
	case strings.ContainsAny(unknown, ".["):
		return badRequest(clip(unknown), code, "unknown parameter: '%s'", clip(unknown))
	default:
		return badRequest(clip(unknown), code, "Unrecognized request argument supplied: %s", clip(unknown))
	}
}

// walk is one look at the names of a body. What is no valid JSON ends it early: the decoder says what is wrong with it.
type walk struct {
	// body is what came, out what shall be decoded: body itself unless a name had to be hidden.
	body, out []byte
	at        int
	// path leads to the place that is looked at; unknown to the first member that is not known, in the order of the body.
	path    []byte
	unknown string
	found   bool
}

// exactNames looks at the names of a body. It returns what to decode, of the same length, and the path of the first
// unknown member if there is one. O(len(body)), with one small allocation when every name is known.
func exactNames(body []byte, s *shape) (out []byte, unknown string, found bool) {
	w := walk{body: body, out: body, path: make([]byte, 0, 64)}
	w.value(s)
	return w.out, w.unknown, w.found
}

// value passes one value. It reports false where the text ends or is broken.
func (w *walk) value(s *shape) bool {
	switch c := w.next(); {
	case c == '{' && s != nil:
		return w.object(s)
	case c == '[' && s != nil:
		return w.list(s)
	case c == 0:
		return false
	default:
		return w.skip()
	}
}

// next is the next byte that is no blank, 0 at the end. It stays there.
func (w *walk) next() byte {
	for ; w.at < len(w.body); w.at++ {
		switch c := w.body[w.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take passes the byte c.
func (w *walk) take(c byte) bool {
	if w.next() != c {
		return false
	}
	w.at++
	return true
}

func (w *walk) object(s *shape) bool {
	w.at++
	for first := true; !w.take('}'); first = false {
		if !first && !w.take(',') || w.next() != '"' {
			return false
		}
		from := w.at + 1
		if !w.text() {
			return false
		}
		to := w.at - 1
		name, ok := plainName(w.body[from:to])
		if !ok || !w.take(':') {
			return false
		}
		child, known := s.members[string(name)]
		if !known {
			w.stranger(s, string(name), from, to)
		}
		back := len(w.path)
		if child != nil {
			if back > 0 {
				w.path = append(w.path, '.')
			}
			w.path = append(w.path, name...)
		}
		if !w.value(child) {
			return false
		}
		w.path = w.path[:back]
	}
	return true
}

// plainName is a name without its escapes.
func plainName(raw []byte) ([]byte, bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	var name string
	quoted := append(append([]byte{'"'}, raw...), '"')
	err := json.Unmarshal(quoted, &name)
	return []byte(name), err == nil
}

// stranger notes a member that is not known, and hides its name, which stands from there to there, if the decoder would
// take it for one that is known. A hidden name keeps its length, so that positions in messages still hold.
func (w *walk) stranger(s *shape, name string, from, to int) {
	if !w.found {
		w.found = true
		w.unknown = joinPath(string(w.path), name)
	}
	if !s.looksLike(name) {
		return
	}
	if &w.out[0] == &w.body[0] {
		w.out = bytes.Clone(w.body)
	}
	copy(w.out[from:to], bytes.Repeat([]byte{'_'}, to-from))
}

func (w *walk) list(s *shape) bool {
	w.at++
	back := len(w.path)
	for i := 0; !w.take(']'); i++ {
		if i > 0 && !w.take(',') {
			return false
		}
		w.path = append(strconv.AppendInt(append(w.path[:back], '['), int64(i), 10), ']')
		if w.next() != '{' {
			if !w.skip() {
				return false
			}
		} else if !w.object(s) {
			return false
		}
	}
	w.path = w.path[:back]
	return true
}

// text passes a string.
func (w *walk) text() bool {
	for from := w.at + 1; ; {
		end := bytes.IndexByte(w.body[from:], '"')
		if end < 0 {
			return false
		}
		end += from
		slashes := 0
		for i := end - 1; i > w.at && w.body[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			w.at = end + 1
			return true
		}
		from = end + 1
	}
}

// skip passes any value without looking into it.
func (w *walk) skip() bool {
	for depth := 0; w.at < len(w.body); {
		switch w.body[w.at] {
		case '"':
			if !w.text() {
				return false
			}
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			depth--
			w.at++
		default:
			w.scalar(depth)
		}
		if depth <= 0 {
			return depth == 0
		}
	}
	return false
}

// scalar passes what stands between brackets and strings; outside of brackets a comma ends it.
func (w *walk) scalar(depth int) {
	for ; w.at < len(w.body); w.at++ {
		switch w.body[w.at] {
		case '"', '{', '[', '}', ']':
			return
		case ',':
			if depth == 0 {
				return
			}
		}
	}
}
