package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fakellm/openai/reply"
	"fakellm/openai/speech"
	"fakellm/tokenize"
)

// aloud are the members of a request that wants to be answered in sound.
func aloud(format string) string {
	return `"modalities":["text","audio"],"audio":{"voice":"alloy","format":"` + format + `"}`
}

// counting is a Planner whose answers are count words long.
func counting(count int) words {
	return words{choice: func(int, int) Choice { return wordChoice(count, "stop") }}
}

func speechRows() []badRow {
	const ok = `"audio":{"voice":"alloy","format":"pcm16"}`
	both := `"modalities":["text","audio"],`
	return []badRow{
		{"audio wants to know how", chatPath, withField(`"modalities":["text","audio"]`), 400, "audio", codeMissing},
		{"audio null is no audio", chatPath, withField(both + `"audio":null`), 400, "audio", codeMissing},
		{"audio is an object", chatPath, withField(both + `"audio":"wav"`), 400, "audio", codeType},
		{"audio without text is not on offer", chatPath, withField(`"modalities":["audio"],` + ok), 400, "modalities", codeUnsupValue},
		{"an unknown modality", chatPath, withField(`"modalities":["text","smell"],` + ok), 400, "modalities[1]", codeValue},
		{"no voice", chatPath, withField(both + `"audio":{"format":"wav"}`), 400, "audio.voice", codeMissing},
		{"an empty voice", chatPath, withField(both + `"audio":{"voice":"","format":"wav"}`), 400, "audio.voice", codeValue},
		{"a voice is a name or an object", chatPath, withField(both + `"audio":{"voice":1,"format":"wav"}`), 400, "audio.voice", codeType},
		{"a custom voice has an id", chatPath, withField(both + `"audio":{"voice":{},"format":"wav"}`), 400, "audio.voice.id", codeMissing},
		{"no format", chatPath, withField(both + `"audio":{"voice":"alloy"}`), 400, "audio.format", codeMissing},
		{"a format of another type", chatPath, withField(both + `"audio":{"voice":"alloy","format":1}`), 400, "audio.format", codeType},
		{"an unknown format", chatPath, withField(both + `"audio":{"voice":"alloy","format":"ogg"}`), 400, "audio.format", codeValue},
		{"mp3 takes an encoder", chatPath, withField(aloud("mp3")), 400, "audio.format", codeUnsupValue},
		{"opus takes an encoder", chatPath, withField(aloud("opus")), 400, "audio.format", codeUnsupValue},
		{"only pcm16 can be streamed", chatPath, streaming(hello, ","+aloud("wav")), 400, "audio.format", codeUnsupValue},
		{"sound has no log probabilities", chatPath, withField(`"logprobs":true,` + aloud("wav")), 400, "logprobs", codeUnsupValue},
		{
			"nor can it be predicted", chatPath, withField(`"prediction":{"type":"content","content":"x"},` + aloud("wav")),
			400, "prediction", codeUnsupValue,
		},
		{
			"audio that nobody has heard", chatPath, withMessages(`[{"role":"assistant","audio":{"id":"audio_x"}},{"role":"user","content":"x"}]`),
			400, "messages[0].audio.id", codeValue,
		},
		{
			"audio without id", chatPath, withMessages(`[{"role":"assistant","audio":{}}]`),
			400, "messages[0].audio.id", codeMissing,
		},
		{
			"audio that is no object", chatPath, withMessages(`[{"role":"assistant","audio":"audio_x"}]`),
			400, "messages[0].audio", codeType,
		},
		{
			"only assistants have spoken", chatPath, withMessages(`[{"role":"user","content":"x","audio":{"id":"audio_x"}}]`),
			400, "messages[0].audio", codeValue,
		},
	}
}

// heard is a spoken answer as a client puts it together.
type heard struct {
	id, transcript, finish string
	sound                  []byte
	expires                int64
	usage                  Usage
}

func hearWhole(t *testing.T, body string) heard {
	t.Helper()
	var resp struct {
		Choices []struct {
			Message struct {
				Content *string
				Audio   *messageAudio
			}
			FinishReason string `json:"finish_reason"`
		}
		Usage Usage
	}
	if err := json.Unmarshal([]byte(body), &resp); err != nil {
		t.Fatalf("%v in %.300q", err, body)
	}
	c := resp.Choices[0]
	if c.Message.Content != nil || c.Message.Audio == nil {
		t.Fatalf("content %v, audio %v: %.300s", c.Message.Content, c.Message.Audio, body)
	}
	sound, err := base64.StdEncoding.DecodeString(c.Message.Audio.Data)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Message.Audio
	return heard{a.ID, a.Transcript, c.FinishReason, sound, a.ExpiresAt, resp.Usage}
}

// hearStream checks the order of a spoken stream of one choice: id with the role, then transcript and sound, then the
// expiry, then the end.
func hearStream(t *testing.T, body string) heard {
	t.Helper()
	h := heard{sound: []byte{}}
	for i, ev := range events(t, body) {
		if ev == "[DONE]" {
			continue
		}
		var c chatChunk
		if err := json.Unmarshal([]byte(ev), &c); err != nil {
			t.Fatal(err)
		}
		if len(c.Choices) == 0 {
			if err := json.Unmarshal(c.Usage, &h.usage); err != nil {
				t.Fatal(err)
			}
			continue
		}
		d := c.Choices[0].Delta
		if strings.Contains(ev, `"content":"`) {
			t.Errorf("event %d has content: %s", i, ev)
		}
		switch a := d.Audio; {
		case a == nil && c.Choices[0].FinishReason != nil:
			h.finish = *c.Choices[0].FinishReason
		case a == nil:
			t.Errorf("event %d is not about audio: %s", i, ev)
		case a.ID != "":
			if i != 0 || d.Role != "assistant" {
				t.Errorf("the id comes in event %d: %s", i, ev)
			}
			h.id = a.ID
		case a.ExpiresAt != 0:
			h.expires = a.ExpiresAt
		case h.expires != 0 || h.finish != "" || h.id == "":
			t.Errorf("event %d is out of order: %s", i, ev)
		default:
			h.transcript += deref(a.Transcript)
			raw, err := base64.StdEncoding.DecodeString(a.Data)
			if err != nil {
				t.Fatal(err)
			}
			h.sound = append(h.sound, raw...)
		}
	}
	return h
}

// TestSpokenAnswer: whole and streamed, the same transcript and the same sound, of the documented length, all of it
// counted.
func TestSpokenAnswer(t *testing.T) {
	o := testOracle(t)
	for _, tc := range []struct {
		why, more  string
		transcript string
		frames     int
		finish     string
	}{
		{"an answer of three tokens", "", "t0 t1 t2 ", 18, "stop"},
		{"a limit counts sound too", `,"max_completion_tokens":9`, "t0 t1 ", 7, "length"},
		{"a limit of one token has no sound", `,"max_completion_tokens":1`, "t0 ", 0, "length"},
		{"a limit just met", `,"max_completion_tokens":21`, "t0 t1 t2 ", 18, "stop"},
		{"a wished length counts sound too", `,"x_sim":{"output_tokens":8}`, "t0 t1 ", 6, "stop"},
		{"a wished end", `,"x_sim":{"finish_reason":"content_filter"}`, "t0 t1 t2 ", 18, "content_filter"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, counting(3))
			start := time.Now()
			resp, body := r.ask(t, chatPath, withField(aloud("pcm16")+tc.more))
			o.check(t, "CreateChatCompletionResponse", body)
			whole := hearWhole(t, body)
			tokens := strings.Count(tc.transcript, " ") + tc.frames
			if took := time.Since(start); took != time.Duration(tokens)*time.Millisecond {
				t.Errorf("%s: %d tokens took %v: every token is paced", tc.why, tokens, took)
			}
			want := heard{
				id: whole.id, transcript: tc.transcript, finish: tc.finish, sound: whole.sound,
				expires: start.Add(time.Hour).Unix(), usage: Usage{PromptTokens: 5, CompletionTokens: tokens, TotalTokens: 5 + tokens},
			}
			want.usage.CompletionDetails.AudioTokens = tc.frames
			if diff := cmp.Diff(want, whole, cmp.AllowUnexported(heard{})); diff != "" {
				t.Errorf("%s: %s", tc.why, diff)
			}
			if len(whole.sound) != tc.frames*speech.FrameBytes || !strings.HasPrefix(whole.id, "audio_") {
				t.Errorf("%s: %d bytes of sound, want %d frames; id %s", tc.why, len(whole.sound), tc.frames, whole.id)
			}
			if resp.ContentLength != int64(len(body)) {
				t.Errorf("%s: a length of %d for %d bytes", tc.why, resp.ContentLength, len(body))
			}
			for _, interval := range []string{"", `,"stream_interval":3`, `,"stream_interval":1000`} {
				more := "," + aloud("pcm16") + tc.more + interval + `,"stream_options":{"include_usage":true}`
				_, body = r.ask(t, chatPath, streaming(hello, more))
				o.checkStream(t, "CreateChatCompletionStreamResponse", body)
				checkOrder(t, body, 1, true)
				got := hearStream(t, body)
				if got.id == whole.id || got.id == "" {
					t.Errorf("%s: ids %q and %q", tc.why, got.id, whole.id)
				}
				got.id, got.expires = whole.id, whole.expires
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(heard{})); diff != "" {
					t.Errorf("%s, streamed%s: %s", tc.why, interval, diff)
				}
			}
		})
	}
}

// TestSpokenShapes: only content is spoken; thinking, calls and refusals stay what they are.
func TestSpokenShapes(t *testing.T) {
	o := testOracle(t)
	for name, choice := range shapes() {
		if choice.Probs != nil {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			plan := words{choice: func(int, int) Choice { return choice }}
			r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, plan)
			silent, _ := json.Marshal(chatOf(t, r, withField(`"n":2`)))
			_, whole := r.ask(t, chatPath, withField(`"n":2,`+aloud("wav")))
			o.check(t, "CreateChatCompletionResponse", whole)
			_, stream := r.ask(t, chatPath, streaming(hello, `,"n":2,"stream_options":{"include_usage":true},`+aloud("pcm16")))
			if name != "custom" {
				o.checkStream(t, "CreateChatCompletionStreamResponse", stream)
			}
			checkOrder(t, stream, 2, true)
			sameAnswer(t, whole, stream)
			speaks := name == "plain" || name == "mixed" || name == "empty"
			if strings.Contains(whole, `"audio":{`) != speaks || strings.Contains(stream, `"audio":{`) != speaks {
				t.Errorf("%s: spoken is %v, want %v: %.300s", name, !speaks, speaks, whole)
			}
			if !speaks {
				again, _ := json.Marshal(chatOf(t, r, withField(`"n":2,`+aloud("wav"))))
				if string(again) != string(silent) {
					t.Errorf("%s: not spoken, and yet not the same: %s, before %s", name, again, silent)
				}
			}
		})
	}
}

// chatOf is the choices of an answer.
func chatOf(t *testing.T, r *rig, body string) []chatChoice {
	t.Helper()
	_, text := r.ask(t, chatPath, body)
	var resp chatResponse
	if err := json.Unmarshal([]byte(text), &resp); err != nil {
		t.Fatal(err)
	}
	return resp.Choices
}

// TestSpokenTurns: what was spoken can be referred to in the next turn, as a stored answer it sounds again, and it is
// forgotten after an hour.
func TestSpokenTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, &pacer{gap: time.Millisecond}, counting(3))
		_, body := r.ask(t, chatPath, withField(`"store":true,`+aloud("wav")))
		first := hearWhole(t, body)
		if string(first.sound[:4]) != "RIFF" || len(first.sound) != 44+18*speech.FrameBytes {
			t.Errorf("%d bytes of sound that begin with %q", len(first.sound), first.sound[:4])
		}
		var stored struct{ ID string }
		if err := json.Unmarshal([]byte(body), &stored); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{chatPath + "/" + stored.ID, chatPath} {
			resp, err := r.client.Get("http://x" + path)
			if err != nil {
				t.Fatal(err)
			}
			var again json.RawMessage
			if err := json.NewDecoder(resp.Body).Decode(&again); err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if !strings.Contains(string(again), base64.StdEncoding.EncodeToString(first.sound)) {
				t.Errorf("%s: the stored answer sounds different: %.300s", path, again)
			}
		}
		turn := fmt.Sprintf(`[{"role":"assistant","audio":{"id":%q}},{"role":"user","content":"go on"}]`, first.id)
		resp, body := r.ask(t, chatPath, withMessages(turn))
		var second chatResponse
		if err := json.Unmarshal([]byte(body), &second); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
		}
		if second.Usage.PromptTokens != 3+3+2 {
			t.Errorf("a prompt of %d tokens, want the template's 3, the transcript's 3 and 2", second.Usage.PromptTokens)
		}
		time.Sleep(time.Hour)
		if resp, body = r.ask(t, chatPath, withMessages(turn)); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("after an hour: %d %s", resp.StatusCode, body)
		}
	})
}

// TestSpokenReaderStops: a client that never reads its sound is given up after the write timeout, and the deadline does
// not outlive the answer.
func TestSpokenReaderStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{WriteTimeout: time.Second}, &pacer{}, counting(3))
		r.client.Transport.(*http.Transport).ReadBufferSize = 1
		resp := r.post(t, chatPath, withField(aloud("wav")))
		time.Sleep(20 * time.Second)
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil {
			t.Errorf("all of %d bytes came after 20 s of silence", len(body))
		}
		for range 3 {
			_, body := r.ask(t, chatPath, withField(aloud("wav")))
			hearWhole(t, body)
			time.Sleep(5 * time.Second) // longer than the deadline
			if resp, body := r.ask(t, chatPath, hello); resp.StatusCode != http.StatusOK {
				t.Errorf("afterwards: %d %s", resp.StatusCode, body)
			}
		}
	})
}

// TestVoicesAreBounded: neither many answers nor long ones make the memory grow; the newest stay.
func TestVoicesAreBounded(t *testing.T) {
	v := newVoices(100)
	say := func(id, text string) {
		c := Choice{Text: text, Ends: []uint32{uint32(len(text))}, Tokens: 1}
		c.utter(1)
		c.spoken = &spoken{id: id, expires: 1000}
		v.keep([]Choice{c})
	}
	for i := range 1000 {
		say(fmt.Sprint(i), "words")
	}
	if v.known.Len() != 100 || v.size != 500 {
		t.Errorf("%d answers of %d bytes, want 100 of 500", v.known.Len(), v.size)
	}
	for i := range 40 {
		say(fmt.Sprint("long", i), strings.Repeat("x", 1<<20))
	}
	if v.size > maxSpokenBytes || v.known.Len() != maxSpokenBytes>>20 {
		t.Errorf("%d answers of %d bytes", v.known.Len(), v.size)
	}
	if _, ok := v.recall("long39", time.Unix(999, 0)); !ok {
		t.Error("the newest was forgotten")
	}
	if _, ok := v.recall("long39", time.Unix(1000, 0)); ok {
		t.Error("an expired one is known")
	}
	if _, ok := v.recall("long0", time.Unix(0, 0)); ok {
		t.Error("the oldest is known")
	}
}

// TestSpokenTokens: the ids that are paced are those of the words with sound between them, equal for equal answers.
func TestSpokenTokens(t *testing.T) {
	planner := realPlanner(t, PlannerOptions{Reply: reply.Config{Length: reply.Length{Kind: reply.LengthFixed, Mean: 20}}})
	enc, err := tokenize.Get(tokenize.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{gap: time.Millisecond}
		r := newRig(t, Options{}, p, planner)
		_, one := r.ask(t, chatPath, withField(aloud("pcm16")))
		_, two := r.ask(t, chatPath, withField(aloud("pcm16")))
		a, b := hearWhole(t, one), hearWhole(t, two)
		if a.transcript != b.transcript || string(a.sound) != string(b.sound) || !cmp.Equal(p.jobs[0].Output, p.jobs[1].Output) {
			t.Error("the same request sounds different the second time")
		}
		var said []uint32
		for i, id := range p.jobs[0].Output {
			if i%beat == 0 {
				said = append(said, id)
			} else if id < 0xf8000000 {
				t.Fatalf("position %d is sound and has the id %d of a word", i, id)
			}
		}
		if !cmp.Equal(said, enc.AppendEncode(nil, a.transcript)) || len(said) != 20 || p.jobs[0].OutputTokens != 20*beat {
			t.Errorf("%d tokens of text in %d", len(said), p.jobs[0].OutputTokens)
		}
	})
}
