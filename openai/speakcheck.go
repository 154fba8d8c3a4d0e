package openai

import (
	"encoding/json"
	"fmt"

	"fakellm/openai/speech"
)

// audioBody is the member audio of a request.
type audioBody struct {
	Voice  json.RawMessage `json:"voice"`
	Format *string         `json:"format"`
}

// idBody refers to something by its id: a custom voice, or a spoken answer.
type idBody struct {
	ID *string `json:"id"`
}

// Speech asks for an answer that is spoken.
type Speech struct {
	// Voice is a name or the id of a custom voice; it decides about pitch only.
	Voice  string
	Format speech.Format
}

// speech reads modalities and audio: text alone, or text and audio, which asks for a spoken answer.
func (c checker) speech(req *ChatRequest, b *chatBody) error {
	text, audio := len(b.Modalities) == 0, false
	for i, m := range b.Modalities {
		if err := oneOf(fmt.Sprintf("modalities[%d]", i), &m, "text", "audio"); err != nil {
			return err
		}
		text, audio = text || m == "text", audio || m == "audio"
	}
	switch {
	case !audio:
		return nil
	case !text:
		return badRequest("modalities", codeUnsupValue,
			"unsupported value: 'modalities' does not support ['audio'], supported are ['text'] and ['text', 'audio']")
	case isNull(b.Audio):
		return missing("audio")
	case kindOf(b.Audio) != "an object":
		return badRequest("audio", codeType, "invalid type for 'audio': expected an object, got %s", kindOf(b.Audio))
	case req.Logprobs:
		return badRequest("logprobs", codeUnsupValue, "unsupported value: 'logprobs' is not supported for spoken answers")
	case req.Prediction != "":
		return badRequest("prediction", codeUnsupValue, "unsupported value: 'prediction' is not supported for spoken answers")
	}
	var a audioBody
	if err := decodeError(b.Audio, json.Unmarshal(b.Audio, &a), "audio"); err != nil {
		return err
	}
	voice, err := voiceOf(a.Voice)
	if err != nil {
		return err
	}
	if err := required("audio.format", a.Format); err != nil {
		return err
	}
	if err := oneOf("audio.format", a.Format, speech.Formats()...); err != nil {
		return err
	}
	if req.Stream && *a.Format != string(speech.PCM16) {
		return badRequest("audio.format", codeUnsupValue,
			"unsupported value: 'audio.format' does not support '%s' when 'stream' is true, supported is 'pcm16'", *a.Format)
	}
	req.Speech = &Speech{Voice: voice, Format: speech.Format(*a.Format)}
	return nil
}

// voiceOf reads a voice: a name, or an object with the id of a custom one.
func voiceOf(raw json.RawMessage) (string, error) {
	const field = "audio.voice"
	if isNull(raw) {
		return "", missing(field)
	}
	var name string
	var custom idBody
	switch kindOf(raw) {
	case "a string":
		err := decodeError(raw, json.Unmarshal(raw, &name), field)
		if err == nil {
			err = required(field, &name)
		}
		return name, err
	case "an object":
		err := decodeError(raw, json.Unmarshal(raw, &custom), field)
		if err == nil {
			err = required(field+".id", custom.ID)
		}
		set(&name, custom.ID)
		return name, err
	default:
		return "", badRequest(field, codeType, "invalid type for '%s': expected a string or an object, got %s", field, kindOf(raw))
	}
}

// audioID reads the member audio of an assistant message, which names an answer that was spoken before.
func audioID(field, role string, raw json.RawMessage) (string, error) {
	if isNull(raw) {
		return "", nil
	}
	field += ".audio"
	if role != "assistant" {
		return "", badRequest(field, codeValue, "invalid '%s': only assistant messages have it, not role %q", field, role)
	}
	if kindOf(raw) != "an object" {
		return "", badRequest(field, codeType, "invalid type for '%s': expected an object, got %s", field, kindOf(raw))
	}
	var b idBody
	if err := decodeError(raw, json.Unmarshal(raw, &b), field); err != nil {
		return "", err
	}
	if err := required(field+".id", b.ID); err != nil {
		return "", err
	}
	return *b.ID, nil
}
