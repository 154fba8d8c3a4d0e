package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fakellm/timing"
)

// Pair is a deployment as two sources price it: A is judged, B is the yardstick.
type Pair struct {
	// Name identifies the deployment in messages; Family and GPU are the rows it counts in.
	Name, Family, GPU string
	A, B              timing.Source
}

// Cell is the spread of the ratio A/B over the shapes of one row. The zero value is an empty row.
type Cell struct {
	// Family, GPU and Phase name the row; empty means all.
	Family string `json:"family,omitempty"`
	GPU    string `json:"gpu,omitempty"`
	Phase  Phase  `json:"phase,omitempty"`
	// N is the number of shapes that both sources priced.
	N      int     `json:"n"`
	Median float64 `json:"median"`
	P10    float64 `json:"p10"`
	P90    float64 `json:"p90"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Report is the outcome of a comparison.
type Report struct {
	// Cells has a row per family, GPU and phase that occurred; Families one per family; All is everything.
	Cells    []Cell `json:"cells"`
	Families []Cell `json:"families"`
	All      Cell   `json:"all"`
	// Within is the share of shapes whose ratio is within 5, 10 and 20 percent of 1.
	Within [3]float64 `json:"within_5_10_20_percent"`
	// Unpriced counts shapes that a source refused; Reasons has the first reason of every deployment concerned.
	Unpriced int      `json:"unpriced"`
	Reasons  []string `json:"reasons,omitempty"`
}

// Limits are the bounds that a family's row must keep.
type Limits struct{ MedianLow, MedianHigh, P10, P90 float64 }

// Accepted returns the bounds of the project's own acceptance: median .97–1.05, p10–p90 within .88–1.15.
func Accepted() Limits { return Limits{.97, 1.05, .88, 1.15} }

// Outside returns the families that break the limits.
func (r *Report) Outside(l Limits) []Cell {
	var out []Cell
	for _, c := range r.Families {
		if c.Median < l.MedianLow || c.Median > l.MedianHigh || c.P10 < l.P10 || c.P90 > l.P90 {
			out = append(out, c)
		}
	}
	return out
}

// ratio is one shape's result with its row.
type ratio struct {
	family, gpu string
	phase       Phase
	value       float64
}

// Run prices the given number of shapes per phase and pair, drawn from seed, and sums up their ratios. Every pair draws
// from a stream of its own, so that adding one leaves the shapes of the others alone.
func Run(pairs []Pair, perPhase int, seed uint64) Report {
	var rep Report
	var ratios []ratio
	for i, p := range pairs {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		failed := false
		for _, phase := range phases() {
			for range perPhase {
				v, err := price(&p, Draw(r, phase))
				if err == nil {
					ratios = append(ratios, ratio{p.Family, p.GPU, phase, v})
					continue
				}
				rep.Unpriced++
				if !failed {
					rep.Reasons = append(rep.Reasons, fmt.Sprintf("%s: %v", p.Name, err))
				}
				failed = true
			}
		}
	}
	rep.summarise(ratios)
	return rep
}

// price returns A's time over B's.
func price(p *Pair, s Shape) (float64, error) {
	ask := func(src timing.Source) (float64, error) {
		if s.Phase == Decode {
			return src.DecodeMS(s.Decode)
		}
		return src.PrefillMS(s.Prefill)
	}
	a, err := ask(p.A)
	if err != nil {
		return 0, err
	}
	b, err := ask(p.B)
	if err != nil {
		return 0, err
	}
	if !(a > 0 && b > 0) {
		return 0, fmt.Errorf("times %v and %v ms have no ratio", a, b)
	}
	return a / b, nil
}

// summarise sorts the ratios into rows, in order of first appearance.
func (r *Report) summarise(ratios []ratio) {
	rows, values := []Cell{}, [][]float64{}
	add := func(c Cell, v float64) {
		i := slices.IndexFunc(rows, func(o Cell) bool { return o == c })
		if i < 0 {
			i = len(rows)
			rows, values = append(rows, c), append(values, nil)
		}
		values[i] = append(values[i], v)
	}
	for _, x := range ratios {
		add(Cell{Family: x.family, GPU: x.gpu, Phase: x.phase}, x.value)
		add(Cell{Family: x.family}, x.value)
		add(Cell{}, x.value)
		for i, share := range [3]float64{.05, .1, .2} {
			if x.value >= 1-share && x.value <= 1+share {
				r.Within[i] += 1 / float64(len(ratios))
			}
		}
	}
	for i, c := range rows {
		c.spread(values[i])
		switch {
		case c.GPU != "":
			r.Cells = append(r.Cells, c)
		case c.Family != "":
			r.Families = append(r.Families, c)
		default:
			r.All = c
		}
	}
}

// spread fills in the statistics of a row; it sorts v.
func (c *Cell) spread(v []float64) {
	slices.Sort(v)
	c.N, c.Min, c.Max = len(v), v[0], v[len(v)-1]
	c.P10, c.Median, c.P90 = quantile(v, .1), quantile(v, .5), quantile(v, .9)
}

// quantile interpolates linearly between the order statistics around q·(n−1).
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (sorted[i+1]-sorted[i])*(at-float64(i))
}
