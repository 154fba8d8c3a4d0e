// Package script holds scripted replies: a Book of mappings that say which request gets which answer, and tapes of
// recorded answers. It is pure: no clock, no goroutine, no file. A Book is immutable and safe for concurrent use,
// editing returns a new one, so hot reload is the exchange of a pointer. State (which answer of a sequence comes next,
// which state a scenario is in) is a plain value that its owner locks.
//
// Start reading at Mapping (mapping.go, the words of a file), Parse (parse.go) and Book.Candidates (match.go).
// Conditions live in cond.go and text.go, answers in reply.go and template.go, explanations of a miss in near.go, tapes
// in tape.go.
//
// # A file
//
// Files are YAML or JSON with the key "mappings". Mappings are tried by priority (1 first, 5 when unsaid), then in file
// order; the first whose request conditions all hold answers. Unknown keys are errors with file, line and path.
//
//	mappings:
//	  - name: weather, as a plan that ends
//	    request:
//	      model: gpt-*
//	      user: {matches: 'weather in (?P<city>\w+)'}
//	      tools: [get_weather]
//	    steps:
//	      - toolCalls: [{name: get_weather, arguments: {city: "{{.Named.city}}"}}]
//	      - text: "In {{.Named.city}}: {{.ToolResult}}"
//	  - name: fails twice, then answers
//	    request: {user: {contains: flaky}}
//	    responses:
//	      - error: {status: 503, message: try again}
//	      - error: {status: 503, message: try again}
//	      - text: at last
//
// # Wiring
//
//	book, err := script.Parse(path, data)      // at start and on reload; store in an atomic.Pointer
//	state := script.NewState(seed, script.Limits{})
//	// per request, before planning:
//	c := book.Load().Candidates(&req)
//	mu.Lock(); sel, ok := c.Pick(state); mu.Unlock()
//	// per choice: what to say; the timing engine says when
//	out, err := sel.Outcome(sample)
//
// Outcome.Fault is a string for fault.Parse; check Book.Faults with it at load time.
//
// # Paths into the body
//
// A small part of JSONPath: $ then .name, ['name'], [0], [-1] and [*]. Filters and recursive descent are refused.
package script
