package openai

import (
	"encoding/json"

	"fakellm/openai/reply/script"
)

// Planner says what is said. Its methods are pure in effect, safe for concurrent use, and may return an *APIError for
// what only they can judge (a schema keyword, a token id out of range).
type Planner interface {
	ChatPlanner
	CompletionPlanner
}

// ChatPlanner plans answers of the chat route.
type ChatPlanner interface {
	// ChatPrompt renders messages and tools into the prompt.
	ChatPrompt(*ChatRequest) (Prompt, error)
	// ChatChoice plans answer number sample (from 0) of at most room tokens; room is 0 or more.
	ChatChoice(req *ChatRequest, p Prompt, sample, room int) (Choice, error)
}

// CompletionPlanner plans answers of the legacy completions route.
type CompletionPlanner interface {
	// CompletionPrompts returns one prompt for each the request holds.
	CompletionPrompts(*CompletionRequest) ([]Prompt, error)
	// CompletionChoice plans answer number sample of the given prompt, which is number index of the request.
	CompletionChoice(req *CompletionRequest, p Prompt, index, sample, room int) (Choice, error)
}

// Prompt is a rendered prompt. IDs is nil in the cheap counting mode, then Tokens counts alone; else len(IDs)==Tokens.
type Prompt struct {
	IDs    []uint32
	Tokens int
	// Audio of Tokens are sound that the client sent.
	Audio int
}

// Choice is one planned answer. It is a sequence of positions; Text[:Ends[i]] has been said when position i is due.
type Choice struct {
	// Output are the ids of the paced tokens, nil in the cheap mode; Tokens is their number.
	Output []uint32
	Tokens int
	// Text is everything that is said, segment after segment. Ends has Free+Tokens entries, never decreasing, never
	// inside a code point. A position whose end equals the one before says nothing (half a code point, a stop string).
	Text string
	Ends []uint32
	// Free positions lead and cost no time: they are due with the first token (an echoed prompt).
	Free int
	// Segments cut the positions; nil means that all of them are content.
	Segments []Segment
	// FinishReason is stop, length, tool_calls, content_filter or function_call.
	FinishReason string
	// StopReason is the stop string that ended it, for vLLM's field of that name; empty is null.
	StopReason string
	// Reasoning tokens, and predicted tokens accepted and rejected, all inside Tokens, for usage.
	Reasoning, Accepted, Rejected int
	// Probs gives log probabilities when the request wants them; nil otherwise.
	Probs Probs
	// spoken is how it sounds, nil for an answer in text.
	spoken *spoken
	// timing is when a scripted answer wants to be said, nil for the engine's instants; fault is what shall go wrong with it.
	timing *script.Timing
	fault  string
}

// Segment is a run of positions of one kind.
type Segment struct {
	Kind SegmentKind
	// Positions is its length.
	Positions int
	// ID and Name belong to a tool call, whose said text is its arguments. Custom tools carry plain input instead.
	ID, Name string
	Custom   bool
	// first is the number of the first frame of sound in a spoken segment.
	first int
}

// SegmentKind says which member of the message a segment fills.
type SegmentKind uint8

// The kinds. Silent positions are paced but never shown (thinking of a model that hides it). Spoken ones are made by the
// face from content: each token of a transcript, then its frames of sound.
const (
	Content SegmentKind = iota
	Reasoning
	Refusal
	ToolCall
	FunctionCall
	Silent
	Spoken
)

// Probs is the probability side of a planned answer.
type Probs interface {
	// At returns the token at a position with its k likeliest alternatives, the token itself included among them if it
	// is one of the k. ok is false for the first position of an echoed prompt, which has no probability.
	At(position, k int) (token TokenProb, top []TokenProb, ok bool)
}

// TokenProb is one token with its log probability (natural, at most 0).
type TokenProb struct {
	Token   string
	Logprob float64
}

// Sampling is what chat and completion requests share. Pointers are nil when the client did not say.
type Sampling struct {
	// N answers per prompt, at least 1; BestOf of which N are returned (equal to N outside the completions route).
	N, BestOf int
	// MaxTokens the client allows; nil for no explicit limit.
	MaxTokens *int
	// MinTokens before which nothing may stop; IgnoreEOS goes on until MaxTokens.
	MinTokens int
	IgnoreEOS bool
	// Stop strings, at most 4 for OpenAI; KeepStop leaves the stop string in the text.
	Stop     []string
	KeepStop bool
	Seed     *int64
	// Temperature (0–2) and TopP (0–1); 1 when unsaid.
	Temperature, TopP float64
	// Logprobs asks for probabilities with TopLogprobs alternatives.
	Logprobs    bool
	TopLogprobs int
	// Stream, IncludeUsage and ContinuousUsage shape the stream.
	Stream, IncludeUsage, ContinuousUsage bool
	// StreamInterval tokens are bundled into one event; 0 for what the server does.
	StreamInterval int
	// ReturnTokenIDs asks for the ids of all tokens (engines).
	ReturnTokenIDs bool
	// AnswerID is what follows the prefix in the id of the answer; empty for one that the server makes (vLLM).
	AnswerID string
	// NameTokens shows tokens in log probabilities as "token_id:N" (vLLM).
	NameTokens bool
	// Rank is the data-parallel rank asked for, or -1.
	Rank int
	User string
	// SessionKey groups requests of one conversation or tenant (prompt_cache_key, cache_salt, session_id), often empty.
	SessionKey string
	// Wishes is what the request tells the simulator itself.
	Wishes Wishes
	// Obfuscate pads the events of a stream (stream_options.include_obfuscation).
	Obfuscate bool
	// Priority as the engines read it: lower first, 0 by default.
	Priority int
}

// ChatRequest is a checked chat request.
type ChatRequest struct {
	Sampling
	Model    string
	Messages []Message
	Tools    []Tool
	// ToolChoice is the resolved choice: none without tools, auto with them unless the client said otherwise.
	ToolChoice ToolChoice
	// ParallelTools allows more than one call in an answer; true by default.
	ParallelTools bool
	// LegacyFunctions says that tools came as deprecated "functions": the answer then uses function_call.
	LegacyFunctions bool
	Format          Format
	// Effort is reasoning_effort or empty; Verbosity likewise.
	Effort, Verbosity string
	// HideReasoning is include_reasoning:false of the engines.
	HideReasoning bool
	// Speech asks for a spoken answer; nil for one in text.
	Speech *Speech
	// Prediction is the text of a predicted output.
	Prediction  string
	ServiceTier string
	Store       bool
	Metadata    map[string]string
	// scripted answers instead of the planner's own words.
	scripted given
}

// Message is one message of a conversation.
type Message struct {
	Role, Name string
	// Parts of the content; a plain string is one text part, null or absent content none.
	Parts []Part
	// Refusal and Reasoning are replayed from earlier answers.
	Refusal, Reasoning string
	Calls              []Call
	// CallID says which call a tool message answers.
	CallID string
	// AudioID names the spoken answer that an assistant message was; its words are then among Parts.
	AudioID string
}

// Part is one piece of content.
type Part struct {
	// Kind is text, image_url, input_audio, file or refusal.
	Kind string
	// Text of a text or refusal part.
	Text string
	// Data is the URL or the base64 data of the others, Detail the detail of an image or the format of audio.
	Data, Detail string
}

// Call is a tool call in the history.
type Call struct{ ID, Name, Arguments string }

// Tool is an offered function or custom tool.
type Tool struct {
	Name, Description string
	// Parameters is the JSON schema, nil if absent.
	Parameters json.RawMessage
	Strict     bool
	Custom     bool
}

// ToolChoice says which tools may or must be called.
type ToolChoice struct {
	// Mode is none, auto, required or named.
	Mode string
	// Name is the tool of mode named.
	Name string
	// Allowed restricts auto and required to these names; nil allows all.
	Allowed []string
}

// Format is response_format, or what constrains an answer instead.
type Format struct {
	// Kind is text, json_object, json_schema, or string: the bare text of a string that fits Schema.
	Kind string
	// Field is the member of an engine's request that asks for it; empty for response_format.
	Field string
	// Name and Schema belong to json_schema, Schema to string too.
	Name   string
	Schema json.RawMessage
	Strict bool
}

// CompletionRequest is a checked legacy completion request.
type CompletionRequest struct {
	Sampling
	Model string
	// Prompts holds one entry per prompt.
	Prompts []PromptInput
	Echo    bool
	Suffix  string
	Format  Format
	// scripted answers instead of the planner's own words.
	scripted given
}

// PromptInput is text, or token ids when IDs is not nil.
type PromptInput struct {
	Text string
	IDs  []uint32
}
