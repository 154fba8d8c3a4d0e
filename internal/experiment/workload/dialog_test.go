package workload

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fakellm/engine/kv"
)

// TestDialogEqualsItsTokens grows random conversations and spells each turn out beside it.
func TestDialogEqualsItsTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block, size := rapid.IntRange(1, 5).Draw(t, "block"), rapid.IntRange(1, 5).Draw(t, "size")
		table, s := NewTable(block), &speaker{}
		var d *dialog
		var said kv.Tokens // the prompt of the next turn, without its new input
		emitted := 0
		for range rapid.IntRange(1, 6).Draw(t, "turns") {
			ids := rapid.SliceOfN(rapid.Uint32Range(0, 3), 1, 4).Draw(t, "ids")
			input := table.Prompt(ids, rapid.IntRange(1, len(ids)*block).Draw(t, "tokens"))
			output := rapid.IntRange(0, 7).Draw(t, "output")
			first := firstOutput + s.said
			d = d.next(s, emitted, &input, output)
			want := append(slices.Clone(said), input.AppendTokens(nil, 0, input.tokens)...)
			if d.prompt != len(want) {
				t.Fatalf("prompt of %d tokens, want %d", d.prompt, len(want))
			}
			for i := range output {
				want = append(want, first+uint32(i))
			}
			if got := d.AppendTokens(nil, 0, 1<<20); !slices.Equal(got, want) {
				t.Fatalf("tokens %v, want %v", got, want)
			}
			for i := range len(want)/size + 2 {
				h, ok := d.Local(i, size)
				if wantH, wantOK := want.Local(i, size); h != wantH || ok != wantOK {
					t.Fatalf("block %d: %x %v, want %x %v", i, h, ok, wantH, wantOK)
				}
			}
			emitted = rapid.IntRange(0, output).Draw(t, "emitted")
			said = want[:d.prompt+emitted]
		}
	})
}
