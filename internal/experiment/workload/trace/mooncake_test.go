package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fakellm/engine/kv"
	"fakellm/internal/experiment/workload"
)

func read(t testing.TB, text string, block int) *workload.Load {
	t.Helper()
	l, err := Mooncake(strings.NewReader(text), Options{Name: "t.jsonl", Block: block})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestRows(t *testing.T) {
	l := read(t, `{"timestamp": 12.5, "input_length": 1100, "output_length": 40, "hash_ids": [7, 8, 18446744073709551615]}

 {"created_time":-3e2,"input_tokens":5,"output_tokens":0,"hash_ids":[8],"output_token_ids":[],"priority":-1,"x":{"a":["\"]"]}}
{"hash_ids":[7,7],"output_length":1,"timestamp":null,"request_id":"r","session_id":null,"strict_priority":0}`, 512)
	type row struct {
		Start          float64
		Line           int
		Prompt, Output int
	}
	var got []row
	for _, s := range l.Sessions {
		turn := l.Turns[s.First]
		start := s.Start
		if math.IsNaN(start) {
			start = -1
		}
		got = append(got, row{start, s.Line, turn.Prompt, turn.Output})
	}
	want := []row{{12.5, 1, 1100, 40}, {-300, 3, 5, 0}, {-1, 4, 1024, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if l.Named || !l.File {
		t.Errorf("single turns are named: %v, from a file: %v", l.Named, l.File)
	}
}

func TestSessions(t *testing.T) {
	l := read(t, `{"session_id":"a","timestamp":100,"input_length":10,"output_length":1,"hash_ids":[1]}
{"session_id":"b","timestamp":0,"input_length":11,"output_length":1,"hash_ids":[1]}
{"session_id":"a","delay_ms":7.5,"input_length":12,"output_length":1,"hash_ids":[1]}
{"session_id":"b","timestamp":30,"input_length":13,"output_length":1,"hash_ids":[1]}
{"session_id":"a","input_length":14,"output_length":1,"hash_ids":[1]}`, 64)
	if !l.Named || len(l.Sessions) != 2 || l.Sessions[0].Count != 3 || l.Sessions[1].Name != "b" {
		t.Fatalf("sessions %+v", l.Sessions)
	}
	for i, want := range []workload.Turn{{Prompt: 10}, {Prompt: 12, Delay: 7.5}, {Prompt: 14}} {
		if got := l.Turn(0, int32(i)); got.Prompt != want.Prompt || got.Delay != want.Delay {
			t.Errorf("turn %d of a: %+v", i, got)
		}
	}
	if got := l.Turn(1, 1); got.Delay != 30 {
		t.Errorf("delay from timestamps: %v", got.Delay)
	}
}

func TestErrorsNameTheirPlace(t *testing.T) {
	const good = `{"timestamp":1,"input_length":5,"output_length":1,"hash_ids":[1],"session_id":"s"}` + "\n"
	for _, c := range []struct{ why, text, field, problem string }{
		{"no object", `[]`, "", "expected '{'"},
		{"cut off", `{"timestamp":1`, "", "too early"},
		{"two objects", `{} {}`, "", "text after"},
		{"a trailing comma", `{"a":1,}`, "", "malformed JSON"},
		{"a stamp in quotes", `{"timestamp":"1"}`, "timestamp", "must be a number"},
		{"an infinite stamp", `{"timestamp":1e999}`, "timestamp", "finite"},
		{"a leading zero", `{"timestamp":01}`, "timestamp", "not a number"},
		{"both spellings", `{"timestamp":1,"created_time":1}`, "created_time", "twice"},
		{"no ids", `{"timestamp":1,"output_length":1}`, "hash_ids", "missing"},
		{"empty ids", `{"timestamp":1,"output_length":1,"hash_ids":[]}`, "hash_ids", "empty"},
		{"a negative id", `{"hash_ids":[-1],"output_length":1}`, "hash_ids", "-1"},
		{"a fraction as id", `{"hash_ids":[1.5],"output_length":1}`, "hash_ids", "1.5"},
		{"an id beyond 64 bits", `{"hash_ids":[18446744073709551616],"output_length":1}`, "hash_ids", "whole number"},
		{"no output", `{"hash_ids":[1]}`, "output_length", "missing"},
		{"huge output", `{"hash_ids":[1],"output_length":4294967296}`, "output_length", "2^31"},
		{"empty prompt", `{"hash_ids":[1],"output_length":1,"input_length":0}`, "input_length", "at least 1"},
		{"more prompt than ids", `{"hash_ids":[1],"output_length":1,"input_length":65}`, "input_length", "hold only 64"},
		{
			"wrong number of output ids", `{"hash_ids":[1],"output_length":2,"output_token_ids":[4]}`,
			"output_token_ids", "1 ids",
		},
		{
			"an output id beyond 32 bits", `{"hash_ids":[1],"output_length":1,"output_token_ids":[4294967296]}`,
			"output_token_ids", "2^32",
		},
		{"a delay at the beginning", `{"hash_ids":[1],"output_length":1,"delay":5}`, "delay", "first turn"},
		{"a negative delay", `{"hash_ids":[1],"output_length":1,"delay":-5}`, "delay", "negative"},
		{"time runs back", `{"hash_ids":[1],"output_length":1,"session_id":"s","timestamp":0}`, "timestamp", "before"},
		{"a session that is no text", `{"session_id":5}`, "session_id", "string"},
		{"a priority with a fraction", `{"priority":0.5}`, "priority", "32-bit"},
		{"a bare word", `{"x":nul}`, "", "JSON value"},
		{"a control character", "{\"x\":\"\x01\"}", "", "control"},
		{"deep nesting", `{"x":` + strings.Repeat("[", 100), "", "deeper"},
	} {
		_, err := Mooncake(strings.NewReader(good+c.text), Options{Name: "t.jsonl", Block: 64})
		var e *workload.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v", c.why, err)
			continue
		}
		if e.Source != "t.jsonl" || e.Line != 2 || e.Field != c.field || !strings.Contains(e.Problem, c.problem) {
			t.Errorf("%s: %v; want field %q and %q", c.why, e, c.field, c.problem)
		}
	}
	if _, err := Mooncake(strings.NewReader(good), Options{Block: -1}); err == nil {
		t.Error("a negative trace block")
	}
}

func TestLongLinesAndNoNewline(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"timestamp":0,"output_length":1,"hash_ids":[0`)
	for range 60_000 {
		b.WriteString(",1234567")
	}
	b.WriteString("]}\n" + `{"timestamp":0,"output_length":1,"hash_ids":[5]}`)
	l := read(t, b.String(), 16)
	if len(l.Turns) != 2 || l.Turns[0].Prompt != 60_001*16 || l.Turns[1].Prompt != 16 {
		t.Errorf("%d turns", len(l.Turns))
	}
}

// spelled is the definition: token p of a prompt is the number of the id of block p/block.
func spelled(ids []uint32, block, tokens int) kv.Tokens {
	out := make(kv.Tokens, tokens)
	for p := range out {
		out[p] = ids[p/block]
	}
	return out
}

func TestContentEqualsTheSpelledPrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.IntRange(1, 9).Draw(t, "block")
		table := workload.NewTable(block)
		for range 3 {
			ids := rapid.SliceOfN(rapid.Uint32Range(0, 3), 1, 12).Draw(t, "ids")
			tokens := rapid.IntRange(1, len(ids)*block).Draw(t, "tokens")
			size := rapid.IntRange(1, 9).Draw(t, "size")
			prompt := table.Prompt(ids, tokens)
			want := spelled(ids, block, tokens)
			for i := range tokens/size + 2 {
				h, ok := prompt.Local(i, size)
				wantH, wantOK := want.Local(i, size)
				if h != wantH || ok != wantOK {
					t.Fatalf("block %d of %d tokens of %v×%d: %x %v, want %x %v", i, size, ids, block, h, ok, wantH, wantOK)
				}
			}
			var all []kv.LocalHash
			for i := range tokens / size {
				h, _ := want.Local(i, size)
				all = append(all, h)
			}
			if got := prompt.AppendLocals(nil, 0, tokens, size); !slices.Equal(got, all) {
				t.Fatalf("in bulk %x, want %x", got, all)
			}
			if got := prompt.AppendTokens(nil, 0, tokens); !cmp.Equal([]uint32(want), got) {
				t.Fatalf("tokens %v, want %v", got, want)
			}
		}
	})
}

// TestNamesAreAsGoodAsHashes: two blocks have equal names if and only if they have equal hashes.
func TestNamesAreAsGoodAsHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block, size := rapid.IntRange(1, 6).Draw(t, "block"), rapid.IntRange(1, 6).Draw(t, "size")
		named, hashed := workload.NewNamedTable(block), workload.NewTable(block)
		names, hashes := map[kv.LocalHash]kv.LocalHash{}, map[kv.LocalHash]kv.LocalHash{}
		for range 3 {
			ids := rapid.SliceOfN(rapid.Uint32Range(0, 3), 1, 12).Draw(t, "ids")
			p, q := named.Prompt(ids, len(ids)*block), hashed.Prompt(ids, len(ids)*block)
			a, b := p.AppendLocals(nil, 0, 1<<20, size), q.AppendLocals(nil, 0, 1<<20, size)
			for i := range b {
				if n, ok := names[b[i]]; ok && n != a[i] {
					t.Fatalf("block %d of %v has two names", i, ids)
				}
				if h, ok := hashes[a[i]]; ok && h != b[i] {
					t.Fatalf("block %d of %v shares its name", i, ids)
				}
				names[b[i]], hashes[a[i]] = a[i], b[i]
			}
		}
	})
}

func TestInterning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n interner
		naive := map[uint64]uint32{}
		id := rapid.OneOf(rapid.Uint64Range(0, 50), rapid.Uint64Range(0, 20_000), rapid.Uint64())
		ids := rapid.SliceOf(id).Draw(t, "ids")
		for _, id := range ids {
			want, known := naive[id]
			if !known {
				want = uint32(len(naive))
				naive[id] = want
			}
			if got := n.number(id); got != want {
				t.Fatalf("number(%d) = %d, want %d", id, got, want)
			}
		}
	})
}

// FuzzMooncake holds the scanner against the standard library: it may only accept what that accepts as JSON objects.
func FuzzMooncake(f *testing.F) {
	f.Add([]byte(`{"timestamp": 12.5, "input_length": 1100, "output_length": 40, "hash_ids": [7, 8, 9]}`))
	f.Add([]byte(`{"session_id":"\u00e9\"","delay":0,"output_length":1,"hash_ids":[1],"x":[{},-0.5e-3,true,null]}`))
	f.Add([]byte("\n\n{}\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Mooncake(bytes.NewReader(data), Options{Name: "fuzz", Block: 16})
		if err != nil {
			var e *workload.Error
			if !errors.As(err, &e) || e.Source != "fuzz" || e.Line < 1 {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		count := 0
		for line := range bytes.Lines(data) {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			count++
			var object map[string]any
			if err := json.Unmarshal(line, &object); err != nil {
				t.Fatalf("accepted what is no JSON object: %v in %q", err, line)
			}
		}
		if len(l.Turns) != count {
			t.Fatalf("%d turns of %d rows", len(l.Turns), count)
		}
	})
}
