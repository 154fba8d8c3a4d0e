// Command genvocab writes the vocabulary files that package tokenize embeds, from the maps inside
// github.com/tiktoken-go/tokenizer. It is run by "go generate ./tokenize" when that module changes.
//
// A file is the length of every token in id order, one byte each, a zero byte, and then the tokens' bytes. Token
// lengths are 1 to 255, so the zero ends the list. Nothing is compressed: the binary grows by 2.4 MB for both
// vocabularies (the module itself links 12 MB) and loading needs no decoding.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tiktoken-go/tokenizer"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genvocab DIR")
		os.Exit(2)
	}
	for _, name := range []tokenizer.Encoding{tokenizer.Cl100kBase, tokenizer.O200kBase} {
		if err := write(name, filepath.Join(os.Args[1], string(name)+".bin")); err != nil {
			fmt.Fprintf(os.Stderr, "genvocab: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// write recovers the tokens of one vocabulary by decoding id after id until one is unknown.
func write(name tokenizer.Encoding, path string) error {
	codec, err := tokenizer.Get(name)
	if err != nil {
		return err
	}
	var lengths, text bytes.Buffer
	for id := uint(0); ; id++ {
		token, err := codec.Decode([]uint{id})
		if err != nil {
			break
		}
		if len(token) == 0 || len(token) > 255 {
			return fmt.Errorf("token %d has %d bytes, want 1 to 255", id, len(token))
		}
		lengths.WriteByte(byte(len(token)))
		text.WriteString(token)
	}
	lengths.WriteByte(0)
	return os.WriteFile(path, append(lengths.Bytes(), text.Bytes()...), 0o644)
}
