package grid

import (
	"math"
	"slices"
)

// Site is one weight shape (n, k) with its curve over m.
type Site struct {
	N, K       float64
	Curve      Curve
	logN, logK float64
}

// Sites are the GEMM's scattered sites in their order of insertion, which decides ties (§5.3). The zero value is empty.
type Sites struct {
	list  []Site
	index map[[2]int64]int32
}

// GemmRow is one row on its way into the sites.
type GemmRow struct {
	M, N, K int64
	MS      float64
}

// maxDistance is how far, in log2 space, a site may lie from the query it helps to answer.
const maxDistance = 2.0

// NewSites builds the sites from rows in the order in which they win: of several with the same (m, n, k) the first
// counts. floor gives a lower bound for each latency, or is nil.
//
// The order of the sites is that of a walk over nested tables filled row by row: by first appearance of m, under it of
// n, under that of k.
func NewSites(rows []GemmRow, floor func(m, n, k float64) float64) *Sites {
	s := &Sites{index: make(map[[2]int64]int32)}
	s.order(rows)
	points := make([][]Point, len(s.list))
	counts := make([]int32, len(s.list))
	for _, r := range rows {
		counts[s.index[[2]int64{r.N, r.K}]]++
	}
	for i, n := range counts {
		points[i] = make([]Point, 0, n)
	}
	for _, r := range rows {
		i := s.index[[2]int64{r.N, r.K}]
		points[i] = append(points[i], Point{float64(r.M), r.MS})
	}
	for i := range s.list {
		site := &s.list[i]
		site.Curve = NewCurve(points[i])
		if floor == nil {
			continue
		}
		for j, m := range site.Curve.X {
			site.Curve.Y[j] = max(site.Curve.Y[j], floor(m, site.N, site.K))
		}
	}
	return s
}

// order fills list and index. It replays the nested insertion: all rows of the m seen first, its n by first appearance.
func (s *Sites) order(rows []GemmRow) {
	var ms []int64
	byM := map[int64][]int32{}
	for i, r := range rows {
		if _, ok := byM[r.M]; !ok {
			ms = append(ms, r.M)
		}
		byM[r.M] = append(byM[r.M], int32(i))
	}
	for _, m := range ms {
		members := byM[m]
		first := map[int64]int{}
		var fresh []int32
		for rank, i := range members {
			r := &rows[i]
			if _, ok := first[r.N]; !ok {
				first[r.N] = rank
			}
			if _, ok := s.index[[2]int64{r.N, r.K}]; !ok {
				fresh = append(fresh, i)
			}
		}
		slices.SortStableFunc(fresh, func(a, b int32) int { return first[rows[a].N] - first[rows[b].N] })
		for _, i := range fresh {
			key := [2]int64{rows[i].N, rows[i].K}
			if _, ok := s.index[key]; ok {
				continue
			}
			s.index[key] = int32(len(s.list))
			n, k := float64(key[0]), float64(key[1])
			s.list = append(s.list, Site{N: n, K: k, logN: log2(n), logK: log2(k)})
		}
	}
}

// Len is the number of sites.
func (s *Sites) Len() int { return len(s.list) }

// Each calls f for every site in insertion order.
func (s *Sites) Each(f func(*Site)) {
	for i := range s.list {
		f(&s.list[i])
	}
}

// At answers one query; sol gives the roofline at (m, n, k). O(log n) for a known site, O(sites) otherwise. The error
// is ErrMissing.
func (s *Sites) At(m, n, k float64, sol func(m, n, k float64) float64) (float64, error) {
	if i, ok := s.index[[2]int64{int64(n), int64(k)}]; ok {
		c := &s.list[i].Curve
		return c.AtMedian(m, func(x float64) float64 { return sol(x, n, k) })
	}
	var best [4]siteNear
	count := s.nearest(m, n, k, true, &best)
	if count < 0 {
		count = s.nearest(m, n, k, false, &best)
	}
	var weights, sum float64
	for _, b := range best[:max(count, 0)] {
		site := &s.list[b.index]
		ms, err := site.Curve.AtMedian(m, func(x float64) float64 { return sol(x, site.N, site.K) })
		at := sol(m, site.N, site.K)
		if err != nil || !(ms > 0) || !(at > 0) {
			continue
		}
		w := 1 / (b.d*b.d + 1e-12)
		weights += w
		sum += w * (at / ms)
	}
	query := sol(m, n, k)
	if weights == 0 || !(sum > 0) || !(query > 0) {
		return 0, ErrMissing
	}
	return query / (sum / weights), nil
}

type siteNear struct {
	index int32
	d     float64
}

// nearest finds up to four sites for a query: those within maxDistance, or, when none is and the query passes the
// candidates on exactly one axis, those within maxDistance along the other. With holding only sites whose curve spans m
// are candidates; -1 says that there are none.
func (s *Sites) nearest(m, n, k float64, holding bool, best *[4]siteNear) int {
	ln, lk := log2(n), log2(k)
	count, candidates := 0, 0
	loN, loK := math.Inf(1), math.Inf(1)
	hiN, hiK := math.Inf(-1), math.Inf(-1)
	for i := range s.list {
		site := &s.list[i]
		if holding && !site.Curve.Holds(m) {
			continue
		}
		candidates++
		loN, hiN = min(loN, site.N), max(hiN, site.N)
		loK, hiK = min(loK, site.K), max(hiK, site.K)
		dn, dk := site.logN-ln, site.logK-lk
		if d := math.Sqrt(dn*dn + dk*dk); d <= maxDistance {
			count = insert(best, count, siteNear{int32(i), d})
		}
	}
	if candidates == 0 {
		return -1
	}
	beyondN, beyondK := n > hiN, k > hiK
	if count > 0 || beyondN == beyondK || n < loN || k < loK {
		return count
	}
	for i := range s.list {
		site := &s.list[i]
		if holding && !site.Curve.Holds(m) {
			continue
		}
		dn, dk := site.logN-ln, site.logK-lk
		if beyondN && abs(dk) > maxDistance || beyondK && abs(dn) > maxDistance {
			continue
		}
		count = insert(best, count, siteNear{int32(i), math.Sqrt(dn*dn + dk*dk)})
	}
	return count
}

// insert keeps the four nearest, earlier ones first among equals.
func insert(best *[4]siteNear, count int, c siteNear) int {
	if count == len(best) {
		if c.d >= best[count-1].d {
			return count
		}
		count--
	}
	j := count
	for ; j > 0 && best[j-1].d > c.d; j-- {
		best[j] = best[j-1]
	}
	best[j] = c
	return count + 1
}

// Nearest returns the (n, k) of the site closest to a query in log2 space, zeros without sites.
func (s *Sites) Nearest(n, k float64) (siteN, siteK float64) {
	least := math.Inf(1)
	ln, lk := log2(n), log2(k)
	for i := range s.list {
		if d := math.Hypot(s.list[i].logN-ln, s.list[i].logK-lk); d < least {
			least, siteN, siteK = d, s.list[i].N, s.list[i].K
		}
	}
	return siteN, siteK
}
