package openaitest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fakellm/openai/openaitest"
)

// TestAcceptedDrafts: with acceptance rates of 1 every pass gives the target's token and all drafts, so of 12 tokens in
// bursts of 3 the drafts are 8. Without speculation there are none.
func TestAcceptedDrafts(t *testing.T) {
	for _, row := range []struct {
		backend, drafts, rates string
		want                   int
	}{{"vllm", "2", "1,1", 8}, {"sglang", "2", "1,1", 7}, {"vllm", "0", "", 0}} {
		synctest.Test(t, func(t *testing.T) {
			s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("backend", row.backend),
				openaitest.Set("num_speculative_tokens", row.drafts), openaitest.Set("acceptance_rates", row.rates))
			_, body := post(t, s, "/completions", `{"model":"m","max_tokens":12,"ignore_eos":true,"prompt":`+prompt(100)+`}`)
			var a struct {
				Usage struct {
					Completion int `json:"completion_tokens"`
					Details    struct {
						Accepted int `json:"accepted_prediction_tokens"`
					} `json:"completion_tokens_details"`
				} `json:"usage"`
			}
			if err := json.Unmarshal([]byte(body), &a); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if a.Usage.Completion != 12 || a.Usage.Details.Accepted != row.want {
				t.Errorf("%s with %s drafts: %d of %d tokens accepted, want %d", row.backend, row.drafts,
					a.Usage.Details.Accepted, a.Usage.Completion, row.want)
			}
		})
	}
}

// TestObservedBesidePredicted: under a clock that is never late, what has been written is what the model predicted, but
// for the nanosecond after which an instant is settled and the end of the stream that comes with its last token.
func TestObservedBesidePredicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"))
		post(t, s, "/completions", `{"model":"m","stream":true,"max_tokens":20,"ignore_eos":true,"prompt":`+prompt(200)+`}`)
		post(t, s, "/completions", `{"model":"m","max_tokens":2,"prompt":`+prompt(200)+`}`)
		records := s.Requests()
		r := records[0]
		if r.Predicted == nil || r.Observed == nil {
			t.Fatalf("%+v", r)
		}
		near := cmpopts.EquateApprox(0, 1e-5)
		if diff := cmp.Diff(r.Predicted, r.Observed, near); diff != "" {
			t.Errorf("predicted and observed, in ms: %s", diff)
		}
		if r.Predicted.ITL <= 0 || r.Events != 21 || r.Bytes < 21*100 {
			t.Errorf("%+v: want 20 tokens and the end", r)
		}
		if records[1].Observed != nil || records[1].Predicted == nil {
			t.Errorf("a whole answer has no gaps to observe: %+v", records[1])
		}
	})
}

// TestMediaCount: parts that are no text cost what package tokenize documents, in the prompt's count and in nothing else.
func TestMediaCount(t *testing.T) {
	s := openaitest.Start(t)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 600, 300))); err != nil {
		t.Fatal(err)
	}
	data := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	audio := 0
	count := func(parts string) int {
		_, body := post(t, s, "/chat/completions", `{"model":"gpt-4o","max_tokens":1,"messages":[{"role":"user","content":[`+parts+`]}]}`)
		var a answer
		if err := json.Unmarshal([]byte(body), &a); err != nil || a.Usage.Prompt == 0 {
			t.Fatalf("%v: %s", err, body)
		}
		audio = a.Usage.Details.Audio
		return a.Usage.Prompt
	}
	const text = `{"type":"text","text":"What is this?"}`
	base := count(text)
	for _, row := range []struct {
		why, part string
		want      int
	}{
		{"an image in low detail", `{"type":"image_url","image_url":{"url":"https://x.test/a.png","detail":"low"}}`, 85},
		{"an image of unknown size is 1024 x 1024, so 2 x 2 tiles", `{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}`, 85 + 4*170},
		{"600 x 300 pixels touch two tiles", `{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
			base64.StdEncoding.EncodeToString(picture.Bytes()) + `"}}`, 85 + 2*170},
		{"1.2 s of 24 kHz sound", `{"type":"input_audio","input_audio":{"data":"` + data(57600) + `","format":"wav"}}`, 12},
		{"2.4 s of mp3", `{"type":"input_audio","input_audio":{"data":"` + data(19200) + `","format":"mp3"}}`, 24},
		{"a file of 900 bytes", `{"type":"file","file":{"filename":"a.pdf","file_data":"` + data(900) + `"}}`, 225},
	} {
		// Base64 says its length up to two bytes only, so 100 ms or 4 bytes more may have begun.
		got := count(text+","+row.part) - base
		if got < row.want || got > row.want+1 {
			t.Errorf("%s: %d tokens, want %d", row.why, got, row.want)
		}
		if sound := strings.Contains(row.part, "input_audio"); sound && audio != got || !sound && audio != 0 {
			t.Errorf("%s: %d audio_tokens of %d", row.why, audio, got)
		}
	}
	low := `{"type":"image_url","image_url":{"url":"https://x.test/a.png","detail":"low"}}`
	if got := count(text+","+low+","+low) - base; got != 2*85 {
		t.Errorf("two images: %d tokens, want %d", got, 2*85)
	}
}

// TestTimingTrailer: at the end of a stream the client hears what was predicted and what came about.
func TestTimingTrailer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openaitest.Start(t, openaitest.InMemory(), openaitest.Set("fast", "false"), openaitest.Set("timing", "fixed"))
		resp, _ := post(t, s, "/completions", `{"model":"m","stream":true,"max_tokens":3,"ignore_eos":true,"prompt":`+prompt(8)+`}`)
		const want = "queue;dur=0.000, prefill;dur=10.000, decode;dur=4.000, ttft;dur=10.000, " +
			"observed-ttft;dur=10.000, observed-itl;dur=2.000, observed-total;dur=14.000"
		if got := resp.Trailer.Get("Server-Timing"); got != want {
			t.Errorf("Server-Timing %q, want %q", got, want)
		}
	})
}
