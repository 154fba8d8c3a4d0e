package cli

import (
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"fakellm/internal/assembly"
	"fakellm/timing/aic"
	"fakellm/timing/aic/table"
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
	var tables bool
	cmd := &cobra.Command{
		Use: "data", Short: "List the AIConfigurator tables of a directory or wheel, or say how to get them",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				_, err := io.WriteString(cmd.OutOrStdout(), gettingData)
				return err
			}
			store, err := openStore(dir)
			if err != nil {
				return badInput(err)
			}
			return printData(cmd.OutOrStdout(), store, tables)
		},
	}
	cmd.Flags().StringVar(&dir, "aic-systems-dir", dir, "directory or wheel with the tables (FAKELLM_AIC_SYSTEMS_DIR)")
	cmd.Flags().BoolVar(&tables, "tables", false, "list the tables of every version")
	return cmd
}

// openStore finds the systems directory where the AIC model would find it.
func openStore(path string) (*table.Store, error) {
	fsys, _, err := assembly.TableFiles(path)
	if err != nil {
		return nil, err
	}
	if _, err := aic.Open(fsys); err != nil {
		return nil, fmt.Errorf("aic-systems-dir %s: %w", path, err)
	}
	for _, root := range []string{".", "systems", "aisimulate_core/systems", "aic/systems"} {
		sub, err := fs.Sub(fsys, root)
		if err != nil {
			return nil, err
		}
		store, err := table.Open(sub)
		if err != nil {
			return nil, err
		}
		names, err := store.Systems()
		if err != nil || len(names) == 0 {
			continue
		}
		if _, err := store.System(names[0]); err == nil {
			return store, nil
		}
	}
	return nil, fmt.Errorf("aic-systems-dir %s: no systems directory", path)
}

// printData prints a line per system and backend: which versions may be asked for, which directories hold rows.
func printData(w io.Writer, store *table.Store, tables bool) error {
	names, err := store.Systems()
	if err != nil {
		return err
	}
	t := newTable(w)
	t.row("system", "backend", "current", "next", "previous", "version directories", "tables")
	for _, name := range names {
		sys, err := store.System(name)
		if err != nil {
			return badInput(err)
		}
		ix, err := store.Index(sys)
		if err != nil {
			return badInput(err)
		}
		if len(ix.Backends()) == 0 {
			t.row(name, "-", "-", "-", "-", "none: --aic-database-mode SOL only", "0")
		}
		for _, backend := range ix.Backends() {
			if err := printBackend(t, store, ix, backend, tables); err != nil {
				return badInput(err)
			}
		}
	}
	return t.flush()
}

func printBackend(t *textTable, store *table.Store, ix *table.Index, backend string, tables bool) error {
	accepted, err := store.AcceptedVersions(ix, backend)
	if err != nil {
		return err
	}
	count, versions := 0, ix.Versions(backend)
	for _, v := range versions {
		count += len(ix.Tables(backend, v))
	}
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	t.row(ix.System.Name, backend, dash(accepted.Current), dash(accepted.Next), dash(accepted.Previous),
		strings.Join(versions, " "), fmt.Sprint(count))
	for _, v := range versions {
		if tables {
			t.row("", "", "", "", "", v, strings.Join(ix.Tables(backend, v), " "))
		}
	}
	return nil
}
