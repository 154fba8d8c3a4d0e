package cli

import (
	"io"

	"github.com/spf13/cobra"

	"fakellm/internal/assembly"
)

// gettingData says where the tables come from.
const gettingData = `AIConfigurator's tables are Apache-2.0 data inside the Python package "aisimulate"; fakellm brings
none. Get the wheel with a package client and name it, or the directory that it was unpacked or installed to:

  python3 -m pip download --no-deps --only-binary :all: aisimulate==0.13.0.dev202610270000000085
  fakellm timing data --aic-systems-dir aisimulate-*.whl
  export FAKELLM_AIC_SYSTEMS_DIR=/path/to/aisimulate-….whl      # or …/site-packages/aisimulate_core/systems

A systems directory holds one <system>.yaml per GPU node beside data/<system>/<family>/<backend>/<version>/*.parquet.
Without tables, --gpu and --model choose the analytic model, which needs no file.
`

// newTimingData builds the command that lists tables.
func newTimingData(env Env) *cobra.Command {
	dir := env.get("FAKELLM_AIC_SYSTEMS_DIR")
	cmd := &cobra.Command{
		Use: "data", Short: "List the AIConfigurator tables of a directory or wheel, or say how to get them",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				_, err := io.WriteString(cmd.OutOrStdout(), gettingData)
				return err
			}
			data, err := assembly.OpenAIC(dir)
			if err != nil {
				return badInput(err)
			}
			return badInput(data.Describe(cmd.OutOrStdout()))
		},
	}
	cmd.Flags().StringVar(&dir, "aic-systems-dir", dir, "directory or wheel with the tables (FAKELLM_AIC_SYSTEMS_DIR)")
	return cmd
}
