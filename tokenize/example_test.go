package tokenize_test

import (
	"fmt"

	"fakellm/tokenize"
)

func ExampleEncoding_AppendEncode() {
	enc, err := tokenize.Get(tokenize.ForModel("gpt-4o"))
	if err != nil {
		panic(err)
	}
	ids := enc.AppendEncode(nil, "Hello, world! 👍🏽")
	text, ends := enc.AppendPieces(nil, nil, ids)
	fmt.Println(enc.Name(), ids)
	start := uint32(0)
	for _, end := range ends {
		fmt.Printf("%q ", text[start:end])
		start = end
	}
	fmt.Println()
	// Output:
	// o200k_base [13225 11 2375 0 160433 52622 121]
	// "Hello" "," " world" "!" " 👍" "" "🏽"
}
