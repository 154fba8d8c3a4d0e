package cli

import (
	"fmt"
	"math"
	"strings"
)

// plotLatency draws prefill over new tokens and decode over batch size, one line per model and second parameter, as
// SVG.
func plotLatency(models []*predictor, totalKV int) ([]byte, error) {
	prefill := &chart{title: "prefill", x: "new tokens per request", y: "ms"}
	decode := &chart{title: "decode", x: "requests", y: "ms"}
	for i, m := range models {
		kind, _, _ := strings.Cut(m.name, " ")
		for j, batch := range []int{1, 8} {
			l := latencyLine{m, i, j, fmt.Sprintf("%s, batch %d", kind, batch), 16, 32768}
			if err := l.add(prefill, func(s *passShape, x int) error {
				return s.setPrefill("plot", fmt.Sprintf("%d:%d", batch, x))
			}); err != nil {
				return nil, err
			}
		}
		for j, context := range []int{1024, 8192} {
			l := latencyLine{m, i, j, fmt.Sprintf("%s, context %d", kind, context), 1, 512}
			if err := l.add(decode, func(s *passShape, x int) error {
				return s.setDecode("plot", fmt.Sprintf("%d:%d", x, context), totalKV)
			}); err != nil {
				return nil, err
			}
		}
	}
	return renderCharts(prefill, decode), nil
}

// latencyLine is one line of a plot: a model over a range. Colour tells models apart, dashes the second parameter.
type latencyLine struct {
	model       *predictor
	color, dash int
	name        string
	least, most int
}

// add prices the range, four shapes per doubling, and draws those that the model can price.
func (l *latencyLine) add(c *chart, shape func(*passShape, int) error) error {
	line := chartLine{name: l.name, color: "#1f6fb4", dashed: l.dash > 0}
	if l.color > 0 {
		line.color = "#d95f02"
	}
	last := 0
	for x := float64(l.least); x <= float64(l.most)*1.001; x *= math.Sqrt2 / math.Sqrt(math.Sqrt2) {
		if int(x) == last {
			continue
		}
		last = int(x)
		var s passShape
		if err := shape(&s, last); err != nil {
			return err
		}
		a, err := l.model.answer(s, false)
		if err != nil || a.MS <= 0 { // a hole in the tables is a hole in the line
			continue
		}
		line.xs, line.ys = append(line.xs, float64(last)), append(line.ys, a.MS)
	}
	if len(line.xs) == 0 {
		return fmt.Errorf("%s: no shape with a time above zero, nothing to draw", l.model.name)
	}
	c.lines = append(c.lines, line)
	return nil
}
