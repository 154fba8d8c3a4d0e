package openai

import (
	"encoding/json"
	"strconv"
)

// frame knows the constant bytes of one stream. The token path is three appends: prefix, escaped text, suffix. What is
// rare goes through the wire structs; a fuzz test proves both ways equal byte for byte.
type frame struct {
	// head opens an event up to and including `"choices":[`, tail closes it after the last choice.
	head, tail []byte
	// chat tells chat.completion.chunk from text_completion.
	chat    bool
	dialect Dialect
	// reasoning is the member that carries thinking, empty for none.
	reasoning string
	// usageNull is set when every chunk carries usage:null.
	usageNull bool
	// padded events carry obfuscation; pads counts them.
	padded bool
	pads   uint64
}

const (
	eventStart = "data: "
	eventEnd   = "\n\n"
	doneEvent  = "data: [DONE]\n\n"
)

// identity is what every chunk and the whole response repeat.
type identity struct {
	id, model, tier, fingerprint string
	created                      int64
}

// newFrame renders the constant parts for one answer.
func newFrame(who identity, d Dialect, chat, includeUsage bool) frame {
	f := frame{
		chat: chat, dialect: d, reasoning: d.reasoningField(),
		usageNull: includeUsage && d == DialectOpenAI,
	}
	object := "text_completion"
	if chat {
		object = "chat.completion.chunk"
	}
	b := appendQuoted([]byte(eventStart+`{"id":`), who.id)
	b = append(append(b, `,"object":"`...), object...)
	b = strconv.AppendInt(append(b, `","created":`...), who.created, 10)
	b = appendQuoted(append(b, `,"model":`...), who.model)
	if chat && who.tier != "" {
		b = appendQuoted(append(b, `,"service_tier":`...), who.tier)
	}
	if who.fingerprint != "" {
		b = appendQuoted(append(b, `,"system_fingerprint":`...), who.fingerprint)
	}
	b = append(b, `,"choices":[`...)
	f.head = b
	f.tail = []byte("]}" + eventEnd)
	if f.usageNull {
		f.tail = []byte(`],"usage":null}` + eventEnd)
	}
	return f
}

// textPrefix is everything of a content event before its text; it is kept per choice.
func (f *frame) textPrefix(index int) []byte {
	b := make([]byte, 0, len(f.head)+40)
	b = strconv.AppendInt(append(append(b, f.head...), `{"index":`...), int64(index), 10)
	if f.chat {
		return append(b, ","+chatInfix...)
	}
	return append(b, `,"text":"`...)
}

const (
	chatInfix      = `"delta":{"content":"`
	chatTextSuffix = `"},"logprobs":null,"finish_reason":null}`
	textSuffix     = `","logprobs":null,"finish_reason":null}`
)

// appendText appends a content event: the token path. O(len(text)), no allocation beyond dst.
func (f *frame) appendText(dst, prefix []byte, text string) []byte {
	from := len(dst)
	dst = appendEscaped(append(dst, prefix...), text)
	if f.chat {
		dst = append(dst, chatTextSuffix...)
	} else {
		dst = append(dst, textSuffix...)
	}
	return f.end(dst, from)
}

// end closes an event that began at from.
func (f *frame) end(dst []byte, from int) []byte {
	dst = append(dst, f.tail...)
	if f.padded {
		return f.pad(dst, from)
	}
	return dst
}

// padTo is the size of which padded events are a multiple, in bytes.
const padTo = 64

// pad adds the member obfuscation to the event that begins at from, so that its length says little about its text
// (spec openai-endpoint S10).
func (f *frame) pad(dst []byte, from int) []byte {
	const before, after = `,"obfuscation":"`, `"}` + eventEnd
	dst = append(dst[:len(dst)-len("}"+eventEnd)], before...)
	n := padTo - (len(dst)-from+len(after))%padTo
	f.pads++
	for i := range uint64(n) {
		dst = append(dst, 'a'+byte(mix(f.pads<<8|i)%26))
	}
	return append(dst, after...)
}

// appendChat appends an event with one chat choice.
func (f *frame) appendChat(dst []byte, c chunkChoice) []byte {
	return f.end(append(append(dst, f.head...), marshal(c)...), len(dst))
}

// appendLegacy appends an event with one text choice.
func (f *frame) appendLegacy(dst []byte, c textChoice) []byte {
	return f.end(append(append(dst, f.head...), marshal(c)...), len(dst))
}

// appendUsage appends the event without choices that carries usage (spec openai-endpoint S6).
func (f *frame) appendUsage(dst []byte, u Usage) []byte {
	dst = append(append(dst, f.head...), `],"usage":`...)
	return append(append(dst, marshal(u)...), "}"+eventEnd...)
}

// usageTail is a tail that carries usage (continuous_usage_stats of the engines).
func usageTail(u Usage) []byte {
	return append(append([]byte(`],"usage":`), marshal(u)...), "}"+eventEnd...)
}

// rawString is s as a raw JSON string.
func rawString(s string) json.RawMessage { return appendQuoted(nil, s) }

// stopMembers names the stop string of a final choice as a dialect does; others have no such member.
func (d Dialect) stopMembers(reason string) engineMembers {
	value := null
	if reason != "" {
		value = rawString(reason)
	}
	switch d {
	case DialectVLLM:
		return engineMembers{StopReason: value}
	case DialectSGLang:
		return engineMembers{MatchedStop: value}
	default:
		return engineMembers{}
	}
}
