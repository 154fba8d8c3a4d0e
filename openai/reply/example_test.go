package reply_test

import (
	"fmt"

	"fakellm/openai/reply"
	"fakellm/tokenize"
)

// An answer of exactly twelve tokens, piece by piece as a stream sends it.
func ExamplePlanner_Plan() {
	enc, err := tokenize.Get(tokenize.O200kBase)
	if err != nil {
		panic(err)
	}
	p, err := reply.New(enc, reply.Config{})
	if err != nil {
		panic(err)
	}
	prompt := enc.AppendChat(nil, tokenize.Chat{Messages: []tokenize.Message{{Role: "user", Content: "Tell me a story."}}})
	plan := p.Plan(&reply.Request{
		Prompt: prompt,
		Limits: reply.Limits{Max: 12, HasMax: true, IgnoreEOS: true, Room: 1000},
	})
	for i := range plan.IDs {
		fmt.Printf("%q ", plan.Piece(i))
	}
	fmt.Println(plan.FinishReason)
	// Output: "My" " bright" " shadow" " ended" ".\n\n" "This" " rough" " farm" " reached" " the" " wall" "." length
}

// A tool call, with arguments that fit the tool's schema.
func ExamplePlanner_Answer() {
	enc, err := tokenize.Get(tokenize.O200kBase)
	if err != nil {
		panic(err)
	}
	p, err := reply.New(enc, reply.Config{})
	if err != nil {
		panic(err)
	}
	plan, err := p.Answer(&reply.Request{
		Tools: []reply.Tool{{
			Name:       "get_weather",
			Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}},
		Limits: reply.Limits{Room: 1000},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Segments[0].Name, plan.Text, plan.FinishReason)
	// Output: get_weather {"city":"Delhi"} tool_calls
}
