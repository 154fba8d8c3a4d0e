// Command stream sends one streamed chat request through go-openai and prints the answer as it arrives.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/sashabaranov/go-openai"
)

func main() {
	conf := openai.DefaultConfig("none")
	if base := os.Getenv("OPENAI_BASE_URL"); base != "" {
		conf.BaseURL = base
	} else {
		conf.BaseURL = "http://127.0.0.1:8000/v1"
	}
	stream, err := openai.NewClientWithConfig(conf).CreateChatCompletionStream(context.Background(), openai.ChatCompletionRequest{
		Model: "any", MaxCompletionTokens: 16,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "Hi"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			fmt.Println()
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		if len(chunk.Choices) > 0 {
			fmt.Print(chunk.Choices[0].Delta.Content)
		}
	}
}
