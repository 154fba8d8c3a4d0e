// Package openai is the HTTP face: it decodes and checks OpenAI-shaped requests, asks a Planner what the answer is and
// a Backend when each token of it is due, and writes JSON and server-sent events.
//
// Start reading at New and Server.Handler; chat.go and completion.go hold the two main routes, stream.go the life of
// one paced answer, writers.go the few goroutines that serve thousands of streams. Everything that judges a request
// (*check.go, wishes.go) and everything that shapes bytes (wire.go, frame.go) is pure and knows nothing of gin.
//
// A Server is safe for concurrent use. It starts its writer goroutines in New; Close ends them.
//
// # Who answers
//
// The first that has something to say: the request itself (reply or refusal, below), a mapping of the Script, its tape,
// the real endpoint of the Recorder, the Planner. All but the endpoint are paced by the Backend.
//
// # Wishes
//
// A request may tell the simulator about its own answer, by a header or by a member of "x_sim" in the body; the header
// goes first. In the strict policy unknown ones are refused with 400, else they are ignored; wrong values are always
// refused.
//
//	x-sim-fault          fault          how the answer breaks, in the grammar of package fault
//	x-sim-output-tokens  output_tokens  exactly so many tokens, unless the client's own limit is lower
//	x-sim-finish-reason  finish_reason  stop, length or content_filter
//	x-sim-reply          reply          the text to answer with
//	x-sim-refusal        refusal        the text to refuse with
//	x-sim-seed           seed           instead of the request's seed
//	x-sim-session        session        instead of the request's session key (prompt_cache_key, session_id, …)
//
// JSON and tool calls are cut at output_tokens, which then is a finish reason of length, but never lengthened.
//
// Nothing is drawn that a request does not determine: the same body with the same seed gets the same words, ids and
// times apart. So Idempotency-Key is accepted and needs no memory.
//
// # Spoken answers
//
// A request with the modalities text and audio is answered aloud: content becomes a transcript, each token of which is
// followed by speech.FramesPerToken tokens of sound. They are positions of the plan like all others, so the engine paces
// them, limits cut them, and usage counts them as audio_tokens. Sound is made while it is written and never kept; the
// last 10,000 transcripts are, at most 16 MiB of them, for an hour, so that a later turn can name them by id.
package openai
