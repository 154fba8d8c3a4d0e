package script

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Request is what mappings look at. All of it is only read.
type Request struct {
	// Route is chat or completions; a completion's prompts are user messages.
	Route string
	Model string
	// Messages in their order.
	Messages []Message
	// Tools are the names of the offered tools.
	Tools []string
	// Header is the request's; names compare without regard to case.
	Header map[string][]string
	// Body is the raw JSON body; nil if there is none.
	Body []byte
	// Session groups requests; state is kept for each. Empty is a session like any other.
	Session string
}

// Message is one message. Text is all its text parts joined.
type Message struct {
	Role, Text string
	// Calls were made by an assistant message.
	Calls []Call
	// CallID is the call that a tool message answers.
	CallID string
}

// Call is a tool call with its arguments as text.
type Call struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// view is a request with what conditions ask for, computed once per match.
type view struct {
	*Request
	user, assistant, system          string
	hasUser, hasAssistant, hasSystem bool
	all                              []string
	results, resultIDs               []string
	turn, rounds                     int
	counts                           map[string]int
	// body is decoded when first asked for.
	body    any
	decoded bool
}

func newView(q *Request) *view {
	v := &view{Request: q, counts: make(map[string]int)}
	var system []string
	for i := range q.Messages {
		m := &q.Messages[i]
		v.all = append(v.all, m.Text)
		v.counts[m.Role]++
		switch m.Role {
		case "user":
			v.user, v.hasUser = m.Text, true
			v.rounds = 0
			v.results, v.resultIDs = nil, nil
		case "assistant":
			v.assistant, v.hasAssistant = m.Text, true
			v.turn++
			v.results, v.resultIDs = nil, nil
		case "system", "developer":
			system = append(system, m.Text)
		case "tool", "function":
			if len(v.results) == 0 {
				v.rounds++
			}
			v.results = append(v.results, m.Text)
			v.resultIDs = append(v.resultIDs, m.CallID)
		}
	}
	v.system, v.hasSystem = strings.Join(system, "\n"), len(system) > 0
	return v
}

// lastCall is the newest call in the history that a fresh tool result answers, or the newest at all.
func (v *view) lastCall() Call {
	want := ""
	if n := len(v.resultIDs); n > 0 {
		want = v.resultIDs[n-1]
	}
	var newest Call
	for _, m := range slices.Backward(v.Messages) {
		for _, c := range slices.Backward(m.Calls) {
			if newest == (Call{}) {
				newest = c
			}
			if want == "" || c.ID == want {
				return c
			}
		}
	}
	return newest
}

// found returns what a path finds in the body as strings: strings as they are, other values as compact JSON.
func (v *view) found(path []step) []string {
	if !v.decoded {
		v.decoded = true
		dec := json.NewDecoder(bytes.NewReader(v.Body))
		dec.UseNumber()
		if dec.Decode(&v.body) != nil {
			v.body = nil
		}
	}
	var out []string
	for _, e := range find(v.body, path) {
		if s, ok := e.(string); ok {
			out = append(out, s)
			continue
		}
		if b, err := marshal(e); err == nil {
			out = append(out, string(b))
		}
	}
	return out
}

// header is every value of a header.
func (v *view) header(name string) []string {
	if list, ok := v.Header[canonical(name)]; ok {
		return list
	}
	return v.Header[strings.ToLower(name)]
}

// canonical is the form in which net/http keeps header names.
func canonical(name string) string {
	b := []byte(strings.ToLower(name))
	upper := true
	for i, c := range b {
		if upper && 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
		upper = c == '-'
	}
	return string(b)
}
