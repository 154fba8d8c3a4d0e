package cli

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// plotLatency draws prefill over new tokens and decode over batch size, one line per model and second parameter, as
// SVG.
func plotLatency(models []*predictor, totalKV int) ([]byte, error) {
	prefill, decode := plot.New(), plot.New()
	prefill.Title.Text, prefill.X.Label.Text, prefill.Y.Label.Text = "prefill", "new tokens per request", "ms"
	decode.Title.Text, decode.X.Label.Text, decode.Y.Label.Text = "decode", "requests", "ms"
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
	for _, p := range []*plot.Plot{prefill, decode} {
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
		p.Legend.Top, p.Legend.Left = true, true
		p.Add(plotter.NewGrid())
	}
	canvas := vgsvg.New(28*vg.Centimeter, 12*vg.Centimeter)
	tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Centimeter, PadTop: 5, PadBottom: 5, PadLeft: 5, PadRight: 5}
	cells := plot.Align([][]*plot.Plot{{prefill, decode}}, tiles, draw.New(canvas))
	prefill.Draw(cells[0][0])
	decode.Draw(cells[0][1])
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	return out.Bytes(), err
}

// latencyLine is one line of a plot: a model over a range. Colour tells models apart, dashes the second parameter.
type latencyLine struct {
	model       *predictor
	color, dash int
	name        string
	least, most int
}

// add prices the range, four shapes per doubling, and draws those that the model can price.
func (l *latencyLine) add(p *plot.Plot, shape func(*passShape, int) error) error {
	var points plotter.XYs
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
		points = append(points, plotter.XY{X: float64(last), Y: a.MS})
	}
	if len(points) == 0 {
		return fmt.Errorf("%s: no shape with a time above zero, nothing to draw", l.model.name)
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color = color.RGBA{R: 0x1f, G: 0x6f, B: 0xb4, A: 0xff}
	if l.color > 0 {
		line.Color = color.RGBA{R: 0xd9, G: 0x5f, B: 0x02, A: 0xff}
	}
	line.Width = vg.Points(1.5)
	if l.dash > 0 {
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	p.Add(line)
	p.Legend.Add(l.name, line)
	return nil
}
