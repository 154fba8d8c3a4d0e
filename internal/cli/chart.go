package cli

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
)

// chart is a plot of lines over two logarithmic axes, written as SVG by hand: a plotting library would add 14 MB of
// fonts to every server's memory for this one picture.
type chart struct {
	title, x, y string
	lines       []chartLine
}

// chartLine is one line; all values must be positive.
type chartLine struct {
	name   string
	color  string
	dashed bool
	xs, ys []float64
}

// Geometry of one chart, in pixels.
const (
	chartWidth, chartHeight         = 520, 400
	chartLeft, chartRight           = 64, 16
	chartTop, chartBottom           = 36, 48
	plotWidth, plotHeight   float64 = chartWidth - chartLeft - chartRight, chartHeight - chartTop - chartBottom
)

// renderCharts draws charts side by side as one SVG document. The same input gives the same bytes.
func renderCharts(charts ...*chart) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n",
		chartWidth*len(charts), chartHeight)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for i, c := range charts {
		fmt.Fprintf(&b, `<g transform="translate(%d 0)">`+"\n", i*chartWidth)
		c.render(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (c *chart) render(b *bytes.Buffer) {
	xAxis, yAxis := newLogAxis(c.values(true)), newLogAxis(c.values(false))
	px := func(x float64) float64 { return chartLeft + xAxis.at(x)*plotWidth }
	py := func(y float64) float64 { return chartTop + (1-yAxis.at(y))*plotHeight }
	text := func(x, y float64, anchor, s string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(s))
	}
	for _, t := range xAxis.ticks() {
		fmt.Fprintf(b, `<path d="M%.1f %dv%.0f" stroke="#ddd"/>`+"\n", px(t), chartTop, plotHeight)
		text(px(t), chartTop+plotHeight+16, "middle", tickLabel(t))
	}
	for _, t := range yAxis.ticks() {
		fmt.Fprintf(b, `<path d="M%d %.1fh%.0f" stroke="#ddd"/>`+"\n", chartLeft, py(t), plotWidth)
		text(chartLeft-6, py(t)+4, "end", tickLabel(t))
	}
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.0f" height="%.0f" fill="none" stroke="#888"/>`+"\n",
		chartLeft, chartTop, plotWidth, plotHeight)
	text(chartLeft+plotWidth/2, 20, "middle", c.title)
	text(chartLeft+plotWidth/2, chartHeight-10, "middle", c.x)
	fmt.Fprintf(b, `<text transform="translate(14 %.1f) rotate(-90)" text-anchor="middle">%s</text>`+"\n",
		chartTop+plotHeight/2, html.EscapeString(c.y))
	for i := range c.lines {
		l := &c.lines[i]
		style := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.6"`, l.color)
		if l.dashed {
			style += ` stroke-dasharray="5 3"`
		}
		b.WriteString(`<path d="`)
		for k := range l.xs {
			fmt.Fprintf(b, "%c%.1f %.1f", "ML"[min(k, 1)], px(l.xs[k]), py(l.ys[k]))
		}
		fmt.Fprintf(b, `" %s/>`+"\n", style)
		y := float64(chartTop + 14 + 14*i)
		fmt.Fprintf(b, `<path d="M%d %.1fh22" %s/>`+"\n", chartLeft+8, y-4, style)
		text(chartLeft+36, y, "start", l.name)
	}
}

// values gathers the x or the y values of all lines.
func (c *chart) values(x bool) []float64 {
	var out []float64
	for i := range c.lines {
		if x {
			out = append(out, c.lines[i].xs...)
		} else {
			out = append(out, c.lines[i].ys...)
		}
	}
	return out
}

// logAxis maps [low, high] to [0, 1] by logarithm.
type logAxis struct{ low, high float64 }

// newLogAxis covers the values, and some room around a single one.
func newLogAxis(values []float64) logAxis {
	a := logAxis{math.Inf(1), 0}
	for _, v := range values {
		a.low, a.high = min(a.low, v), max(a.high, v)
	}
	if a.high <= a.low {
		a.low, a.high = a.low/2, a.high*2
	}
	return a
}

func (a logAxis) at(v float64) float64 { return math.Log(v/a.low) / math.Log(a.high/a.low) }

// ticks are powers of ten within the axis, with 2 and 5 times them where that leaves few.
func (a logAxis) ticks() []float64 {
	steps := []float64{1}
	if a.high/a.low < 1000 {
		steps = []float64{1, 2, 5}
	}
	var out []float64
	for e := math.Floor(math.Log10(a.low)); e <= math.Log10(a.high); e++ {
		for _, s := range steps {
			if v := s * math.Pow(10, e); v >= a.low && v <= a.high {
				out = append(out, v)
			}
		}
	}
	return out
}

func tickLabel(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
