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

// near is one of the points that a hold leans on.
type near struct {
	d, sol, ms float64
}

// holdNeighbours is how many points carry a hold; one more sets its radius.
const holdNeighbours = 4

// hold extends a grid beyond its edge (§5.5): the utilisations of the four nearest usable points, weighted so that a
// point as far away as the fifth counts nothing. O(n) with one square root per point.
func (g *Grid) hold(at Coord, sol func(Coord) float64) (float64, error) {
	log := logs(at)
	var best [holdNeighbours + 1]near
	n := 0
	for i := range g.leaves {
		l := &g.leaves[i]
		d := l.distance(log)
		if n == len(best) && d >= best[n-1].d {
			continue
		}
		if !(l.ms > 0) {
			continue
		}
		s := sol(l.at)
		if !(s > 0) {
			continue
		}
		j := n
		if n < len(best) {
			n++
		} else {
			j = n - 1
		}
		for ; j > 0 && best[j-1].d > d; j-- {
			best[j] = best[j-1]
		}
		best[j] = near{d, s, l.ms}
	}
	query := sol(at)
	if n == 0 || !(query > 0) {
		return 0, ErrMissing
	}
	radius := math.Inf(1)
	if n > holdNeighbours {
		radius, n = best[holdNeighbours].d, holdNeighbours
	}
	return query / meanUtil(best[:n], radius), nil
}

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
