package openai

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzFrame proves the byte templates equal to the encoding of the wire structs.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\b\f\n\r\t\x00\x1f\x7f", "\u2028\u2029", "a\xffb\xc3", "日本語 🙂", "<>&", "\xed\xa0\x80"} {
		f.Add(s, "model/"+s, 3, true, true)
		f.Add(s, s, 0, false, false)
	}
	f.Fuzz(func(t *testing.T, text, name string, index int, chat, withUsage bool) {
		who := identity{id: "id" + name, model: name, tier: "default", fingerprint: fingerprint, created: 1754000000}
		fr := newFrame(who, DialectOpenAI, chat, withUsage)
		got := string(fr.appendText(nil, fr.textPrefix(index), text))
		var use json.RawMessage
		if withUsage {
			use = null
		}
		var want []byte
		if chat {
			want = marshal(chatChunk{
				ID: who.id, Object: "chat.completion.chunk", Created: who.created, Model: name, ServiceTier: who.tier,
				SystemFingerprint: fingerprint, Usage: use,
				Choices: []chunkChoice{{Index: index, Delta: delta{Content: marshal(text)}}},
			})
		} else {
			want = marshal(textResponse{
				ID: who.id, Object: "text_completion", Created: who.created, Model: name, SystemFingerprint: fingerprint,
				Usage: use, Choices: []textChoice{{Index: index, Text: text}},
			})
		}
		if d := cmp.Diff("data: "+string(want)+"\n\n", got); d != "" {
			t.Error(d)
		}
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
	})
}

func TestFrameRare(t *testing.T) {
	who := identity{id: "i", model: "m", created: 7}
	fr := newFrame(who, DialectVLLM, true, true)
	reason := "stop"
	u := Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}
	base := chatChunk{ID: "i", Object: "chat.completion.chunk", Created: 7, Model: "m"}
	for _, row := range []struct {
		why    string
		got    []byte
		choice []chunkChoice
		usage  json.RawMessage
	}{
		{"finish", fr.appendChat(nil, chunkChoice{FinishReason: &reason}), []chunkChoice{{FinishReason: &reason}}, nil},
		{"usage", fr.appendUsage(nil, u), []chunkChoice{}, marshal(u)},
	} {
		want := base
		want.Choices, want.Usage = row.choice, row.usage
		if d := cmp.Diff("data: "+string(marshal(want))+"\n\n", string(row.got)); d != "" {
			t.Errorf("%s: %s", row.why, d)
		}
	}
}

// TestFrameDoesNotAllocate guards the token path.
func TestFrameDoesNotAllocate(t *testing.T) {
	fr := newFrame(identity{id: "i", model: "m"}, DialectOpenAI, true, true)
	prefix := fr.textPrefix(0)
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { buf = fr.appendText(buf[:0], prefix, "hello\n") }); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}
