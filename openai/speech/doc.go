// Package speech is the sound of spoken answers: a hummed tone for every token of the transcript, whose pitch follows
// from voice and words. It is pure integer arithmetic, so the same answer sounds the same, byte for byte, on every
// machine. A Sound holds no samples: any frame of it can be made by itself, while it is written.
//
// # Length and cost
//
// Sound is 16-bit mono at 24 kHz. One audio token is a frame of 50 ms, as OpenAI counts the sound that its models make;
// one token of the transcript takes FramesPerToken frames to say, so an answer of 100 text tokens lasts 30 s and costs
// 600 audio tokens besides.
//
// Start reading at Sound. Everything is safe for concurrent use.
package speech
