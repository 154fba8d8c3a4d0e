package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fakellm/internal/assembly"
	"fakellm/timing/compare"
)

// compareFlags are the flags of timing compare.
type compareFlags struct {
	systemsDir, backend  string
	shapes               int
	seed                 uint64
	asJSON, strict, wide bool
}

// newTimingCompare builds the command that holds the analytic model against the tables.
func newTimingCompare(env Env) *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use: "compare", Short: "Hold the analytic model against AIConfigurator's tables on seeded shapes",
		Long: "Every model and GPU with tables is priced by both on prefill, prefill behind a cached prefix, and decode.\n" +
			"The table shows how the ratio analytic/tables is spread; a family is within bounds if its median is within\n" +
			".97-1.05 and its p10-p90 within .88-1.15.",
		Example: "  fakellm timing compare --aic-systems-dir systems",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.systemsDir, "aic-systems-dir", env.get("FAKELLM_AIC_SYSTEMS_DIR"),
		"directory or wheel with the tables (FAKELLM_AIC_SYSTEMS_DIR)")
	fs.StringVar(&f.backend, "aic-backend", "vllm", "backend of the tables")
	fs.BoolVar(&f.wide, "wide", false, "every power of two of GPUs up to 16, experts sharded both ways")
	fs.IntVar(&f.shapes, "shapes", 10, "shapes per deployment and phase")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the shapes")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
	fs.BoolVar(&f.strict, "strict", false, "fail if a family is out of bounds")
	return cmd
}

func (f *compareFlags) run(cmd *cobra.Command) error {
	data, err := assembly.OpenAIC(f.systemsDir)
	if err != nil {
		return badInput(err)
	}
	if f.shapes < 1 || f.shapes > 100000 {
		return badInput(fmt.Errorf("shapes %d: must be 1 to 100000", f.shapes))
	}
	var pairs []compare.Pair
	left := tally{}
	for _, d := range comparedDeployments(f.wide) {
		pair, err := d.pair(data, f.backend)
		if err != nil {
			left.add(err.Error())
			continue
		}
		pairs = append(pairs, pair)
	}
	if len(pairs) == 0 {
		return badInput(fmt.Errorf("no deployment can be priced by both models, first reason: %s", left.lines()[0]))
	}
	r := compare.Run(pairs, f.shapes, f.seed)
	r.Reasons = append(r.Reasons, left.lines()...)
	if f.asJSON {
		err = printJSON(cmd.OutOrStdout(), r)
	} else {
		err = printComparison(cmd.OutOrStdout(), len(pairs), &r)
	}
	if out := r.Outside(compare.Accepted()); err == nil && f.strict && len(out) > 0 {
		err = fmt.Errorf("%d families out of bounds", len(out))
	}
	return err
}

// printComparison prints the rows per family, GPU and phase, then the families.
func printComparison(w io.Writer, deployments int, r *compare.Report) error {
	t := newTable(w)
	row := func(c compare.Cell, family, gpu, phase, verdict string) {
		t.row(family, gpu, phase, fmt.Sprint(c.N), fmt.Sprintf("%.3f", c.Median), fmt.Sprintf("%.3f-%.3f", c.P10, c.P90),
			fmt.Sprintf("%.2f-%.2f", c.Min, c.Max), verdict)
	}
	t.row("family", "gpu", "phase", "n", "median", "p10-p90", "worst", "")
	for _, c := range r.Cells {
		row(c, c.Family, c.GPU, string(c.Phase), "")
	}
	outside := r.Outside(compare.Accepted())
	for _, c := range r.Families {
		verdict := "within bounds"
		for _, o := range outside {
			if o == c {
				verdict = "OUT OF BOUNDS"
			}
		}
		row(c, c.Family, "all", "all", verdict)
	}
	row(r.All, "all", "all", "all", "")
	if err := t.flush(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w,
		"\n%d shapes of %d deployments; within 5 %%: %.0f %%, 10 %%: %.0f %%, 20 %%: %.0f %%; unpriced: %d\n",
		r.All.N, deployments, 100*r.Within[0], 100*r.Within[1], 100*r.Within[2], r.Unpriced)
	for _, reason := range r.Reasons {
		_, _ = fmt.Fprintf(w, "left out: %s\n", reason)
	}
	return nil
}

// tally counts equal reasons, in order of first appearance.
type tally struct {
	reasons []string
	counts  []int
}

func (t *tally) add(reason string) {
	for i, r := range t.reasons {
		if r == reason {
			t.counts[i]++
			return
		}
	}
	t.reasons, t.counts = append(t.reasons, reason), append(t.counts, 1)
}

func (t *tally) lines() []string {
	out := make([]string, 0, len(t.reasons))
	for i, r := range t.reasons {
		if t.counts[i] > 1 {
			r = fmt.Sprintf("%s (%d times)", r, t.counts[i])
		}
		out = append(out, r)
	}
	return out
}
