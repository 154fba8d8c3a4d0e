//go:build !race

package clienttest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	official "github.com/openai/openai-go/v3"

	"fakellm/openai/speech"
)

// spokenParams asks for an answer in sound.
func spokenParams(format official.ChatCompletionAudioParamFormat) official.ChatCompletionNewParams {
	p := params()
	p.Modalities = []string{"text", "audio"}
	p.Audio = official.ChatCompletionAudioParam{
		Format: format, Voice: official.ChatCompletionAudioParamVoiceUnion{OfString: official.String("alloy")},
	}
	p.MaxCompletionTokens = official.Int(70)
	return p
}

// TestAudio: the client reads a spoken answer, whole and streamed, and refers to it in the next turn.
func TestAudio(t *testing.T) {
	c := serve(t, &instant{})
	whole, err := c.Chat.Completions.New(t.Context(), spokenParams("wav"))
	if err != nil {
		t.Fatal(err)
	}
	m := whole.Choices[0].Message
	sound, err := base64.StdEncoding.DecodeString(m.Audio.Data)
	if err != nil || m.Audio.ID == "" || m.Audio.Transcript == "" || m.Audio.ExpiresAt <= whole.Created || m.Content != "" {
		t.Errorf("audio %q %q until %d, content %q: %v", m.Audio.ID, m.Audio.Transcript, m.Audio.ExpiresAt, m.Content, err)
	}
	u := whole.Usage
	if u.CompletionTokens != 70 || u.CompletionTokensDetails.AudioTokens != 60 || len(sound) != 44+60*speech.FrameBytes ||
		whole.Choices[0].FinishReason != "length" {
		t.Errorf("usage %+v, %d bytes of sound, %s", u, len(sound), whole.Choices[0].FinishReason)
	}

	p := spokenParams("pcm16")
	p.StreamOptions = official.ChatCompletionStreamOptionsParam{IncludeUsage: official.Bool(true)}
	stream := c.Chat.Completions.NewStreaming(t.Context(), p)
	acc := official.ChatCompletionAccumulator{}
	transcript, pcm := "", 0
	for stream.Next() {
		chunk := stream.Current()
		if !acc.AddChunk(chunk) {
			t.Errorf("chunk refused: %s", chunk.RawJSON())
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		var d struct {
			Audio struct{ Transcript, Data string }
		}
		if err := json.Unmarshal([]byte(chunk.Choices[0].Delta.RawJSON()), &d); err != nil {
			t.Fatal(err)
		}
		transcript += d.Audio.Transcript
		pcm += len(d.Audio.Data) / 4 * 3
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if transcript != m.Audio.Transcript || pcm != len(sound)-44 || acc.Usage.CompletionTokens != 70 ||
		acc.Usage.CompletionTokensDetails.AudioTokens != 60 {
		t.Errorf("streamed %q, %d bytes, %+v; whole %q", transcript, pcm, acc.Usage, m.Audio.Transcript)
	}

	next := params()
	next.Messages = append(next.Messages, m.ToParam(), official.UserMessage("go on"))
	long, err := c.Chat.Completions.New(t.Context(), next)
	if err != nil || long.Usage.PromptTokens < whole.Usage.PromptTokens+10 {
		t.Errorf("the next turn: %v, %v", long, err)
	}
}

func TestAudioRefusals(t *testing.T) {
	c := serve(t, &instant{})
	for _, format := range []official.ChatCompletionAudioParamFormat{"mp3", "opus", "flac", "aac"} {
		_, err := c.Chat.Completions.New(t.Context(), spokenParams(format))
		api, ok := errors.AsType[*official.Error](err)
		if !ok || api.StatusCode != 400 || api.Param != "audio.format" || !strings.Contains(api.Message, "'wav' and 'pcm16'") {
			t.Errorf("%s: %v", format, err)
		}
	}
	stream := c.Chat.Completions.NewStreaming(t.Context(), spokenParams("wav"))
	next := stream.Next()
	if api, ok := errors.AsType[*official.Error](stream.Err()); next || !ok || api.Param != "audio.format" {
		t.Errorf("wav in a stream: %v", stream.Err())
	}
}
