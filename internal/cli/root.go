// Package cli is the command line: sub-commands, flags and what they print. Everything from outside comes in through
// [Env], so a test can run any command in process. Exit codes: 0 for success, 1 for a failure, 2 for bad input or usage.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fakellm/config"
)

// Exit codes.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

// Env is everything a command takes from its process.
type Env struct {
	Args, Environ  []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Version        string
	// Signals ends the program gracefully on the first value and at once on the second. Nil: SIGINT and SIGTERM.
	Signals <-chan os.Signal
}

// usageError marks bad input: the command exits with ExitUsage.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// badInput wraps an error that the user's input caused; nil stays nil.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Main runs one command and returns the exit code.
func Main(env Env) int {
	root := newRoot(env)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return ExitOK
	}
	var usage usageError
	bad := errors.As(err, &usage)
	_, _ = fmt.Fprintf(env.Stderr, "fakellm: %v\n", err) // nowhere left to say that saying it failed
	if bad {
		return ExitUsage
	}
	return ExitFailure
}

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "fakellm",
		Short: "A fake LLM server that keeps time like a real one, and the simulator behind it",
		Long: "fakellm answers like an OpenAI-compatible LLM server and paces every token by a simulated serving engine.\n" +
			"The same engine replays request traces offline, in virtual time.",
		Example: "  fakellm serve --hello                      # start, stream one answer to yourself, keep serving\n" +
			"  fakellm serve my-model --port 0            # any name, any free port\n" +
			"  fakellm replay trace.jsonl --num-workers 8 # an hour of traffic in a fraction of a second",
		Version: env.Version, SilenceUsage: true, SilenceErrors: true,
		RunE: group, Args: cobra.ArbitraryArgs,
	}
	root.SetVersionTemplate("fakellm {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return badInput(config.FlagError(err)) })
	root.AddCommand(newServe(env), newReplay(env), newTiming(env), newConfig(env), newVersion(env))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, group
		}
	}
	return root
}

// group is what a command does that only has sub-commands: it refuses what is none of them.
func group(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badInput(fmt.Errorf("unknown command %q (%s --help lists them)", args[0], cmd.CommandPath()))
	}
	return cmd.Help()
}

func newVersion(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fakellm %s\n", env.Version)
			return err
		},
	}
}

// noArgs refuses positional arguments as bad usage.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badInput(fmt.Errorf("%s takes no argument, got %q", cmd.CommandPath(), args[0]))
	}
	return nil
}

// oneArg allows one positional argument.
func oneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return badInput(fmt.Errorf("%s takes at most one argument, got %q as well", cmd.CommandPath(), args[1]))
	}
	return nil
}
