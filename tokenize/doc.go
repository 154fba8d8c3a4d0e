// Package tokenize turns text into the token ids that OpenAI's tiktoken gives for it, and back, with no file and no
// network: the o200k_base and cl100k_base vocabularies are part of the binary. A third encoding, approx, only slices
// text into groups of four bytes; it is for load tests in which the length of a prompt need not be exact.
//
// Get loads an encoding on first use and is safe for concurrent use; afterwards everything is pure, an Encoding never
// changes and may be shared by any number of goroutines. Encoding text allocates nothing beyond what dst needs.
//
// Start reading at Encoding; chat.go has the template by which a conversation becomes one list of ids.
//
// # Vocabularies
//
// vocab/*.bin are converted by internal/genvocab from github.com/tiktoken-go/tokenizer, which is also the second
// opinion of the tests. The product does not link that module: a stripped program that only counts tokens is 13.3 MB
// with it and 4.1 MB with vocab/; loading both vocabularies takes 19 MB of memory with it and 7.5 MB here, in half the
// time.
//
// # Text that is not UTF-8
//
// tiktoken takes text, not bytes: what is ill-formed has been replaced before it sees it. So it is here: every maximal
// ill-formed part counts as one U+FFFD (the rule of the WHATWG decoder and of Unicode's chapter 3), and decoding gives
// the replaced text back. NUL is an ordinary character. Special tokens in text, such as <|endoftext|>, are ordinary
// text.
package tokenize

//go:generate go run ./internal/genvocab vocab
