package openai

import (
	"fmt"
	"net/http"
	"runtime"
	"time"

	"fakellm/openai/journal"
	"fakellm/openai/limit"
)

// Dialect chooses error shapes and field names.
type Dialect string

// The dialects (spec openai-endpoint §3).
const (
	DialectOpenAI Dialect = "openai"
	DialectVLLM   Dialect = "vllm"
	DialectSGLang Dialect = "sglang"
	DialectTRTLLM Dialect = "trtllm"
	DialectDynamo Dialect = "dynamo"
)

// Dialects lists every dialect.
func Dialects() []Dialect {
	return []Dialect{DialectOpenAI, DialectVLLM, DialectSGLang, DialectTRTLLM, DialectDynamo}
}

// reasoningField is the member that carries thinking text; OpenAI itself never sends it on this route.
func (d Dialect) reasoningField() string {
	switch d {
	case DialectVLLM:
		return "reasoning"
	case DialectSGLang, DialectTRTLLM, DialectDynamo:
		return "reasoning_content"
	default:
		return ""
	}
}

// Policy says how much a request may deviate from the documents.
type Policy string

// The policies. Normal ignores unknown fields and refuses illegal values. Strict also refuses unknown fields and what
// OpenAI refuses by model. Lenient also accepts the meaningless values that SDK test suites send (limits of 0, ids that
// were never stored).
const (
	PolicyNormal  Policy = "normal"
	PolicyStrict  Policy = "strict"
	PolicyLenient Policy = "lenient"
)

// Observer hears what the face measures. Its methods are called from many goroutines and must not block.
type Observer interface {
	// Emitted reports a write of streamed tokens that left late after they were due by the model.
	Emitted(late time.Duration)
	// Answered reports one finished HTTP request. Status is 499 when the client left before the first byte.
	Answered(route string, status int, took time.Duration)
}

// Leaver is an Observer that also wants to hear of clients that left before the end of their answer.
type Leaver interface{ Left() }

// Staller is an Observer that also wants to hear of answers that were cut because their client did not read for so long.
// The id is that of the request.
type Staller interface {
	Stalled(id string, after time.Duration)
}

// Options configures a Server. The zero value is usable: an open server that answers to every model name.
type Options struct {
	// ServedModels are the names that are accepted and listed; empty accepts every name and lists ListedModel.
	ServedModels []string
	// ListedModel is the one name that /v1/models lists when every name is accepted ("fakellm" when empty).
	ListedModel string
	// APIKeys that /v1 routes ask for; empty leaves them open.
	APIKeys []string
	// Dialect is DialectOpenAI when empty, Policy PolicyNormal.
	Dialect Dialect
	Policy  Policy
	// MaxBodyBytes bounds a request body (0: 32 MiB), MaxHeaderBytes all header lines together (0: 64 KiB), MaxDepth
	// the nesting of its JSON (0: 128).
	MaxBodyBytes   int64
	MaxHeaderBytes int
	MaxDepth       int
	// BodyTimeout bounds the reading of one body (0: 30 s), WriteTimeout how long a client may refuse to read before
	// its stream is given up (0: 60 s).
	BodyTimeout, WriteTimeout time.Duration
	// Writers is the number of goroutines that serve streams (0: half of GOMAXPROCS, at least 1: with 2,000 streams and
	// the client beside it a second writer on two cores made the order, and so the gaps, worse by half).
	Writers int
	// StoreLimit bounds the number of stored completions, the oldest go first (0: 1000, negative: none).
	StoreLimit int
	// ToolStyle says how arguments of a tool call are cut in a stream.
	ToolStyle ToolStyle
	// StreamInterval is the number of tokens bundled into one event of a stream (0: 1). The first token leaves at once,
	// what remains at the end leaves with it. Requests may say otherwise with stream_interval.
	StreamInterval int
	// Version is answered by /version ("dev" when empty).
	Version string
	// IDSeed makes the ids of answers repeatable; 0 draws one.
	IDSeed uint64
	// Metrics serves /metrics; nil answers 404 there.
	Metrics http.Handler
	// Script answers what a mapping or a tape matches, Recorder asks a real endpoint for the rest, Limiter refuses what a key has used up, Breaker breaks answers on purpose,
	// Journal remembers what was asked and answered. Each may be nil.
	Script   *Script
	Recorder *Recorder
	Limiter  *limit.Limiter
	Breaker  *Breaker
	Journal  *journal.Journal
	// Observer may be nil.
	Observer Observer
}

// ToolStyle is a way of cutting streamed tool arguments.
type ToolStyle string

// The styles: one fragment per token, or all arguments in one fragment when the last token of the call is due.
const (
	ToolStyleTokens ToolStyle = "tokens"
	ToolStyleWhole  ToolStyle = "whole"
)

// DefaultModel is listed when no served model name is configured.
const DefaultModel = "fakellm"

// withDefaults fills zero values in.
func (o Options) withDefaults() Options {
	o.Dialect = orDefault(o.Dialect, DialectOpenAI)
	o.Policy = orDefault(o.Policy, PolicyNormal)
	o.ToolStyle = orDefault(o.ToolStyle, ToolStyleTokens)
	o.StreamInterval = orDefault(o.StreamInterval, 1)
	o.MaxBodyBytes = orDefault(o.MaxBodyBytes, 32<<20)
	o.MaxHeaderBytes = orDefault(o.MaxHeaderBytes, 64<<10)
	o.MaxDepth = orDefault(o.MaxDepth, 128)
	o.BodyTimeout = orDefault(o.BodyTimeout, 30*time.Second)
	o.WriteTimeout = orDefault(o.WriteTimeout, time.Minute)
	o.Writers = orDefault(o.Writers, max(1, runtime.GOMAXPROCS(0)/2))
	o.StoreLimit = orDefault(o.StoreLimit, 1000)
	o.Version = orDefault(o.Version, "dev")
	o.ListedModel = orDefault(o.ListedModel, DefaultModel)
	return o
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Validate returns every problem, each naming its field and value.
func (o Options) Validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch o.Dialect {
	case "", DialectOpenAI, DialectVLLM, DialectSGLang, DialectTRTLLM, DialectDynamo:
	default:
		bad("dialect: %q is none of %v", o.Dialect, Dialects())
	}
	switch o.Policy {
	case "", PolicyNormal, PolicyStrict, PolicyLenient:
	default:
		bad("policy: %q is none of normal, strict, lenient", o.Policy)
	}
	switch o.ToolStyle {
	case "", ToolStyleTokens, ToolStyleWhole:
	default:
		bad("tool_style: %q is none of tokens, whole", o.ToolStyle)
	}
	for i, m := range o.ServedModels {
		if m == "" {
			bad("served_model_name[%d]: empty", i)
		}
	}
	for i, k := range o.APIKeys {
		if k == "" {
			bad("api_key[%d]: empty", i)
		}
	}
	for _, f := range []struct {
		name string
		v    int64
	}{
		{"max_body_bytes", o.MaxBodyBytes},
		{"max_header_bytes", int64(o.MaxHeaderBytes)},
		{"max_depth", int64(o.MaxDepth)},
		{"body_timeout", int64(o.BodyTimeout)},
		{"write_timeout", int64(o.WriteTimeout)},
		{"writers", int64(o.Writers)},
		{"stream_interval", int64(o.StreamInterval)},
	} {
		if f.v < 0 {
			bad("%s: %d is negative", f.name, f.v)
		}
	}
	return errs
}
