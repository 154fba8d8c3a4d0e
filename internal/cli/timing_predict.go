package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"fakellm/internal/assembly"
	"fakellm/timing/aic"
	"fakellm/timing/analytic"
)

// predictFlags are the flags of timing predict.
type predictFlags struct {
	timingFlags
	shapeFlags
	vs, plot, cases string
	ops, asJSON     bool
}

// newTimingPredict builds the command that prices shapes.
func newTimingPredict(env Env) *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use: "predict", Short: "Price prefill, decode and mixed passes",
		Long: "A prefill is REQUESTS:NEW[:PREFIX], NEW tokens each behind PREFIX cached; a decode is REQUESTS:CONTEXT,\n" +
			"the context counting the token in work; a mixed pass is PREFILL+DECODE. An engine prices the halves of a mixed\n" +
			"pass apart and adds them; models that can price it as one pass show that too. Without shapes a small tour is\n" +
			"priced.",
		Example: "  fakellm timing predict --gpu h100_sxm --model llama-3.1-8b --prefill 1:1024 --decode 16:1024 --ops\n" +
			"  fakellm timing predict --gpu h200 --model qwen3-32b --tp 2 --vs aic --aic-systems-dir systems\n" +
			"  fakellm timing predict --gpu b200 --model gpt-oss-120b --plot latency.svg\n" +
			"  fakellm timing predict --cases passes.json --aic-systems-dir systems",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd, env)
	fs := cmd.Flags()
	fs.StringSliceVar(&f.prefill, "prefill", nil, "prefill passes, REQUESTS:NEW[:PREFIX]")
	fs.StringSliceVar(&f.decode, "decode", nil, "decode passes, REQUESTS:CONTEXT")
	fs.StringSliceVar(&f.mixed, "mixed", nil, "mixed passes, REQUESTS:NEW[:PREFIX]+REQUESTS:CONTEXT")
	fs.IntVar(&f.totalKV, "total-kv-tokens", 1<<20, "size of the KV pool in tokens, which the polynomial asks for")
	fs.StringVar(&f.vs, "vs", "", "second timing model to set beside the first, as in --source")
	fs.BoolVar(&f.ops, "ops", false, "break passes down by operator")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
	fs.StringVar(&f.plot, "plot", "", "SVG file for a plot of latency over tokens and batch")
	fs.StringVar(&f.cases, "cases", "", "aic: file of cases in the form of the golden files; one JSON line per case")
	return cmd
}

func (f *predictFlags) run(cmd *cobra.Command) error {
	if f.cases != "" {
		return f.runCases(cmd)
	}
	shapes, err := f.shapes()
	if err != nil {
		return badInput(err)
	}
	kinds := []string{f.kind()}
	if f.vs != "" {
		kinds = append(kinds, f.vs)
	}
	var models []*predictor
	for _, kind := range kinds {
		p, err := f.predictor(kind)
		if err != nil {
			return badInput(err)
		}
		models = append(models, p)
	}
	rows := make([]prediction, 0, len(shapes))
	for _, s := range shapes {
		rows = append(rows, predict(models, s, f.ops))
	}
	if f.asJSON {
		err = printJSON(cmd.OutOrStdout(), predictions{sourcesOf(models), rows})
	} else {
		err = printPredictions(cmd.OutOrStdout(), models, rows)
	}
	if err != nil || f.plot == "" {
		return err
	}
	svg, err := plotLatency(models, f.totalKV)
	if err != nil {
		return badInput(fmt.Errorf("plot: %w", err))
	}
	return os.WriteFile(f.plot, svg, 0o644)
}

// runCases answers a case file from the tables.
func (f *predictFlags) runCases(cmd *cobra.Command) error {
	raw, err := os.ReadFile(f.cases)
	if err != nil {
		return badInput(fmt.Errorf("cases: %w", err))
	}
	data, err := assembly.OpenAIC(f.systemsDir)
	if err != nil {
		return badInput(err)
	}
	err = aic.RunCases(bytes.NewReader(raw), cmd.OutOrStdout(), data)
	if refusal := new(aic.Error); errors.As(err, &refusal) {
		return badInput(fmt.Errorf("cases %s: %w", f.cases, err))
	}
	return err
}

// answer is what one model says of one shape.
type answer struct {
	// PrefillMS and DecodeMS are the halves, MS their sum as an engine adds them, OnePassMS the mixed pass priced as one.
	PrefillMS *float64 `json:"prefill_ms,omitempty"`
	DecodeMS  *float64 `json:"decode_ms,omitempty"`
	MS        float64  `json:"ms"`
	OnePassMS *float64 `json:"one_pass_ms,omitempty"`
	// PrefillOps and DecodeOps break the halves down, in ms.
	PrefillOps []analytic.Op `json:"prefill_ops,omitempty"`
	DecodeOps  []analytic.Op `json:"decode_ops,omitempty"`
	Error      string        `json:"error,omitempty"`
}

// prediction is a row of the output: one shape, one answer per model.
type prediction struct {
	Pass     string   `json:"pass"`
	Requests [2]int   `json:"prefill_decode_requests"`
	New      int      `json:"new_tokens"`
	Prefix   int      `json:"prefix"`
	Context  int      `json:"context"`
	Answers  []answer `json:"answers"`
}

// predictions is the JSON output.
type predictions struct {
	Sources []sourceInfo `json:"sources"`
	Rows    []prediction `json:"rows"`
}

type sourceInfo struct {
	Name  string   `json:"name"`
	Notes []string `json:"notes,omitempty"`
}

func sourcesOf(models []*predictor) []sourceInfo {
	out := make([]sourceInfo, 0, len(models))
	for _, m := range models {
		out = append(out, sourceInfo{m.name, m.notes})
	}
	return out
}

// predict asks every model for one shape. A refusal becomes part of the row.
func predict(models []*predictor, s passShape, ops bool) prediction {
	row := prediction{
		Pass: s.text, Requests: [2]int{s.prefill.Requests, s.decode.Requests}, New: s.prefill.New(),
		Prefix: s.prefill.MeanPrefix, Context: s.decode.MeanContext,
	}
	for _, m := range models {
		a, err := m.answer(s, ops)
		if err != nil {
			a = answer{Error: err.Error()}
		}
		row.Answers = append(row.Answers, a)
	}
	return row
}

func (m *predictor) answer(s passShape, ops bool) (answer, error) {
	var a answer
	if s.prefill.Requests > 0 {
		ms, err := m.src.PrefillMS(s.prefill)
		if err != nil {
			return a, err
		}
		a.PrefillMS, a.MS = &ms, a.MS+ms
	}
	if s.decode.Requests > 0 {
		ms, err := m.src.DecodeMS(s.decode)
		if err != nil {
			return a, err
		}
		a.DecodeMS, a.MS = &ms, a.MS+ms
	}
	if a.PrefillMS != nil && a.DecodeMS != nil && m.onePass != nil {
		ms, err := m.onePass(s.prefill, s.decode)
		if err != nil {
			return a, err
		}
		a.OnePassMS = &ms
	}
	if !ops || m.ops == nil {
		return a, nil
	}
	var err error
	if a.PrefillMS != nil {
		if a.PrefillOps, err = m.ops(s.prefill, passShape{}.decode); err != nil {
			return a, err
		}
	}
	if a.DecodeMS != nil {
		a.DecodeOps, err = m.ops(passShape{}.prefill, s.decode)
	}
	return a, err
}
