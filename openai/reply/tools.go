package reply

import (
	"fmt"
	"slices"
	"strings"

	"fakellm/internal/rng"
	"fakellm/openai/reply/schema"
)

// Tool is a tool on offer.
type Tool struct {
	Name, Description string
	// Parameters is the JSON schema of the arguments; nil stands for no arguments.
	Parameters []byte
	// Custom tools take free text instead of arguments.
	Custom bool
}

// ToolChoice says which tools may or must be called. The zero value is auto.
type ToolChoice struct {
	// Mode is none, auto (or empty), required or named.
	Mode string
	// Name is the tool of mode named.
	Name string
	// Allowed restricts auto and required to these names; nil allows all.
	Allowed []string
}

// allows reports whether a tool of that name may be called at all.
func (c ToolChoice) allows(name string) bool {
	if c.Mode == ToolsNamed {
		return name == c.Name
	}
	return c.Mode != ToolsNone && (c.Allowed == nil || slices.Contains(c.Allowed, name))
}

// Modes of ToolChoice.
const (
	ToolsNone     = "none"
	ToolsAuto     = "auto"
	ToolsRequired = "required"
	ToolsNamed    = "named"
)

// maxParallel is the most calls in one answer.
const maxParallel = 3

// callable returns the tools to call, in order; none means to answer in text. With auto a tool is called unless the
// conversation already ends in enough rounds of results.
func (r *Request) callable(seed uint64, rounds int) []*Tool {
	c := r.Choice
	var options []*Tool
	for i := range r.Tools {
		t := &r.Tools[i]
		if c.allows(t.Name) {
			options = append(options, t)
		}
	}
	auto := c.Mode == "" || c.Mode == ToolsAuto
	if len(options) == 0 || auto && r.ToolRounds >= max(rounds, 1) {
		return nil
	}
	s := rng.SplitMix(seed + 2)
	// The tool whose words the user says comes first; those of equal rank in random order.
	words := map[string]bool{}
	for _, w := range wordsOf(r.User) {
		words[w] = true
	}
	rank := make(map[*Tool]uint64, len(options))
	for _, t := range options {
		rank[t] = uint64(t.shared(words))<<32 | s.Next()>>32
	}
	slices.SortStableFunc(options, func(a, b *Tool) int {
		switch {
		case rank[a] > rank[b]:
			return -1
		case rank[a] < rank[b]:
			return 1
		default:
			return 0
		}
	})
	n := 1
	if r.Parallel && c.Mode != ToolsNamed {
		for n < maxParallel && s.Next()%4 == 0 {
			n++
		}
	}
	calls := make([]*Tool, n)
	for i := range calls {
		calls[i] = options[i%len(options)]
	}
	return calls
}

// wordsOf lists the words of at least four letters, in lower case and without a plural s.
func wordsOf(text string) []string {
	var words []string
	const longest = 4096 // bytes looked at: what matters comes early
	for _, w := range strings.FieldsFunc(strings.ToLower(text[:min(len(text), longest)]), notLetter) {
		if len(w) >= 4 {
			words = append(words, strings.TrimSuffix(w, "s"))
		}
	}
	return words
}

func notLetter(r rune) bool { return r < 'a' || r > 'z' && r < 0x80 }

// shared counts the words of a tool that are among the given ones, those of its name threefold.
func (t *Tool) shared(words map[string]bool) int {
	n := 0
	for _, w := range wordsOf(t.Name) {
		if words[w] {
			n += 3
		}
	}
	for _, w := range wordsOf(t.Description) {
		if words[w] {
			n++
		}
	}
	return n
}

// call appends the i-th call of an answer.
func (b *builder) call(t *Tool, i uint64) error {
	part := Part{Kind: ToolCall, Name: t.Name, ID: callID(b.seed + 3 + i)}
	switch {
	case t.Custom:
		var words text
		b.p.filler.write(&words, b.seed+16+i, 12, 12)
		part.Text = string(words.text)
	case len(t.Parameters) == 0:
		part.Text = "{}"
	default:
		json, err := b.r.invent(t.Parameters, b.seed+16+i)
		if err != nil {
			return fmt.Errorf("parameters of %q: %w", t.Name, err)
		}
		part.Text = json
	}
	b.add(part)
	return nil
}

// invent makes JSON text that fits a schema.
func (r *Request) invent(raw []byte, seed uint64) (string, error) {
	compile := r.Compile
	if compile == nil {
		compile = schema.Compile
	}
	s, err := compile(raw)
	if err != nil {
		return "", err
	}
	json, err := s.Generate(seed)
	return string(json), err
}

// callID is the id of a tool call: call_ and 24 letters and digits.
func callID(seed uint64) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	id := []byte("call_")
	s := rng.SplitMix(rng.Mix(seed))
	for range 24 {
		id = append(id, alphabet[(s.Next()>>32)*uint64(len(alphabet))>>32])
	}
	return string(id)
}
