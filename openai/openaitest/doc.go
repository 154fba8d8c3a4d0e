// Package openaitest starts an engine-paced fake LLM server inside a test, in one line, as net/http/httptest starts a
// server:
//
//	s := openaitest.Start(t)
//	client := openai.NewClient(option.WithBaseURL(s.BaseURL()), option.WithAPIKey("none"))
//
// Settings are those of fakellm, by the keys of its settings file: openaitest.Set("max_num_seqs", "4"). With
// [InMemory] no socket is opened and nothing waits in a system call, so the whole server runs under testing/synctest and
// its answers take virtual time.
//
// A Server may be used from many goroutines.
package openaitest
