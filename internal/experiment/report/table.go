package report

import (
	"fmt"
	"io"
)

// WriteTable writes the figures that people look for, to be read in a terminal.
func (s *Summary) WriteTable(w io.Writer) error {
	seconds := max(s.DurationMS/1000, 1e-9)
	buf := fmt.Appendf(nil, "%d requests, %d completed, %.3f s simulated", s.Released, s.Completed, s.DurationMS/1000)
	if s.WallMS > 0 {
		buf = fmt.Appendf(buf, " in %.3f s (%.0f×)", s.WallMS/1000, s.DurationMS/s.WallMS)
	}
	buf = fmt.Appendf(buf, "\n\n%-24s %12.3f req/s\n", "requests", float64(s.Completed)/seconds)
	buf = fmt.Appendf(buf, "%-24s %12.1f tok/s %14d tokens\n", "input", float64(s.Input)/seconds, s.Input)
	buf = fmt.Appendf(buf, "%-24s %12.1f tok/s %14d tokens\n", "output", float64(s.Output)/seconds, s.Output)
	buf = fmt.Appendf(buf, "%-24s %12.2f %%\n", "prompt tokens reused", 100*s.FirstReuse)
	buf = fmt.Appendf(buf, "%-24s %12.4f h\n\n", "GPU time", s.WorkerMS/1000*float64(s.GPUs)/3600)
	buf = fmt.Appendf(buf, "%-24s %10s %10s %10s %10s %10s %10s %10s\n",
		"", "mean", "std", "min", "median", "p90", "p99", "max")
	for _, row := range []struct {
		name string
		d    Dist
	}{
		{"TTFT ms", s.TTFT},
		{"TTST ms", s.TTST},
		{"TPOT ms", s.TPOT},
		{"ITL ms", s.ITL},
		{"E2E ms", s.E2E},
		{"tok/s per user", s.PerUser},
	} {
		d := row.d
		buf = fmt.Appendf(buf, "%-24s %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f\n",
			row.name, d.Mean, d.Std, d.Min, d.Median, d.P90, d.P99, d.Max)
	}
	_, err := w.Write(buf)
	return err
}
