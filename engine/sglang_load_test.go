package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSGLangLoad pins the forward-pass metrics of a few passes (spec engine-core §10.3).
func TestSGLangLoad(t *testing.T) {
	cfg := DefaultConfig(SGLang)
	cfg.BlockSize, cfg.SGLang.ChunkedPrefillSize, cfg.EmitLoad = 4, 16, true
	c := newSGLang(cfg, 0, fixedModel{10, 2})
	for i, r := range []Request{
		{PromptTokens: 4, MaxOutput: 3}, {PromptTokens: 12, MaxOutput: 2}, {PromptTokens: 20, MaxOutput: 1},
	} {
		r.ID = RequestID(i)
		c.submit(&r)
	}
	for _, want := range []Load{
		// Prompts of 4 and 12 fill the chunk; the variance is that of whole prompts.
		{PrefillRequests: 2, PrefillTokens: 16, PrefillVar: 16, QueuedPrefillRequests: 1, QueuedPrefillTokens: 20},
		// A chunk of 16: the rest waits, still counted with its whole prompt. The decoders stall and do not count.
		{PrefillRequests: 1, PrefillTokens: 16, QueuedPrefillRequests: 1, QueuedPrefillTokens: 20},
		{PrefillRequests: 1, PrefillTokens: 4, PrefillKVTokens: 16},
		// 5 and 13 tokens, then 6 after the longer one has ended.
		{DecodeRequests: 2, DecodeKVTokens: 18, DecodeVar: 16},
		{DecodeRequests: 1, DecodeKVTokens: 6},
		{},
	} {
		var p Pass
		if _, err := c.pass(&p, turn{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, *p.Load); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
