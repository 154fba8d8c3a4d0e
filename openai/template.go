package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/gif"  // sizes of images
	_ "image/jpeg" // sizes of images
	_ "image/png"  // sizes of images
	"strings"

	"github.com/zeebo/xxh3"

	"fakellm/tokenize"
)

// chatTemplate turns a checked request into the conversation that package tokenize renders.
func chatTemplate(r *ChatRequest) tokenize.Chat {
	c := tokenize.Chat{Tools: toolsText(r.Tools), Messages: make([]tokenize.Message, len(r.Messages))}
	if r.Format.Schema != nil && r.Format.Field == "" {
		c.Format = compact(r.Format.Schema)
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		t := &c.Messages[i]
		t.Role, t.Name = m.Role, m.Name
		if len(m.Parts) == 1 && m.Parts[0].Data == "" {
			t.Content = m.Parts[0].Text
		} else {
			for _, p := range m.Parts {
				t.Parts = append(t.Parts, templatePart(p))
			}
		}
		if len(m.Parts) == 0 {
			t.Content = m.Refusal
		}
		for _, call := range m.Calls {
			t.Calls = append(t.Calls, tokenize.Call{Name: call.Name, Arguments: call.Arguments})
		}
	}
	return c
}

// toolsText is the JSON text under which tools enter the prompt: one compact object a line.
func toolsText(tools []Tool) string {
	var b strings.Builder
	for _, t := range tools {
		b.Write(marshal(struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
		}{t.Name, t.Description, t.Parameters}))
		b.WriteByte('\n')
	}
	return b.String()
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// bytesPerMillisecond of sound: 16-bit mono at 24 kHz for wav, 64 kbit/s for mp3.
const (
	wavRate = 48
	mp3Rate = 8
)

// templatePart gives media an identity and a cost in tokens (see tokenize.ImageTokens and its neighbours).
func templatePart(p Part) tokenize.Part {
	if p.Kind == "text" || p.Kind == "refusal" {
		return tokenize.Part{Text: p.Text}
	}
	out := tokenize.Part{Media: xxh3.HashString(p.Data)}
	size := base64.StdEncoding.DecodedLen(len(payload(p.Data)))
	switch p.Kind {
	case "image_url":
		w, h := imageSize(p.Data)
		out.Tokens = tokenize.ImageTokens(w, h, p.Detail)
	case "input_audio":
		rate := wavRate
		if p.Detail == "mp3" {
			rate = mp3Rate
		}
		out.Tokens = tokenize.AudioTokens(size / rate)
	default:
		out.Tokens = tokenize.FileTokens(size)
	}
	return out
}

// audioTokens is what the sound in a conversation costs.
func audioTokens(msgs []Message) int {
	n := 0
	for i := range msgs {
		for _, p := range msgs[i].Parts {
			if p.Kind == "input_audio" {
				n += templatePart(p).Tokens
			}
		}
	}
	return n
}

// payload is the base64 text of a data URL, or all of it.
func payload(data string) string {
	if strings.HasPrefix(data, "data:") {
		_, data, _ = strings.Cut(data, ",")
	}
	return data
}

// imageSize reads the size from the head of an image given as a data URL; 0, 0 if it cannot be known.
func imageSize(url string) (width, height int) {
	if !strings.HasPrefix(url, "data:") {
		return 0, 0
	}
	cfg, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(payload(url))))
	if err != nil {
		return 0, 0
	}
	return cfg.Width, cfg.Height
}
