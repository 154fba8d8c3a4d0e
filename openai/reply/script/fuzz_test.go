package script_test

import (
	"strings"
	"testing"

	"fakellm/openai/reply/script"
)

// FuzzParse: no input may panic; what is accepted is written and read back to the same text, matches and renders.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(`{"mappings":[{"request":{"body":{"$.a[0]['b']":"1"}},"response":{"text":"{{.User}}"}}]}`))
	f.Add([]byte("- {request: {}, steps: [{toolCalls: [{name: f, arguments: {a: '{{.Count}}'}}]}, {text: x}]}"))
	f.Add([]byte("mappings: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 || strings.Contains(string(data), "range") {
			return // loops over large numbers are the author's own time.
		}
		b, err := script.Parse("fuzz", data)
		if err != nil {
			return
		}
		one, err := b.ToJSON()
		if err != nil {
			t.Fatalf("writing: %v", err)
		}
		again, err := script.Parse("fuzz.json", one)
		if err != nil {
			t.Fatalf("reading %s: %v", one, err)
		}
		if two, _ := again.ToJSON(); string(one) != string(two) {
			t.Fatalf("%s\nis not\n%s", one, two)
		}
		st := script.NewState(1, script.Limits{})
		q := agent("result")
		q.Body = []byte(`{"a":[{"b":1}]}`)
		if s, ok := b.Match(st, q); ok {
			_, _ = s.Outcome(0)
		}
		b.NearMisses(st, q, 3)
	})
}

// FuzzListen: whatever a real endpoint sends is an answer or an error, and survives the tape.
func FuzzListen(f *testing.F) {
	f.Add(true, 200, []byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"))
	f.Add(false, 200, []byte(`{"choices":[{"index":0,"message":{"content":"a"}}]}`))
	f.Add(false, 500, []byte(`{"detail":"x"}`))
	f.Fuzz(func(t *testing.T, stream bool, status int, body []byte) {
		r := script.Recording{Key: "k"}
		if status < 200 || status > 599 || r.Listen(status, stream, body) != nil || (r.Error == nil && len(r.Answers) == 0) {
			return
		}
		line, err := script.AppendRecording(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := script.ReadTape("t", strings.NewReader(string(line))); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	})
}
