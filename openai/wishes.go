package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fakellm/openai/reply"
	"fakellm/openai/reply/script"
)

// Wishes is what a request tells the simulator about its own answer, by the members of "x_sim" in the body or by headers
// of the same name: output_tokens is x-sim-output-tokens. A header goes before the member. The zero value wishes nothing.
type Wishes struct {
	// Fault is a plan in the grammar of package fault.
	Fault string
	// OutputTokens is the exact length of the answer, in tokens, unless the client's own limit is lower; 0 for no wish.
	// Structured answers and tool calls are cut there but never lengthened.
	OutputTokens int
	// FinishReason is stop, length or content_filter, whatever the answer would end with.
	FinishReason string
	// Reply is the text to answer with, Refusal the text to refuse with; at most one is given. No mapping is asked then.
	Reply   *string
	Refusal string
	// Seed takes the place of the request's own, Session that of its session key.
	Seed    *int64
	Session string
}

// simPrefix begins our own headers, as net/http spells them; simMember carries the same wishes in a body.
const (
	simPrefix = "X-Sim-"
	simMember = "x_sim"
)

// simBody is the member x_sim.
type simBody struct {
	Fault        *string `json:"fault"`
	OutputTokens *int64  `json:"output_tokens"`
	FinishReason *string `json:"finish_reason"`
	Refusal      *string `json:"refusal"`
	Reply        *string `json:"reply"`
	Seed         *int64  `json:"seed"`
	Session      *string `json:"session"`
}

// simFields lists the wishes by name, with where they go.
func (b *simBody) fields() []simField {
	return []simField{
		{"fault", &b.Fault, nil},
		{"output_tokens", nil, &b.OutputTokens},
		{"finish_reason", &b.FinishReason, nil},
		{"refusal", &b.Refusal, nil},
		{"reply", &b.Reply, nil},
		{"seed", nil, &b.Seed},
		{"session", &b.Session, nil},
	}
}

// simField is one wish: a text or a number.
type simField struct {
	name   string
	text   **string
	number **int64
}

// header is the name of the header, as net/http spells it.
func (f simField) header() string {
	return http.CanonicalHeaderKey(simPrefix + strings.ReplaceAll(f.name, "_", "-"))
}

// wishes reads x_sim and the headers beside it. Unknown headers are refused by the strict policy and ignored by the
// others; decode has done so with unknown members.
func (c checker) wishes(raw json.RawMessage, h http.Header) (Wishes, error) {
	var b simBody
	if !isNull(raw) {
		if kindOf(raw) != "an object" {
			return Wishes{}, badRequest(simMember, codeType, "invalid type for '%s': expected an object, got %s", simMember, kindOf(raw))
		}
		if err := decodeError(raw, json.Unmarshal(raw, &b), simMember); err != nil {
			return Wishes{}, err
		}
	}
	fields := b.fields()
	if c.policy == PolicyStrict {
		if name := strangeHeader(h, fields); name != "" {
			return Wishes{}, unknownWish(name)
		}
	}
	for _, f := range fields {
		if err := f.read(h); err != nil {
			return Wishes{}, err
		}
	}
	return b.check()
}

// read takes the wish from its header if there is one.
func (f simField) read(h http.Header) error {
	list := h[f.header()]
	if len(list) == 0 {
		return nil
	}
	if f.text != nil {
		*f.text = &list[0]
		return nil
	}
	n, err := strconv.ParseInt(list[0], 10, 64)
	if err != nil {
		name := strings.ToLower(f.header())
		return badRequest(name, codeValue, "invalid header '%s': %q is not an integer", name, clip(list[0]))
	}
	*f.number = &n
	return nil
}

// strangeHeader is the first header, by name, that looks like a wish and is none; empty if there is none.
func strangeHeader(h http.Header, fields []simField) string {
	worst := ""
	for name := range h {
		known := func(f simField) bool { return f.header() == name }
		if strings.HasPrefix(name, simPrefix) && !slices.ContainsFunc(fields, known) && (worst == "" || name < worst) {
			worst = name
		}
	}
	return strings.ToLower(worst)
}

// unknownWish refuses a header or a member that is no wish.
func unknownWish(name string) *APIError {
	var names []string
	for _, f := range new(simBody).fields() {
		names = append(names, f.name)
	}
	return badRequest(clip(name), "unknown_parameter", "unknown wish '%s': want one of %s", clip(name), strings.Join(names, ", "))
}

// check judges what was asked for.
func (b *simBody) check() (Wishes, error) {
	w := Wishes{Reply: b.Reply, Seed: b.Seed}
	set(&w.Fault, b.Fault)
	set(&w.FinishReason, b.FinishReason)
	set(&w.Refusal, b.Refusal)
	set(&w.Session, b.Session)
	if err := oneOf(simMember+".finish_reason", b.FinishReason, "stop", "length", "content_filter"); err != nil {
		return w, err
	}
	if err := checkInts([]intField{{simMember + ".output_tokens", b.OutputTokens, 1, maxCount}}); err != nil {
		return w, err
	}
	if b.OutputTokens != nil {
		w.OutputTokens = clampInt(*b.OutputTokens)
	}
	if w.Reply != nil && w.Refusal != "" {
		return w, badRequest(simMember+".refusal", codeValue, "invalid '%s.refusal': it excludes '%s.reply'", simMember, simMember)
	}
	return w, nil
}

// answers says whether the request brings its own words.
func (w *Wishes) answers() bool { return w.Reply != nil || w.Refusal != "" }

// Outcome is the answer that the request brings.
func (w *Wishes) Outcome(int) (script.Outcome, error) {
	return script.Outcome{Text: w.Reply, Refusal: w.Refusal}, nil
}

// Mapping names the request itself.
func (w *Wishes) Mapping() string { return simMember }

// heed changes how a planned answer ends. A structured one that was cut stays cut.
func (w *Wishes) heed(c *Choice, structured bool) {
	for _, s := range c.Segments {
		structured = structured || s.Kind == ToolCall || s.Kind == FunctionCall
	}
	if w.OutputTokens > 0 && c.Tokens == w.OutputTokens && c.FinishReason == reply.FinishLength && !structured {
		c.FinishReason = reply.FinishStop
	}
	c.FinishReason = orDefault(w.FinishReason, c.FinishReason)
}
