package report

import (
	"math"
	"slices"
)

// Gaps gathers the gaps between adjacent tokens, in whole nanoseconds, each with a weight. It keeps one cell for every
// range of gaps that falls into the same bin of both sketches, so adding costs a few additions and one division, and
// memory does not grow with the number of gaps. Build it with [NewGaps].
//
// The reference folds gaps into running moments one by one. Here each cell keeps the moments about its first gap. No
// distance exceeds the range R of the cell's gaps while their squared deviation is at least R²/2, so of n gaps no more
// than a factor of 2n is lost to cancellation, and equal gaps deviate by exactly nothing.
type Gaps struct {
	math  sketchMath
	cells []*cell // ascending, disjoint
	last  *cell
	zeros int64
}

// cell holds the gaps of [lo, hi].
type cell struct {
	lo, hi        int64
	gapKey, rtKey int32
	count         int64
	first         int64
	base          float64 // the rate of first
	sum           int64   // of gap-first
	squares       float64 // of gap-first
	rate, rateSq  float64 // of the rate's distance from base
	min, max      int64
}

// NewGaps returns an empty collection.
func NewGaps() *Gaps { return &Gaps{math: newSketchMath(), last: &cell{lo: 1}} }

// Add counts a gap of ns nanoseconds n times. O(1), or O(log cells) when it is unlike the one before.
func (g *Gaps) Add(ns int64, n int64) {
	if ns <= 0 {
		g.zeros += n
		return
	}
	c := g.last
	if ns < c.lo || ns > c.hi {
		c = g.find(ns)
		g.last = c
	}
	c.add(ns, n)
}

func (c *cell) add(ns, n int64) {
	d := ns - c.first
	r := -float64(d) * c.base / float64(ns) // 1e9/ns - 1e9/first without subtracting neighbours
	w := float64(n)
	c.count += n
	c.sum += n * d
	c.squares += w * float64(d) * float64(d)
	c.rate += w * r
	c.rateSq += w * r * r
	c.min, c.max = min(c.min, ns), max(c.max, ns)
}

// AddRow counts the gaps between neighbours of a row of instants, the first being that from prev to ends[0]. The
// weight of gap i is weight plus the sum of change[:i+1]; none is counted that weighs nothing. It returns the last
// instant and weight, so that a row can be given in parts. It does what Add would, with less to carry about: O(1) per
// gap.
func AddRow[T ~int64](g *Gaps, prev T, weight int64, ends []T, change []int32) (T, int64) {
	change = change[:len(ends)]
	c := *g.last
	for i, end := range ends {
		weight += int64(change[i])
		ns := int64(end - prev)
		prev = end
		if weight == 0 {
			continue
		}
		if ns < c.lo || ns > c.hi {
			*g.last = c
			if ns <= 0 {
				g.zeros += weight
				continue
			}
			g.last = g.find(ns)
			c = *g.last
		}
		c.add(ns, weight)
	}
	*g.last = c
	return prev, weight
}

func (g *Gaps) keys(ns int64) (gap, rate int32) {
	ms := float64(ns) / 1e6
	return g.math.key(ms), g.math.key(1000 / ms)
}

// find returns the cell of ns, making it if there is none.
func (g *Gaps) find(ns int64) *cell {
	i, _ := slices.BinarySearchFunc(g.cells, ns, func(c *cell, ns int64) int {
		if c.hi < ns {
			return -1
		}
		return 1
	})
	if i < len(g.cells) && g.cells[i].lo <= ns {
		return g.cells[i]
	}
	c := g.newCell(ns)
	g.cells = slices.Insert(g.cells, i, c)
	return c
}

// newCell finds the range around ns in which both keys stay. The bins' bounds give it up to rounding; the last steps
// are taken with the keys themselves.
func (g *Gaps) newCell(ns int64) *cell {
	gap, rate := g.keys(ns)
	same := func(x int64) bool {
		a, b := g.keys(x)
		return a == gap && b == rate
	}
	hi := int64(min(g.math.upper(gap)*1e6, 1e9/g.math.upper(rate-1)))
	lo := int64(max(g.math.upper(gap-1)*1e6, 1e9/g.math.upper(rate)))
	lo, hi = min(max(lo, 1), ns), max(hi, ns)
	for !same(hi) {
		hi--
	}
	for same(hi + 1) {
		hi++
	}
	for !same(lo) {
		lo++
	}
	for lo > 1 && same(lo-1) {
		lo--
	}
	return &cell{lo: lo, hi: hi, gapKey: gap, rtKey: rate, first: ns, base: 1e9 / float64(ns), min: math.MaxInt64}
}

// Gap describes the gaps in ms, zeros included, with percentiles from the sketch.
func (g *Gaps) Gap() Dist {
	s := newSketch(g.math)
	m := moments{}
	if g.zeros > 0 {
		s.add(0, 0, g.zeros)
		m.add(float64(g.zeros), 0, 0)
		m.bound(0, 0)
	}
	for _, c := range g.cells {
		s.add(float64(c.max)/1e6, c.gapKey, c.count)
		n := float64(c.count)
		mean := float64(c.sum) / n
		m.add(n, (float64(c.first)+mean)/1e6, (c.squares-float64(c.sum)*mean)/1e12)
		m.bound(float64(c.min)/1e6, float64(c.max)/1e6)
	}
	return m.dist(s)
}

// Rate describes 1000 / gap in tokens per second, over the gaps that are not zero.
func (g *Gaps) Rate() Dist {
	s := newSketch(g.math)
	m := moments{}
	for _, c := range slices.Backward(g.cells) {
		s.add(1000/(float64(c.max)/1e6), c.rtKey, c.count)
		n := float64(c.count)
		mean := c.rate / n
		m.add(n, c.base+mean, c.rateSq-c.rate*mean)
		m.bound(1000/(float64(c.max)/1e6), 1000/(float64(c.min)/1e6))
	}
	return m.dist(s)
}

// moments merges mean and squared deviation of groups (Chan et al.'s pairwise update).
type moments struct {
	n, mean, m2 float64
	min, max    float64
	bounded     bool
}

func (m *moments) add(n, mean, m2 float64) {
	total := m.n + n
	d := mean - m.mean
	m.m2 += max(0, m2) + d*d*m.n*n/total
	m.mean += d * n / total
	m.n = total
}

func (m *moments) bound(lo, hi float64) {
	if !m.bounded {
		m.bounded, m.min, m.max = true, lo, hi
	}
	m.min, m.max = min(m.min, lo), max(m.max, hi)
}

func (m *moments) dist(s *sketch) Dist {
	if m.n == 0 {
		return Dist{}
	}
	p := s.percentiles(50, 75, 90, 95, 99)
	return Dist{
		Count: int(m.n), Mean: m.mean, Min: m.min, Max: m.max, Std: math.Sqrt(m.m2 / m.n),
		Median: p[0], P75: p[1], P90: p[2], P95: p[3], P99: p[4],
	}
}
