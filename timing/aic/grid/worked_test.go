package grid

import (
	"math"
	"testing"
)

func closeTo(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }

// h100 GEMM roofline in 16 bits, as in the worked examples of spec aic-timing §8.2.
func h100(m, n, k float64) float64 {
	return max(2*m*n*k/989e12, 2*(m*n+m*k+n*k)/3350e9) * 1000
}

// TestWorkedCurve reads the examples of one-axis rules.
func TestWorkedCurve(t *testing.T) {
	line := func(x float64) float64 { return x }
	reduce := NewCurve([]Point{{1048576, 0.01938976049423218}, {524288, 0.01496832013130188}})
	if got, err := reduce.At(819200, line); err != nil || !closeTo(got, 0.017455380335450174) {
		t.Errorf("all-reduce inside: %v, %v", got, err)
	}
	if got, err := reduce.At(2*1048576, line); err != nil || !closeTo(got, 2*0.01938976049423218) {
		t.Errorf("above: %v, %v; want the last utilisation held", got, err)
	}
	if got, err := reduce.At(1024, line); err != nil || !closeTo(got, 0.01496832013130188*1024/524288) {
		t.Errorf("below: %v, %v; want the first utilisation held", got, err)
	}
	var empty Curve
	if _, err := empty.At(1, line); err == nil {
		t.Error("an empty curve answers")
	}
	if got, err := reduce.At(524288, line); err != nil || got != 0.01496832013130188 {
		t.Errorf("exact: %v, %v", got, err)
	}
}

// TestWorkedSites reads the GEMM examples.
func TestWorkedSites(t *testing.T) {
	known := NewSites([]GemmRow{{769, 6144, 4096, 0.050865779320398964}, {1024, 6144, 4096, 0.06533510817421807}}, nil)
	if got, err := known.At(1000, 6144, 4096, h100); err != nil || !closeTo(got, 0.06397328898797627) {
		t.Errorf("known site: %v, %v", got, err)
	}
	// A curve that ends at three points of known utilisation: the median holds beyond.
	var rows []GemmRow
	for m, u := range map[int64]float64{8192: 0.778190880815033, 16384: 0.7492220685051534, 32768: 0.7719208543141192} {
		rows = append(rows, GemmRow{m, 6144, 4096, h100(float64(m), 6144, 4096) / u})
	}
	beyond := NewSites(rows, nil)
	if got, err := beyond.At(200000, 6144, 4096, h100); err != nil || !closeTo(got, 13.185666304909523) {
		t.Errorf("beyond the curve: %v, %v", got, err)
	}
	// Four nearest sites; the fifth ties with the fourth and loses by insertion order.
	rows = nil
	for _, s := range []struct {
		n, k int64
		util float64
	}{
		{6144, 5120, 0.7676239488784353}, // its n appears first, so it precedes (5120, 6144)
		{5120, 5120, 0.7447997227392498},
		{5120, 4096, 0.7322690480423645},
		{4096, 5120, 0.7497408135508654},
		{5120, 6144, 0.1},
	} {
		for _, m := range []int64{776, 777, 778} {
			rows = append(rows, GemmRow{m, s.n, s.k, h100(float64(m), float64(s.n), float64(s.k)) / s.util})
		}
	}
	unknown := NewSites(rows, nil)
	if got, err := unknown.At(777, 5000, 5000, h100); err != nil || !closeTo(got, 0.052716631579954674) {
		t.Errorf("unknown site: %v, %v", got, err)
	}
}

// TestSitesFar checks the bound on distance, the waiver beyond one edge, and the clamp.
func TestSitesFar(t *testing.T) {
	rows := []GemmRow{{1, 64, 64, 1}, {1, 128, 64, 2}, {8, 64, 64, 3}, {8, 128, 64, 4}}
	s := NewSites(rows, nil)
	sol := func(m, n, k float64) float64 { return m * n * k * 1e-6 }
	if _, err := s.At(4, 128*16, 64, sol); err != nil {
		t.Errorf("beyond one edge only: %v", err)
	}
	if _, err := s.At(4, 128*16, 64*16, sol); err == nil {
		t.Error("beyond both edges is answered")
	}
	if _, err := s.At(4, 4, 64, sol); err == nil {
		t.Error("far below is answered")
	}
	clamped := NewSites([]GemmRow{{1, 64, 64, 1}}, func(m, n, k float64) float64 { return 7 })
	if got, err := clamped.At(1, 64, 64, sol); err != nil || got != 7 {
		t.Errorf("clamped to the floor: %v, %v", got, err)
	}
}

// TestWorkedGrid reads the prompt-attention examples: linear over batches, square roots over lengths, the hold.
func TestWorkedGrid(t *testing.T) {
	rule := Rule{Linear, Sqrt, Linear}
	sol := func(c Coord) float64 { // 32 heads of 128, 8 KV heads
		n, s, b := c[0], c[1], c[2]
		return max(2*b*s*s*n*128/989e12, (4*b*n*s*128+2*b*2*8*s*128)/3350e9) * 1000
	}
	g := New([]Row{
		{Coord{32, 512, 2}, 0.029178666571776073},
		{Coord{32, 512, 4}, 0.05107733110586802},
		{Coord{32, 1024, 2}, 0.0625493327776591},
		{Coord{32, 1024, 4}, 0.12139200170834859},
	})
	const extras = 0.013210087164179105
	if got, err := g.At(Coord{32, 1000, 3}, rule, sol); err != nil || !closeTo(got+extras, 0.10227713165490035) {
		t.Errorf("inside: %v, %v", got+extras, err)
	}
	var rows []Row
	for _, p := range []struct{ n, util float64 }{
		{32, 0.6107200633690651}, {40, 0.5974447423320549}, {24, 0.5948804057090598}, {48, 0.6130936411054099},
	} {
		at := Coord{p.n, 16384, 8}
		rows = append(rows, Row{at, sol(at) / p.util})
	}
	rows = append(rows, Row{Coord{16, 16384, 8}, 1})
	if got, err := New(rows).At(Coord{32, 32768, 16}, rule, sol); err != nil || math.Abs(got/235.6860230324958-1) > 1e-9 {
		t.Errorf("hold: %v, %v", got, err)
	}
}
