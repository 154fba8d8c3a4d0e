package cli

import (
	"io"
	"strings"
	"text/tabwriter"
)

// textTable aligns columns; the zero value is not usable.
type textTable struct{ w *tabwriter.Writer }

func newTable(w io.Writer) *textTable {
	return &textTable{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
}

// row adds a line; the writer's errors surface in flush.
func (t *textTable) row(cells ...string) {
	_, _ = io.WriteString(t.w, strings.Join(cells, "\t")+"\n")
}

func (t *textTable) flush() error { return t.w.Flush() }
