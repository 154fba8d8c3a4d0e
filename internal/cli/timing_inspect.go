package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fakellm/timing/profile"
)

// newTimingInspect builds the command that describes a measured profile.
func newTimingInspect() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "inspect FILE", Short: "Describe a measured profile: its grid, what it covers, what looks odd",
		Long: "FILE is an .npz profile or a profiler's results directory, which is converted as it would be for a run.\n" +
			"Passes outside the grid are extrapolated; runs count them (timing_extrapolated_passes_total).",
		Example: "  fakellm timing inspect perf_data.npz",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badInput(fmt.Errorf("%s takes one file, got %q", cmd.CommandPath(), args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := profile.Load(args[0])
			if err != nil {
				return badInput(err)
			}
			s := p.Inspect()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), s)
			}
			return printProfile(cmd.OutOrStdout(), args[0], p, &s)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printProfile prints the axes, the ranges of the values and a corner of the grids.
func printProfile(w io.Writer, path string, p *profile.Profile, s *profile.Summary) error {
	t := newTable(w)
	t.row("profile", path, s.Origin)
	for _, a := range []profile.Axis{s.PrefillISL, s.DecodeKV, s.DecodeContext} {
		t.row("axis "+a.Name, fmt.Sprintf("%d points", a.Points),
			fmt.Sprintf("%g to %g tokens, largest step %g", a.Min, a.Max, a.Gap))
	}
	t.row("prefill", fmt.Sprintf("%.6g to %.6g ms", s.PrefillMS[0], s.PrefillMS[1]),
		fmt.Sprintf("covers %g to %g new tokens per pass", s.PrefillISL.Min, s.PrefillISL.Max))
	t.row("decode", fmt.Sprintf("%.6g to %.6g ms", s.DecodeMS[0], s.DecodeMS[1]),
		fmt.Sprintf("covers %g to %g KV tokens at mean contexts of %g to %g",
			s.DecodeKV.Min, s.DecodeKV.Max, s.DecodeContext.Min, s.DecodeContext.Max))
	t.row("outside", "extrapolated", "by the outermost segment or cell; prefill floored at 0 ms, decode at 1 ms")
	if s.PrefillFalls+s.DecodeFalls+s.BelowFloor > 0 {
		t.row("odd", fmt.Sprintf("%d, %d, %d", s.PrefillFalls, s.DecodeFalls, s.BelowFloor),
			"steps where prefill falls, where decode falls with KV tokens, decode points below 1 ms")
	}
	if err := t.flush(); err != nil {
		return err
	}
	return printGrid(w, p)
}

// printGrid prints at most six by six values of both grids, the ends of the axes among them.
func printGrid(w io.Writer, p *profile.Profile) error {
	a := p.Arrays()
	_, _ = fmt.Fprintln(w)
	t := newTable(w)
	cells := []string{"new tokens"}
	values := []string{"prefill ms"}
	for _, i := range spread(len(a.PrefillISL), 6) {
		cells = append(cells, fmt.Sprintf("%.6g", a.PrefillISL[i]))
		values = append(values, fmt.Sprintf("%.6g", a.PrefillTTFT[i]))
	}
	t.row(cells...)
	t.row(values...)
	if err := t.flush(); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w)
	columns := spread(len(a.DecodeContext), 6)
	cells = []string{`KV tokens \ context`}
	for _, j := range columns {
		cells = append(cells, fmt.Sprintf("%.6g", a.DecodeContext[j]))
	}
	t.row(cells...)
	for _, i := range spread(len(a.DecodeKV), 6) {
		cells = []string{fmt.Sprintf("%.6g", a.DecodeKV[i])}
		for _, j := range columns {
			cells = append(cells, fmt.Sprintf("%.6g", a.DecodeITL[i*len(a.DecodeContext)+j]))
		}
		t.row(cells...)
	}
	return t.flush()
}

// spread returns at most k indices of n, evenly apart, both ends among them.
func spread(n, k int) []int {
	if n <= k {
		k = n
	}
	out := make([]int, k)
	for i := range out {
		out[i] = i * (n - 1) / max(1, k-1)
	}
	return out
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
