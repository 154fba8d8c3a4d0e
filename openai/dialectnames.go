package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

// routes says on which routes a member stands.
type routes uint8

const (
	onChat routes = 1 << iota
	onCompletions
	onBoth = onChat | onCompletions
)

// dialectNames are members that only the requests of some dialects have. Those that do nothing are named here alone.
type dialectNames struct {
	dialects []Dialect
	routes   routes
	names    []string
}

// namesOfDialects is the table of them (spec openai-endpoint §3.1, §3.4, §3.5). Members that all engines share stand in
// engineFields; they are known in every dialect, as load generators send them to any server.
func namesOfDialects() []dialectNames {
	table := []dialectNames{
		{[]Dialect{DialectVLLM}, onBoth, []string{
			"truncation_side", "prompt_logprobs", "logprob_token_ids", "repetition_detection", "ec_transfer_params",
			"return_tokens_as_token_ids", "return_prompt_text", "guided_decoding_backend", "guided_whitespace_pattern",
		}},
		{[]Dialect{DialectVLLM}, onChat, []string{"echo", "mm_processor_kwargs", "media_io_kwargs"}},
		{[]Dialect{DialectSGLang}, onBoth, []string{
			"stop_regex", "no_stop_trim", "lora_path", "session_params", "extra_key", "bootstrap_host", "bootstrap_port",
			"bootstrap_room", "return_hidden_states", "continuous_usage_stats",
		}},
		{[]Dialect{DialectSGLang}, onChat, []string{"separate_reasoning", "stream_reasoning"}},
		{[]Dialect{DialectTRTLLM}, onBoth, []string{"early_stopping", "lora_request", "disaggregated_params"}},
		{[]Dialect{DialectTRTLLM}, onChat, []string{"best_of"}},
		{[]Dialect{DialectVLLM, DialectSGLang, DialectTRTLLM, DialectDynamo}, onCompletions, []string{"response_format"}},
	}
	for _, f := range constraints() {
		table = append(table, dialectNames{f.dialects, onBoth, []string{f.name}})
	}
	return table
}

// bodyShapes are the shapes of both routes' requests in one dialect.
type bodyShapes struct{ chat, completion *shape }

var shapesOfDialects = sync.OnceValue(func() map[Dialect]bodyShapes {
	out := map[Dialect]bodyShapes{}
	for _, d := range Dialects() {
		out[d] = bodyShapes{chatShape().in(d, onChat), completionShape().in(d, onCompletions)}
	}
	return out
})

// shapes are those of the checker's dialect.
func (c checker) shapes() bodyShapes { return shapesOfDialects()[orDefault(c.dialect, DialectOpenAI)] }

// in is a request's shape with the members that a dialect has on a route, and without those that only others have.
func (s *shape) in(d Dialect, r routes) *shape {
	members := maps.Clone(s.members)
	table := namesOfDialects()
	for _, row := range table {
		if row.routes&r != 0 {
			for _, name := range row.names {
				delete(members, name)
			}
		}
	}
	for _, row := range table {
		if row.routes&r != 0 && slices.Contains(row.dialects, d) {
			for _, name := range row.names {
				members[name] = s.members[name]
			}
		}
	}
	return &shape{members: members, names: slices.Sorted(maps.Keys(members))}
}

// constraintFields are the members by which the engines' clients say what an answer has to look like. They are raw,
// because other dialects do not know them and so refuse nothing in them.
type constraintFields struct {
	StructuredOutputs json.RawMessage `json:"structured_outputs"`
	GuidedJSON        json.RawMessage `json:"guided_json"`
	GuidedChoice      json.RawMessage `json:"guided_choice"`
	GuidedRegex       json.RawMessage `json:"guided_regex"`
	GuidedGrammar     json.RawMessage `json:"guided_grammar"`
	Regex             json.RawMessage `json:"regex"`
	JSONSchema        json.RawMessage `json:"json_schema"`
	EBNF              json.RawMessage `json:"ebnf"`
}

// structuredBody is structured_outputs; what is not named by structuredRows has no effect.
type structuredBody struct {
	JSON          json.RawMessage `json:"json"`
	JSONObject    json.RawMessage `json:"json_object"`
	Choice        json.RawMessage `json:"choice"`
	Regex         json.RawMessage `json:"regex"`
	Grammar       json.RawMessage `json:"grammar"`
	StructuralTag json.RawMessage `json:"structural_tag"`

	DisableFallback   json.RawMessage `json:"disable_fallback"`
	DisableWhitespace json.RawMessage `json:"disable_any_whitespace"`
	DisableAdditional json.RawMessage `json:"disable_additional_properties"`
	Whitespace        json.RawMessage `json:"whitespace_pattern"`
}

// constraintField is a member that constrains the answer, in these dialects.
type constraintField struct {
	name     string
	dialects []Dialect
	kind     constraintKind
	of       func(*constraintFields) json.RawMessage
}

// constraints is the table of them. structured_outputs holds constraints itself.
var constraints = sync.OnceValue(func() []constraintField {
	guided := []Dialect{DialectVLLM, DialectDynamo}
	sglang := []Dialect{DialectSGLang}
	return []constraintField{
		{"structured_outputs", guided, manyKinds, func(f *constraintFields) json.RawMessage { return f.StructuredOutputs }},
		{
			"guided_json", append(guided[:2:2], DialectTRTLLM), jsonKind,
			func(f *constraintFields) json.RawMessage { return f.GuidedJSON },
		},
		{"guided_choice", guided, choiceKind, func(f *constraintFields) json.RawMessage { return f.GuidedChoice }},
		{"guided_regex", guided, regexKind, func(f *constraintFields) json.RawMessage { return f.GuidedRegex }},
		{"guided_grammar", guided, grammarKind, func(f *constraintFields) json.RawMessage { return f.GuidedGrammar }},
		{"regex", sglang, regexKind, func(f *constraintFields) json.RawMessage { return f.Regex }},
		{"json_schema", sglang, jsonKind, func(f *constraintFields) json.RawMessage { return f.JSONSchema }},
		{"ebnf", sglang, grammarKind, func(f *constraintFields) json.RawMessage { return f.EBNF }},
	}
})
