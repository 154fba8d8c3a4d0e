package cli

import (
	"fmt"
	"io"
	"strconv"

	"fakellm/timing/analytic"
)

// printPredictions prints a line per shape, models side by side, and operators under it where they were asked for.
func printPredictions(w io.Writer, models []*predictor, rows []prediction) error {
	printSources(w, models)
	t := newTable(w)
	head := []string{"pass"}
	for i := range models {
		head = append(head, letter(i)+" ms")
	}
	if len(models) == 2 {
		head = append(head, "A/B")
	}
	t.row(head...)
	for _, r := range rows {
		cells, onePass := []string{r.Pass}, []string{"  as one pass"}
		some := false
		for _, a := range r.Answers {
			cells = append(cells, milliseconds(a))
			cell := ""
			if a.OnePassMS != nil {
				cell, some = fixed6(*a.OnePassMS), true
			}
			onePass = append(onePass, cell)
		}
		t.row(append(cells, ratioOf(r.Answers, func(a answer) *float64 { return &a.MS }))...)
		if some {
			t.row(append(onePass, ratioOf(r.Answers, func(a answer) *float64 { return a.OnePassMS }))...)
		}
		printOps(t, r)
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, r := range rows {
		for i, a := range r.Answers {
			if a.Error != "" {
				_, _ = fmt.Fprintf(w, "%s, %s: %s\n", letter(i), r.Pass, a.Error)
			}
		}
	}
	return nil
}

// printSources names the models, with what of them is not verified.
func printSources(w io.Writer, models []*predictor) {
	for i, m := range models {
		_, _ = fmt.Fprintf(w, "%s: %s\n", letter(i), m.name)
		for _, note := range m.notes {
			_, _ = fmt.Fprintf(w, "   not verified: %s\n", note)
		}
	}
	_, _ = fmt.Fprintln(w)
}

// printOps lists the operators of a row. Models name them differently, so they stand one under the other, each in the
// column of its model.
func printOps(t *textTable, r prediction) {
	for i, a := range r.Answers {
		for _, half := range []struct {
			name string
			ops  []analytic.Op
			ms   *float64
		}{{"prefill", a.PrefillOps, a.PrefillMS}, {"decode", a.DecodeOps, a.DecodeMS}} {
			for _, op := range half.ops {
				cells := []string{"  " + letter(i) + " " + half.name + " " + op.Name}
				for range i {
					cells = append(cells, "")
				}
				t.row(append(cells, fixed6(op.MS)+fmt.Sprintf(" (%.1f %%)", 100*op.MS / *half.ms))...)
			}
		}
	}
}

func milliseconds(a answer) string {
	if a.Error != "" {
		return "refused"
	}
	return fixed6(a.MS)
}

func fixed6(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }

// ratioOf is the first answer's value over the second's, or empty.
func ratioOf(answers []answer, value func(answer) *float64) string {
	if len(answers) != 2 || answers[0].Error != "" || answers[1].Error != "" {
		return ""
	}
	a, b := value(answers[0]), value(answers[1])
	if a == nil || b == nil || *b == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", *a / *b)
}

func letter(i int) string { return string(rune('A' + i)) }
