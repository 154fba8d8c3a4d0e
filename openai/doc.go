// Package openai is the HTTP face: it decodes and checks OpenAI-shaped requests, asks a Planner what the answer is and
// a Backend when each token of it is due, and writes JSON and server-sent events.
//
// Start reading at New and Server.Handler; chat.go and completion.go hold the two main routes, stream.go the life of
// one paced answer, writers.go the few goroutines that serve thousands of streams. Everything that judges a request
// (validate*.go) and everything that shapes bytes (wire.go, frame.go) is pure and knows nothing of gin.
//
// A Server is safe for concurrent use. It starts its writer goroutines in New; Close ends them.
package openai
