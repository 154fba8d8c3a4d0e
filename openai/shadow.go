package openai

import (
	"encoding/json"

	goopenai "github.com/sashabaranov/go-openai"
)

// The shadow structs embed go-openai's request types and redeclare what those cannot express on a server's side: unset
// against zero, unions, and the engines' own fields (guide/libraries finding 4). A redeclared JSON name wins because it
// is shallower; deepChat and deepCompletion exist to push the embedded types below the shared fields.

// shared are the fields that both routes redeclare or add.
type shared struct {
	MaxTokens        *int64                     `json:"max_tokens"`
	Temperature      *float64                   `json:"temperature"`
	TopP             *float64                   `json:"top_p"`
	N                *int64                     `json:"n"`
	Stream           *bool                      `json:"stream"`
	Stop             json.RawMessage            `json:"stop"`
	PresencePenalty  *float64                   `json:"presence_penalty"`
	FrequencyPenalty *float64                   `json:"frequency_penalty"`
	Seed             *int64                     `json:"seed"`
	LogitBias        map[string]json.RawMessage `json:"logit_bias"`
	Metadata         map[string]string          `json:"metadata"`
	Store            *bool                      `json:"store"`
	StreamOptions    *streamOptions             `json:"stream_options"`
	Sim              json.RawMessage            `json:"x_sim"`

	engineFields
	constraintFields
}

type streamOptions struct {
	IncludeUsage       *bool `json:"include_usage"`
	IncludeObfuscation *bool `json:"include_obfuscation"`
	ContinuousUsage    *bool `json:"continuous_usage_stats"`
}

// engineFields are request extensions of vLLM, SGLang and Dynamo (spec openai-endpoint §3). The untyped ones are
// accepted and have no effect.
type engineFields struct {
	IgnoreEOS         *bool    `json:"ignore_eos"`
	MinTokens         *int64   `json:"min_tokens"`
	TopK              *float64 `json:"top_k"`
	MinP              *float64 `json:"min_p"`
	RepetitionPenalty *float64 `json:"repetition_penalty"`
	Priority          *int64   `json:"priority"`
	KeepStop          *bool    `json:"include_stop_str_in_output"`
	ReturnTokenIDs    *bool    `json:"return_token_ids"`
	CacheSalt         *string  `json:"cache_salt"`
	SessionID         *string  `json:"session_id"`
	RoutedRank        *int64   `json:"routed_dp_rank"`
	DataParallelRank  *int64   `json:"data_parallel_rank"`
	StreamInterval    *int64   `json:"stream_interval"`
	NVExt             *nvext   `json:"nvext"`

	LengthPenalty       json.RawMessage `json:"length_penalty"`
	UseBeamSearch       json.RawMessage `json:"use_beam_search"`
	StopTokenIDs        json.RawMessage `json:"stop_token_ids"`
	SkipSpecialTokens   json.RawMessage `json:"skip_special_tokens"`
	SpacesBetween       json.RawMessage `json:"spaces_between_special_tokens"`
	TruncatePrompt      json.RawMessage `json:"truncate_prompt_tokens"`
	AllowedTokenIDs     json.RawMessage `json:"allowed_token_ids"`
	BadWords            json.RawMessage `json:"bad_words"`
	AddSpecialTokens    json.RawMessage `json:"add_special_tokens"`
	RequestID           json.RawMessage `json:"request_id"`
	NameTokens          json.RawMessage `json:"return_tokens_as_token_ids"`
	RID                 json.RawMessage `json:"rid"`
	KVTransferParams    json.RawMessage `json:"kv_transfer_params"`
	VLLMXArgs           json.RawMessage `json:"vllm_xargs"`
	ThinkingTokenBudget json.RawMessage `json:"thinking_token_budget"`
}

// nvext is Dynamo's extension object; older clients put ignore_eos into it.
type nvext struct {
	IgnoreEOS *bool   `json:"ignore_eos"`
	Rank      *int64  `json:"dp_rank"`
	CacheSalt *string `json:"cache_salt"`
}

// deepChat puts go-openai's fields one level below ours.
type deepChat struct{ goopenai.ChatCompletionRequest }

// chatBody is the shadow of a chat request.
type chatBody struct {
	deepChat
	shared

	Model               *string           `json:"model"`
	Messages            []json.RawMessage `json:"messages"`
	MaxCompletionTokens *int64            `json:"max_completion_tokens"`
	LogProbs            *bool             `json:"logprobs"`
	TopLogProbs         *int64            `json:"top_logprobs"`
	Functions           []toolFunction    `json:"functions"`
	FunctionCall        json.RawMessage   `json:"function_call"`
	Tools               []json.RawMessage `json:"tools"`
	ToolChoice          json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls   *bool             `json:"parallel_tool_calls"`
	ResponseFormat      *responseFormat   `json:"response_format"`
	Prediction          *prediction       `json:"prediction"`
	Modalities          []string          `json:"modalities"`
	Audio               json.RawMessage   `json:"audio"`
	WebSearchOptions    json.RawMessage   `json:"web_search_options"`
	PromptCacheKey      *string           `json:"prompt_cache_key"`
	PromptRetention     *string           `json:"prompt_cache_retention"`
	PromptCacheOptions  json.RawMessage   `json:"prompt_cache_options"`
	Moderation          json.RawMessage   `json:"moderation"`
	IncludeReasoning    *bool             `json:"include_reasoning"`
	Documents           json.RawMessage   `json:"documents"`
	ChatTemplate        json.RawMessage   `json:"chat_template"`
	AddGenerationPrompt json.RawMessage   `json:"add_generation_prompt"`
	ContinueFinal       json.RawMessage   `json:"continue_final_message"`
}

// toolFunction is a function definition; the schema stays raw.
type toolFunction struct {
	Name        *string         `json:"name"`
	Description *string         `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

// toolBody is an offered tool.
type toolBody struct {
	Type     *string       `json:"type"`
	Function *toolFunction `json:"function"`
	Custom   *struct {
		Name        *string         `json:"name"`
		Description *string         `json:"description"`
		Format      json.RawMessage `json:"format"`
	} `json:"custom"`
}

// choiceBody is tool_choice as an object.
type choiceBody struct {
	Type     *string   `json:"type"`
	Function *nameBody `json:"function"`
	Custom   *nameBody `json:"custom"`
	Allowed  *struct {
		Mode  *string    `json:"mode"`
		Tools []toolBody `json:"tools"`
	} `json:"allowed_tools"`
}

type nameBody struct {
	Name *string `json:"name"`
}

type responseFormat struct {
	Type       *string `json:"type"`
	JSONSchema *struct {
		Name        *string         `json:"name"`
		Description *string         `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"json_schema"`
}

type prediction struct {
	Type    *string         `json:"type"`
	Content json.RawMessage `json:"content"`
}

// messageBody is one message; content is a string, a list of parts, or null.
type messageBody struct {
	Role             *string         `json:"role"`
	Content          json.RawMessage `json:"content"`
	Name             *string         `json:"name"`
	Refusal          *string         `json:"refusal"`
	Reasoning        *string         `json:"reasoning"`
	ReasoningContent *string         `json:"reasoning_content"`
	ToolCallID       *string         `json:"tool_call_id"`
	ToolCalls        []callBody      `json:"tool_calls"`
	FunctionCall     *functionBody   `json:"function_call"`
	Audio            json.RawMessage `json:"audio"`
}

// spokenBody is the member audio of an assistant message: what counts is the id of the answer that was spoken.
type spokenBody struct{ idBody }

// searchBody is web_search_options. It has no effect.
type searchBody struct {
	ContextSize  *string `json:"search_context_size"`
	UserLocation *struct {
		Type        *string `json:"type"`
		Approximate *struct {
			City     *string `json:"city"`
			Country  *string `json:"country"`
			Region   *string `json:"region"`
			Timezone *string `json:"timezone"`
		} `json:"approximate"`
	} `json:"user_location"`
}

type functionBody struct {
	Name      *string `json:"name"`
	Arguments *string `json:"arguments"`
}

type callBody struct {
	ID       *string       `json:"id"`
	Type     *string       `json:"type"`
	Function *functionBody `json:"function"`
	Custom   *struct {
		Name  *string `json:"name"`
		Input *string `json:"input"`
	} `json:"custom"`
}

// partBody is one piece of a content list.
type partBody struct {
	Type     *string `json:"type"`
	Text     *string `json:"text"`
	Refusal  *string `json:"refusal"`
	ImageURL *struct {
		URL    *string `json:"url"`
		Detail *string `json:"detail"`
	} `json:"image_url"`
	InputAudio *struct {
		Data   *string `json:"data"`
		Format *string `json:"format"`
	} `json:"input_audio"`
	File *struct {
		Filename *string `json:"filename"`
		FileData *string `json:"file_data"`
		FileID   *string `json:"file_id"`
	} `json:"file"`
}

// deepCompletion puts go-openai's fields one level below ours.
type deepCompletion struct{ goopenai.CompletionRequest }

// completionBody is the shadow of a legacy completion request.
type completionBody struct {
	deepCompletion
	shared

	Model    *string         `json:"model"`
	Prompt   json.RawMessage `json:"prompt"`
	BestOf   *int64          `json:"best_of"`
	Echo     *bool           `json:"echo"`
	LogProbs *int64          `json:"logprobs"`
	Suffix   *string         `json:"suffix"`

	// ResponseFormat is known to engines only.
	ResponseFormat json.RawMessage `json:"response_format"`
}
