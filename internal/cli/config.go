package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fakellm/config"
	"fakellm/internal/assembly"
)

func newConfig(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Print, check or describe settings",
		Long: "Settings come from defaults, a YAML or JSON file (--config or FAKELLM_CONFIG), FAKELLM_* variables and flags;\n" +
			"each overrides the one before.",
		Args: cobra.ArbitraryArgs, RunE: group,
	}
	cmd.AddCommand(newConfigPrint(env), newConfigCheck(env),
		&cobra.Command{
			Use: "schema", Short: "Print the JSON schema of a settings file", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := config.Schema()
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(s)
				return err
			},
		},
		&cobra.Command{
			Use: "table", Short: "Print every setting as a Markdown table", Args: noArgs, Hidden: true,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := fmt.Fprint(cmd.OutOrStdout(), config.Table())
				return err
			},
		})
	return cmd
}

func newConfigPrint(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "print [MODEL]", Short: "Print the settings that are in force, as a settings file", Args: oneArg,
		Example: "  FAKELLM_MAX_NUM_SEQS=8 fakellm config print --config fakellm.yaml --port 9000",
	}
	load := settings(cmd, env, config.Fields(), nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := load(args)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), config.Print(&c))
		return err
	}
	return cmd
}

func newConfigCheck(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [MODEL]", Short: "Check settings without starting anything; exit 2 names every problem", Args: oneArg,
	}
	load := settings(cmd, env, config.Fields(), assembly.Check)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := load(args)
		if err != nil {
			return err
		}
		if err := assembly.Check(&c); err != nil {
			return badInput(err)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "settings are fine")
		return err
	}
	return cmd
}

// settings gives cmd the flags of fields and returns what loads the settings once they are parsed. A positional
// argument is the model's name. When something is wrong with them, what look finds besides is told too; look may be nil.
func settings(
	cmd *cobra.Command, env Env, fields []config.Field, look func(*config.Config) error,
) func(args []string) (config.Config, error) {
	config.AddFlags(cmd.Flags(), fields)
	for _, f := range fields {
		if len(f.Enum) > 0 {
			// The error is for flags that do not exist; this one was defined the line before.
			_ = cmd.RegisterFlagCompletionFunc(f.Flag(), cobra.FixedCompletions(f.Enum, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	file := cmd.Flags().String("config", "", "YAML or JSON file of settings (environment FAKELLM_CONFIG)")
	return func(args []string) (config.Config, error) {
		if len(args) > 0 && (args[0] == "true" || args[0] == "false") {
			return config.Config{}, badInput(fmt.Errorf("%q stands where the model's name belongs: write --flag=%s", args[0], args[0]))
		}
		if len(args) > 0 && args[0] != "" {
			if cmd.Flags().Changed("model") {
				return config.Config{}, badInput(errors.New("model: given both as argument and as --model"))
			}
			if err := cmd.Flags().Set("model", args[0]); err != nil {
				return config.Config{}, badInput(err)
			}
		}
		path, from := config.FilePath(*file, env.Environ)
		c, err := config.Load(config.Source{File: path, FileFrom: from, Environ: env.Environ, Flags: cmd.Flags()})
		if err != nil && look != nil {
			err = errors.Join(err, c.Others(look))
		}
		return c, badInput(err)
	}
}
