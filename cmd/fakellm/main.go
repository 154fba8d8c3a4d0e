// Command fakellm is a fake LLM server that keeps time like a real serving engine, and the offline simulator of that
// engine. See the README, or run it with --help.
package main

import (
	"os"

	"fakellm/internal/cli"
)

// version is set at link time.
var version = "dev"

func main() {
	os.Exit(cli.Main(cli.Env{
		Args: os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: version,
	}))
}
