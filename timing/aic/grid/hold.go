package grid

import "math"

func logs(at Coord) Coord {
	var out Coord
	for a, v := range at {
		out[a] = log2(v)
	}
	return out
}

func (l *leaf) distance(log Coord) float64 {
	d0, d1, d2 := l.log[0]-log[0], l.log[1]-log[1], l.log[2]-log[2]
	return math.Sqrt(d0*d0 + d1*d1 + d2*d2)
}

// near is one of the points that a hold leans on; d is the distance, squared while searching.
type near struct {
	d, sol, ms float64
}

// holdNeighbours is how many points carry a hold; one more sets its radius.
const holdNeighbours = 4

// nearest keeps the closest usable points found so far, closest first.
type nearest struct {
	list [holdNeighbours + 1]near
	n    int
}

// full reports whether nothing at squared distance d or beyond can enter.
func (b *nearest) full(d float64) bool { return b.n == len(b.list) && d >= b.list[b.n-1].d }

func (b *nearest) insert(p near) {
	j := b.n
	if b.n < len(b.list) {
		b.n++
	} else {
		j--
	}
	for ; j > 0 && b.list[j-1].d > p.d; j-- {
		b.list[j] = b.list[j-1]
	}
	b.list[j] = p
}

// hold extends a grid beyond its edge (§5.5): the utilisations of the four nearest usable points, weighted so that a
// point as far away as the fifth counts nothing. O(n); whole axes that are too far are passed over.
func (g *Grid) hold(at Coord, sol func(Coord) float64) (float64, error) {
	log := logs(at)
	var best nearest
	for _, s0 := range g.axis[0] {
		d0 := square(g.leaves[g.axis[1][s0.lo].lo].log[0] - log[0])
		if best.full(d0) {
			continue
		}
		for _, s1 := range g.axis[1][s0.lo:s0.hi] {
			d1 := d0 + square(g.leaves[s1.lo].log[1]-log[1])
			if best.full(d1) {
				continue
			}
			for i := s1.lo; i < s1.hi; i++ {
				l := &g.leaves[i]
				d := d1 + square(l.log[2]-log[2])
				if best.full(d) || !(l.ms > 0) {
					continue
				}
				if s := sol(l.at); s > 0 {
					best.insert(near{d, s, l.ms})
				}
			}
		}
	}
	query := sol(at)
	if best.n == 0 || !(query > 0) {
		return 0, ErrMissing
	}
	for i := range best.list[:best.n] {
		best.list[i].d = math.Sqrt(best.list[i].d)
	}
	radius, n := math.Inf(1), best.n
	if n > holdNeighbours {
		radius, n = best.list[holdNeighbours].d, holdNeighbours
	}
	return query / meanUtil(best.list[:n], radius), nil
}

func square(v float64) float64 { return v * v }

// meanUtil is the weighted mean of sol/ms; with all weights 0 it is the plain mean.
func meanUtil(points []near, radius float64) float64 {
	var weights, sum, plain float64
	for _, p := range points {
		w := 1 / (p.d*p.d + 1e-12)
		if !math.IsInf(radius, 1) {
			r := max(radius-p.d, 0) / (radius*p.d + 1e-12)
			w = r * r
		}
		u := p.sol / p.ms
		weights += w
		sum += w * u
		plain += u
	}
	if weights == 0 {
		return plain / float64(len(points))
	}
	return sum / weights
}
