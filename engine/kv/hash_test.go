package kv_test

import (
	"testing"

	"fakellm/engine/kv"
)

func ids(from, to int) []uint32 {
	var out []uint32
	for i := from; i <= to; i++ {
		out = append(out, uint32(i))
	}
	return out
}

// TestHashGoldens pins both hashes against the reference's numbers (spec engine-core §5.1).
func TestHashGoldens(t *testing.T) {
	for _, tc := range []struct {
		name string
		ids  []uint32
		want kv.LocalHash
	}{
		{"first block", ids(0, 3), 9143094415614847814},
		{"second block", ids(4, 7), 12124091508212882195},
		{"one based", ids(1, 4), 14643705804678351452},
		{"one based, second", ids(5, 8), 16777012769546811212},
		{"sixteen tokens", ids(0, 15), 15310707395893867146},
		{"sixty-four tokens take the long path of XXH3", ids(0, 63), 3480597578098033343},
		{"a single token", ids(0, 0), 16451421758532862321},
	} {
		if got := kv.HashTokens(tc.ids); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
	if got := kv.Chain(9143094415614847814, 12124091508212882195); got != 9510318385840434533 {
		t.Errorf("sequence of the second block: got %d", got)
	}
	if got := kv.Chain(14643705804678351452, 16777012769546811212); got != 4945711292740353085 {
		t.Errorf("sequence of the second one-based block: got %d", got)
	}
}

func TestTokens(t *testing.T) {
	c := kv.Tokens(ids(0, 9))
	if h, ok := c.Local(1, 4); !ok || h != 12124091508212882195 {
		t.Errorf("Local(1, 4) = %d, %v", h, ok)
	}
	if _, ok := c.Local(2, 4); ok {
		t.Error("a block beyond the end must have no content")
	}
	if got := c.AppendTokens(nil, 8, 12); len(got) != 2 || got[0] != 8 {
		t.Errorf("AppendTokens(8, 12) = %v", got)
	}
}

func TestLongBlock(t *testing.T) {
	a, b := ids(0, 1023), ids(0, 1023)
	if kv.HashTokens(a) != kv.HashTokens(b) {
		t.Error("equal blocks beyond the stack buffer must hash equally")
	}
	b[1023]++
	if kv.HashTokens(a) == kv.HashTokens(b) {
		t.Error("the last token must count")
	}
}
