package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newTiming builds the commands about timing models.
func newTiming(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "timing", Short: "Ask, compare and look into the models that say how long a pass takes",
		Long: "A timing model prices the two halves of a pass, prefill and decode. These commands ask one without an engine.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return badInput(fmt.Errorf("unknown command %q (fakellm timing --help lists them)", args[0]))
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(newTimingInspect(), newTimingPredict(env), newTimingCapacity(env), newTimingData(env),
		newTimingCompare(env))
	return cmd
}
