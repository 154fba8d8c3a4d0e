package script_test

import (
	"fmt"
	"sync"

	"fakellm/openai/reply/script"
)

// The lines that wire a book into a face: one locked Pick per request, one Outcome per choice.
func Example() {
	book, err := script.Parse("replies.yaml", []byte(`
mappings:
- request: {user: {matches: 'my name is (\w+)'}}
  response: {text: "Hello {{.Group 1}}, this is turn {{.Turn}}."}
- request: {}
  priority: 9
  response: {error: {status: 404, message: nothing scripted for this}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var mu sync.Mutex
	state := script.NewState(42, script.Limits{})

	request := script.Request{
		Route: "chat", Model: "gpt-4o", Messages: []script.Message{{Role: "user", Text: "my name is Ada"}},
	}
	candidates := book.Candidates(&request)
	mu.Lock()
	selection, ok := candidates.Pick(state)
	mu.Unlock()
	if !ok {
		return // the filler answers
	}
	outcome, err := selection.Outcome(0)
	fmt.Println(*outcome.Text, err)
	// Output: Hello Ada, this is turn 0. <nil>
}
