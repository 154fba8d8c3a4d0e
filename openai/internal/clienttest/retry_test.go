//go:build !race

package clienttest

// The official client takes minutes to compile for races; what it reads is tested without.

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"fakellm/openai/openaitest"
)

// TestOfficialClientRetries: the first two answers fail; the official client tries again by itself and other requests do
// not notice.
func TestOfficialClientRetries(t *testing.T) {
	s := openaitest.Start(t)
	s.Faults("faults: [{name: warm up, route: '/v1/chat/*', first: 2, fault: 'status=503;retry-after-ms=1'}]")
	client := openai.NewClient(option.WithBaseURL(s.BaseURL()), option.WithAPIKey("none"), option.WithHTTPClient(s.Client()))
	done, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
	})
	if err != nil || done.Choices[0].Message.Content == "" {
		t.Fatalf("%v %v", done, err)
	}
	var retries []int
	for _, r := range s.Requests() {
		retries = append(retries, r.Retry)
	}
	if diff := cmp.Diff([]int{0, 1, 2}, retries); diff != "" {
		t.Error(diff)
	}
}
