package openai

import "encoding/json"

// null is a member that is present and null.
var null = json.RawMessage("null")

// Usage counts tokens (spec openai-endpoint N6).
type Usage struct {
	PromptTokens      int               `json:"prompt_tokens"`
	CompletionTokens  int               `json:"completion_tokens"`
	TotalTokens       int               `json:"total_tokens"`
	PromptDetails     promptDetails     `json:"prompt_tokens_details"`
	CompletionDetails completionDetails `json:"completion_tokens_details"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
	AudioTokens  int `json:"audio_tokens"`
}

type completionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
	AudioTokens     int `json:"audio_tokens"`
	Accepted        int `json:"accepted_prediction_tokens"`
	Rejected        int `json:"rejected_prediction_tokens"`
}

// chatResponse is chat.completion (spec openai-endpoint N1–N3).
type chatResponse struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	Created           int64             `json:"created"`
	Model             string            `json:"model"`
	Choices           []chatChoice      `json:"choices"`
	Usage             *Usage            `json:"usage,omitempty"`
	ServiceTier       string            `json:"service_tier,omitempty"`
	SystemFingerprint string            `json:"system_fingerprint,omitempty"`
	Metadata          map[string]string `json:"metadata,omitempty"`
	PromptTokenIDs    []uint32          `json:"prompt_token_ids,omitempty"`

	// sounds are those of its choices, for writeSpoken.
	sounds []*spoken
}

// engineMembers are what engines add to a choice: the stop string that ended it (vLLM, SGLang), and the ids of its
// tokens when the request wants them (vLLM, SGLang; the prompt's are here on the legacy route only).
type engineMembers struct {
	StopReason     json.RawMessage `json:"stop_reason,omitempty"`
	MatchedStop    json.RawMessage `json:"matched_stop,omitempty"`
	TokenIDs       []uint32        `json:"token_ids,omitempty"`
	PromptTokenIDs []uint32        `json:"prompt_token_ids,omitempty"`
}

type chatChoice struct {
	Index        int           `json:"index"`
	Message      chatMessage   `json:"message"`
	Logprobs     *chatLogprobs `json:"logprobs"`
	FinishReason string        `json:"finish_reason"`
	engineMembers
}

type chatMessage struct {
	Role             string            `json:"role"`
	Content          *string           `json:"content"`
	Refusal          *string           `json:"refusal"`
	Reasoning        *string           `json:"reasoning,omitempty"`
	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	ToolCalls        []toolCall        `json:"tool_calls,omitempty"`
	FunctionCall     *functionCall     `json:"function_call,omitempty"`
	Audio            *messageAudio     `json:"audio,omitempty"`
	Annotations      []json.RawMessage `json:"annotations"`
}

// messageAudio is a spoken answer. writeSpoken looks for the order of its first two members.
type messageAudio struct {
	ID         string `json:"id"`
	Data       string `json:"data"`
	ExpiresAt  int64  `json:"expires_at"`
	Transcript string `json:"transcript"`
}

// deltaAudio is what is new of one.
type deltaAudio struct {
	ID         string  `json:"id,omitempty"`
	Transcript *string `json:"transcript,omitempty"`
	Data       string  `json:"data,omitempty"`
	ExpiresAt  int64   `json:"expires_at,omitempty"`
}

type toolCall struct {
	Index    *int          `json:"index,omitempty"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function *functionCall `json:"function,omitempty"`
	Custom   *customCall   `json:"custom,omitempty"`
}

type functionCall struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type customCall struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

type chatLogprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal []tokenLogprob `json:"refusal"`
}

type tokenLogprob struct {
	Token       string       `json:"token"`
	Logprob     float64      `json:"logprob"`
	Bytes       []int        `json:"bytes"`
	TopLogprobs []topLogprob `json:"top_logprobs"`
}

type topLogprob struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// chatChunk is chat.completion.chunk. Usage is absent, null or an object (spec openai-endpoint S2, S6).
type chatChunk struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Created           int64           `json:"created"`
	Model             string          `json:"model"`
	ServiceTier       string          `json:"service_tier,omitempty"`
	SystemFingerprint string          `json:"system_fingerprint,omitempty"`
	Choices           []chunkChoice   `json:"choices"`
	Usage             json.RawMessage `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index        int           `json:"index"`
	Delta        delta         `json:"delta"`
	Logprobs     *chatLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
	engineMembers
}

// delta holds what is new. Content and Refusal are raw so that null and absent differ.
type delta struct {
	Role             string          `json:"role,omitempty"`
	Content          json.RawMessage `json:"content,omitempty"`
	Reasoning        *string         `json:"reasoning,omitempty"`
	ReasoningContent *string         `json:"reasoning_content,omitempty"`
	ToolCalls        []toolCall      `json:"tool_calls,omitempty"`
	FunctionCall     *functionCall   `json:"function_call,omitempty"`
	Refusal          json.RawMessage `json:"refusal,omitempty"`
	Audio            *deltaAudio     `json:"audio,omitempty"`
}

// textResponse is text_completion, whole or as a chunk (spec openai-endpoint L2, L5).
type textResponse struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Created           int64           `json:"created"`
	Model             string          `json:"model"`
	SystemFingerprint string          `json:"system_fingerprint,omitempty"`
	Choices           []textChoice    `json:"choices"`
	Usage             json.RawMessage `json:"usage,omitempty"`
}

type textChoice struct {
	Index        int           `json:"index"`
	Text         string        `json:"text"`
	Logprobs     *textLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
	engineMembers
}

type textLogprobs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []*float64           `json:"token_logprobs"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"`
}

// emptyList is an empty array that is not null.
var emptyList = []json.RawMessage{}
