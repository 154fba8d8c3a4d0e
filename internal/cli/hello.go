package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"fakellm/config"
)

// sayHello streams one chat answer from the server at base, as any client would, and prints it as it arrives.
func sayHello(ctx context.Context, w io.Writer, base string, c *config.Config) error {
	key, header := "none", ""
	if len(c.APIKey) > 0 {
		key = c.APIKey[0]
		header = " -H " + quoteShell("Authorization: Bearer "+key)
	}
	conf := openai.DefaultConfig(key)
	conf.BaseURL = base + "/v1"
	model := c.Model
	if len(c.ServedModelName) > 0 {
		model = c.ServedModelName[0]
	}
	client := openai.NewClientWithConfig(conf)
	// This opens the connection, as a client in use has done; TTFT is the server's and not that of the first dialling.
	if _, err := client.ListModels(ctx); err != nil {
		return err
	}
	start := time.Now()
	stream, err := client.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{
		Model: model, MaxCompletionTokens: 48, StreamOptions: &openai.StreamOptions{IncludeUsage: true},
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "Hello! Who are you?"}},
	})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	var first, last time.Time
	var usage openai.Usage
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if chunk.Usage != nil {
			usage = *chunk.Usage
		}
		if len(chunk.Choices) == 0 || chunk.Choices[0].Delta.Content == "" {
			continue
		}
		last = time.Now()
		if first.IsZero() {
			first = last
		}
		if _, err := io.WriteString(w, chunk.Choices[0].Delta.Content); err != nil {
			return err
		}
	}
	itl := time.Duration(0)
	if n := usage.CompletionTokens - 1; n > 0 {
		itl = last.Sub(first) / time.Duration(n)
	}
	_, err = fmt.Fprintf(w, "\n\nTTFT %.1f ms, ITL %.2f ms, %d prompt and %d answer tokens. Try it yourself:\n"+
		"  curl -N %s/v1/chat/completions -H 'Content-Type: application/json'%s \\\n"+
		"    -d '{\"model\":%q,\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}'\n",
		ms(first.Sub(start)), ms(itl), usage.PromptTokens, usage.CompletionTokens, base, header, model)
	return err
}

// quoteShell makes one word of s for a shell.
func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
