package script

// Mapping is one rule in WireMock's shape: what a request must look like and what it gets. The zero value matches every
// request and is refused for having no answer.
type Mapping struct {
	// ID names the mapping in the control routes; one is made up when empty.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Priority orders mappings, 1 first; 0 is 5 as in WireMock. Equal priorities are tried in file order.
	Priority int `json:"priority,omitempty"`
	// ScenarioName makes the mapping part of a state machine whose first state is "Started". It then matches only in
	// RequiredScenarioState (empty: any) and moves to NewScenarioState (empty: stays). States are kept per session.
	ScenarioName          string `json:"scenarioName,omitempty"`
	RequiredScenarioState string `json:"requiredScenarioState,omitempty"`
	NewScenarioState      string `json:"newScenarioState,omitempty"`
	// Request is what must hold, all of it.
	Request Condition `json:"request"`
	// Exactly one of Response, Responses and Steps is given. Responses are answered in turn, the n-th match gets the
	// n-th, or by weight (Choose). Steps are a plan for an agent loop: the step is the number of tool rounds since the
	// last user message, so a repeated request gets the same step and the loop ends.
	Response  *Reply  `json:"response,omitempty"`
	Responses []Reply `json:"responses,omitempty"`
	Steps     []Reply `json:"steps,omitempty"`
	// Choose is sequence (the default) or weighted.
	Choose string `json:"choose,omitempty"`
	// Exhausted says what follows the last answer of a sequence or plan: repeat it (the default), error, or next, which
	// lets later mappings try.
	Exhausted string `json:"exhausted,omitempty"`
	// Scope counts matches per session (the default) or globally: session or global.
	Scope string `json:"scope,omitempty"`
	// Metadata is kept and given back.
	Metadata *Value `json:"metadata,omitempty"`
}

// Condition says what must hold of a request; everything that is given must. The zero value holds always.
type Condition struct {
	// Route is chat or completions; Model takes shell globs in its short form.
	Route *Text `json:"route,omitempty"`
	Model *Text `json:"model,omitempty"`
	// User is the last user message, System all system and developer messages, Assistant the last assistant message.
	User      *Text `json:"user,omitempty"`
	System    *Text `json:"system,omitempty"`
	Assistant *Text `json:"assistant,omitempty"`
	// AnyMessage holds if it holds for one message of any role.
	AnyMessage *Text `json:"anyMessage,omitempty"`
	// ToolResult and ToolCallID hold if they hold for one tool message after the last assistant message; older results
	// never match, so a new turn is not shadowed by an old one.
	ToolResult *Text `json:"toolResult,omitempty"`
	ToolCallID *Text `json:"toolCallId,omitempty"`
	// HasToolResults asks whether there are such tool messages.
	HasToolResults *bool `json:"hasToolResults,omitempty"`
	// Turn is the number of assistant messages in the history, 0 for the first answer. ToolRounds is the number of
	// assistant messages with tool calls since the last user message that have been answered.
	Turn       *Range `json:"turn,omitempty"`
	ToolRounds *Range `json:"toolRounds,omitempty"`
	// MessageCounts bounds the number of messages by role.
	MessageCounts map[string]Range `json:"messageCounts,omitempty"`
	// Tools must all be offered (globs); ToolCount bounds how many are.
	Tools     []string `json:"tools,omitempty"`
	ToolCount *Range   `json:"toolCount,omitempty"`
	// Headers by name, without regard to case.
	Headers map[string]Text `json:"headers,omitempty"`
	// Body maps paths into the raw body to what one of the values found must be. Strings are compared as they are, other
	// values as compact JSON.
	Body map[string]Text `json:"body,omitempty"`
	// Session is the session key.
	Session *Text `json:"session,omitempty"`
	// And, Or and Not combine further conditions.
	And []Condition `json:"and,omitempty"`
	Or  []Condition `json:"or,omitempty"`
	Not *Condition  `json:"not,omitempty"`
}

// Text is a predicate on a string with WireMock's operators; everything given must hold. In files a plain scalar is
// short for equalTo. Regular expressions are Go's (RE2, linear time) and need not match the whole string.
type Text struct {
	EqualTo        *string `json:"equalTo,omitempty"`
	Contains       *string `json:"contains,omitempty"`
	DoesNotContain *string `json:"doesNotContain,omitempty"`
	Matches        *string `json:"matches,omitempty"`
	DoesNotMatch   *string `json:"doesNotMatch,omitempty"`
	// Glob is a shell pattern over the whole string: * any run, ? one character.
	Glob *string `json:"glob,omitempty"`
	// Absent asks that there be no such thing (true) or that there be one (false).
	Absent *bool `json:"absent,omitempty"`
	// AtLeast and AtMost compare numbers; a string that is no number fails both.
	AtLeast *float64 `json:"atLeast,omitempty"`
	AtMost  *float64 `json:"atMost,omitempty"`
	// CaseInsensitive applies to all string operators beside it.
	CaseInsensitive bool   `json:"caseInsensitive,omitempty"`
	And             []Text `json:"and,omitempty"`
	Or              []Text `json:"or,omitempty"`
	Not             *Text  `json:"not,omitempty"`
}

// Range bounds a count, both ends included; nil is open. In files a plain number is short for exactly that.
type Range struct {
	Min *int `json:"min,omitempty"`
	Max *int `json:"max,omitempty"`
}

// Reply is one answer. Text, JSON, ToolCalls, Refusal and Error say what kind it is; Text and ToolCalls may stand
// together. Strings with "{{" are templates (see template.go) unless Raw.
type Reply struct {
	Text *string `json:"text,omitempty"`
	// JSON is answered as compact text; strings inside it may be templates.
	JSON      *Value     `json:"json,omitempty"`
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	Refusal   string     `json:"refusal,omitempty"`
	// FinishReason overrides the natural one (stop, tool_calls); length and content_filter are the usual ones.
	FinishReason string `json:"finishReason,omitempty"`
	// Weight of this answer when choose is weighted; nil is 1.
	Weight *float64 `json:"weight,omitempty"`
	// Timing overrides the engine's; Fault is a plan in the grammar of package fault. Both are only data here, the face
	// carries them out.
	Timing *Timing `json:"timing,omitempty"`
	Fault  string  `json:"fault,omitempty"`
	// Error answers with an HTTP error instead.
	Error *Failure `json:"error,omitempty"`
	// Raw switches templates off.
	Raw bool `json:"raw,omitempty"`
}

// ToolCall is a call to make. ID is made by the face when empty. Arguments is a JSON value whose strings may be
// templates, or a string: a template of the whole argument text. Absent arguments are {}.
type ToolCall struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments *Value `json:"arguments,omitempty"`
}

// Timing overrides modelled times, in milliseconds from 0 to a day; nil leaves the engine's. The engine serves the
// request as it always does, its slot included; what it has made is held back until it is wanted. So no token leaves
// before the engine has made it: where that is later, the engine's instant stands.
type Timing struct {
	// TTFTMs is the time from the arrival of the request to its first token.
	TTFTMs *float64 `json:"ttftMs,omitempty"`
	// ITLMs is the gap between tokens: token i leaves i-1 gaps after the first. Without it the engine's gaps are kept.
	ITLMs *float64 `json:"itlMs,omitempty"`
}

// Failure is an HTTP error to answer with. Status is 400–599; empty members are null on the wire.
type Failure struct {
	Status  int    `json:"status"`
	Message string `json:"message,omitempty"`
	Type    string `json:"type,omitempty"`
	Param   string `json:"param,omitempty"`
	Code    string `json:"code,omitempty"`
	// RetryAfterMs is sent as Retry-After when positive.
	RetryAfterMs int `json:"retryAfterMs,omitempty"`
}

// The words of Choose, Exhausted and Scope.
const (
	chooseSequence = "sequence"
	chooseWeighted = "weighted"

	exhaustedRepeat = "repeat"
	exhaustedError  = "error"
	exhaustedNext   = "next"

	scopeSession = "session"
	scopeGlobal  = "global"
)

// DefaultPriority is the priority of a mapping that names none, as in WireMock.
const DefaultPriority = 5
