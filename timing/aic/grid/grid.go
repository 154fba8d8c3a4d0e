package grid

import (
	"math"
	"slices"
)

// Coord is a place in a three-axis grid.
type Coord [3]float64

// Row is one row on its way into a grid.
type Row struct {
	At Coord
	MS float64
}

// leaf is a grid point with its coordinates in log2 space, for the distances of the hold.
type leaf struct {
	at, log Coord
	ms      float64
}

// Grid is a ragged nested grid: first axis, under each of its keys a second axis, under each of those a third (§5.5).
// The zero value is empty. Memory: 56 bytes per point.
type Grid struct {
	leaves []leaf
	// axis[0] lists the first keys; each spans a range of axis[1]; each of those a range of leaves.
	axis [2][]span
	// lo and hi bound the coordinates of each axis over all points.
	lo, hi Coord
}

// span is one key and the half-open range of its children.
type span struct {
	key    float64
	lo, hi int32
}

// Blend is the way values are blended along an axis.
type Blend int

// The blends: straight, or straight in the square roots.
const (
	Linear Blend = iota
	Sqrt
)

// Rule says how one table is read: which axis blends in which way.
type Rule [3]Blend

// New sorts rows into a grid; of several rows at one place the first in the list wins. rows is reordered.
func New(rows []Row) *Grid {
	slices.SortStableFunc(rows, func(a, b Row) int {
		for i := range a.At {
			if c := compare(a.At[i], b.At[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	g := &Grid{leaves: make([]leaf, 0, len(rows))}
	for i, r := range rows {
		if i > 0 && r.At == rows[i-1].At {
			continue
		}
		l := leaf{at: r.At, ms: r.MS, log: logs(r.At)}
		if i == 0 {
			g.lo, g.hi = r.At, r.At
		}
		for a, v := range r.At {
			g.lo[a], g.hi[a] = min(g.lo[a], v), max(g.hi[a], v)
		}
		n := int32(len(g.leaves))
		fresh := n == 0 || g.leaves[n-1].at[0] != r.At[0]
		if fresh || g.leaves[n-1].at[1] != r.At[1] {
			g.axis[1] = append(g.axis[1], span{key: r.At[1], lo: n})
		}
		if fresh {
			g.axis[0] = append(g.axis[0], span{key: r.At[0], lo: int32(len(g.axis[1]) - 1)})
		}
		g.leaves = append(g.leaves, l)
		g.axis[1][len(g.axis[1])-1].hi = n + 1
		g.axis[0][len(g.axis[0])-1].hi = int32(len(g.axis[1]))
	}
	return g
}

// log2 is the coordinate of the hold's space.
func log2(v float64) float64 { return math.Log2(max(v, 1e-12)) }

// Len is the number of points.
func (g *Grid) Len() int { return len(g.leaves) }

// outcome is the result of the interior rule at one node.
type outcome int

const (
	found outcome = iota
	outside
	missing
)

// query is one walk through a grid.
type query struct {
	g    *Grid
	at   Coord
	rule Rule
	sol  func(Coord) float64
}

// At answers a query by the nested rule, and outside the grid by holding the utilisation of the nearest points. sol
// gives the roofline at a place. O(log n) inside, O(n) outside. The error is ErrMissing.
func (g *Grid) At(at Coord, rule Rule, sol func(Coord) float64) (float64, error) {
	if len(g.leaves) == 0 {
		return 0, ErrMissing
	}
	q := query{g: g, at: at, rule: rule, sol: sol}
	v, got := q.node(0, 0, int32(len(g.axis[0])))
	switch got {
	case found:
		return v, nil
	case outside:
		return g.hold(at, sol)
	case missing:
	}
	return 0, ErrMissing
}

// node resolves the axis a inside the range [lo, hi) of its keys.
func (q *query) node(a int, lo, hi int32) (float64, outcome) {
	x := q.at[a]
	i := lo + q.search(a, lo, hi, x)
	if i < hi && q.key(a, i) == x && x >= 0 && x == math.Trunc(x) {
		return q.child(a, i)
	}
	if i == lo || i == hi {
		return 0, outside
	}
	k0, k1 := q.key(a, i-1), q.key(a, i)
	v0, got0 := q.child(a, i-1)
	v1, got1 := q.child(a, i)
	switch {
	case got0 == found && got1 == found:
		w := (x - k0) / (k1 - k0)
		if q.rule[a] == Sqrt {
			r := math.Sqrt(v0) + (math.Sqrt(v1)-math.Sqrt(v0))*w
			return r * r, found
		}
		return v0 + (v1-v0)*w, found
	case got0 == found:
		return q.ragged(a, k0, v0)
	case got1 == found:
		return q.ragged(a, k1, v1)
	case got0 == outside || got1 == outside:
		return 0, outside
	}
	return 0, missing
}

// ragged scales the one child that answered by the rooflines of the whole query and of the query at that child's key.
func (q *query) ragged(a int, key, v float64) (float64, outcome) {
	there := q.at
	there[a] = key
	query, at := q.sol(q.at), q.sol(there)
	if !(query > 0) || !(at > 0) {
		return 0, missing
	}
	return v * query / at, found
}

func (q *query) key(a int, i int32) float64 {
	if a == 2 {
		return q.g.leaves[i].at[2]
	}
	return q.g.axis[a][i].key
}

func (q *query) child(a int, i int32) (float64, outcome) {
	if a == 2 {
		return q.g.leaves[i].ms, found
	}
	s := q.g.axis[a][i]
	return q.node(a+1, s.lo, s.hi)
}

// search returns the offset from lo of the first key that is not below x.
func (q *query) search(a int, lo, hi int32, x float64) int32 {
	n, m := int32(0), hi-lo
	for n < m {
		mid := (n + m) / 2
		if q.key(a, lo+mid) < x {
			n = mid + 1
		} else {
			m = mid
		}
	}
	return n
}

// Range returns the smallest and the largest coordinate of an axis over all points, zeros for an empty grid.
func (g *Grid) Range(a int) (lo, hi float64) { return g.lo[a], g.hi[a] }

// Nearest returns the place of the point closest to at in log2 space; the zero Coord for an empty grid.
func (g *Grid) Nearest(at Coord) Coord {
	var best Coord
	least := math.Inf(1)
	for i := range g.leaves {
		if d := g.leaves[i].distance(logs(at)); d < least {
			best, least = g.leaves[i].at, d
		}
	}
	return best
}

// Each calls f for every point in ascending order of the coordinates.
func (g *Grid) Each(f func(at Coord, ms float64)) {
	for i := range g.leaves {
		f(g.leaves[i].at, g.leaves[i].ms)
	}
}
