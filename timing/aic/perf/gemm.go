package perf

import (
	"fmt"
	"slices"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/grid"
	"fakellm/timing/aic/table"
)

// gemmTable holds the GEMM rows by weight type.
type gemmTable struct {
	origin
	sites map[string]*grid.Sites
	// order lists the types by first appearance.
	order []string
}

var gemmColumns = []table.Column{
	{Name: "kernel_source", Optional: true},
	{Name: "gemm_dtype"},
	{Name: "m", Kind: table.Int},
	{Name: "n", Kind: table.Int},
	{Name: "k", Kind: table.Int},
	{Name: "latency", Kind: table.Float},
}

// loadGemm reads every weight type at once: the files hold few, and one pass costs less than one per type.
func (db *DB) loadGemm() (*gemmTable, error) {
	rows := map[string][]grid.GemmRow{}
	var order []string
	o, err := db.frames("gemm_perf", gemmColumns, func(f *table.Frame, s table.Source) error {
		take := kernelFilter(f, s)
		types, m, n, k, ms := f.Text("gemm_dtype"), f.Ints("m"), f.Ints("n"), f.Ints("k"), f.Floats("latency")
		counts := make([]int, len(types.Values))
		for _, code := range types.Rows {
			counts[code]++
		}
		parts := make([][]grid.GemmRow, len(types.Values))
		for code, name := range types.Values {
			parts[code] = slices.Grow(rows[name], counts[code])
		}
		for i := range f.Rows {
			if take(i) {
				code := types.Rows[i]
				parts[code] = append(parts[code], grid.GemmRow{M: m[i], N: n[i], K: k[i], MS: ms[i]})
			}
		}
		for code, name := range types.Values {
			if name == "awq" || name == "gptq" {
				continue
			}
			if _, ok := rows[name]; !ok {
				order = append(order, name)
			}
			rows[name] = parts[code]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &gemmTable{origin: o, sites: map[string]*grid.Sites{}, order: order}
	for _, name := range order {
		t.sites[name] = grid.NewSites(rows[name], db.gemmFloor(name))
	}
	return t, nil
}

// gemmFloor returns the roofline that measured latencies of a weight type are clamped to, nil when it has none.
func (db *DB) gemmFloor(name string) func(m, n, k float64) float64 {
	q, err := GemmQuant(name)
	if err != nil {
		return nil
	}
	flops, err := peak(db.sys, q)
	if err != nil {
		return nil
	}
	return db.gemmSOL(q, flops)
}

// gemmSOL is the roofline of a GEMM in ms (spec aic-timing §5.3): all three matrices in the quantised width.
func (db *DB) gemmSOL(q Quant, flops float64) func(m, n, k float64) float64 {
	bw := db.sys.GPU.MemBW
	return func(m, n, k float64) float64 {
		return max(2*m*n*k/flops, q.Mem*(m*n+m*k+n*k)/bw) * 1000
	}
}

// GemmQuery is one matrix product.
type GemmQuery struct {
	Quant Quant
	N, K  int
	// LowPrecisionInput drops the cost of scaling the input; it matters for fp8_static only.
	LowPrecisionInput bool
}

// Gemm returns the ms of m rows through a weight of n by k.
func (db *DB) Gemm(q *GemmQuery, tokens int) (float64, error) {
	flops, err := peak(db.sys, q.Quant)
	if err != nil {
		return 0, err
	}
	sol := db.gemmSOL(q.Quant, flops)
	m, n, k := float64(tokens), float64(q.N), float64(q.K)
	if db.Mode == SOL {
		return sol(m, n, k), nil
	}
	ms, err := db.gemmProduct(q.Quant, m, n, k, sol)
	if err != nil || q.Quant.Name != "fp8_static" {
		return ms, err
	}
	scale, err := db.computeScale.at(db, m, k)
	if err != nil {
		return 0, err
	}
	ms -= scale
	if q.LowPrecisionInput {
		scale, err = db.scaleMatrix.at(db, m, k)
		if err != nil {
			return 0, err
		}
		ms -= scale
	}
	return max(ms, sol(m, n, k)), nil
}

// gemmProduct is the product without the cost of scaling, from the table or estimated as the mode has it.
func (db *DB) gemmProduct(q Quant, m, n, k float64, sol func(m, n, k float64) float64) (float64, error) {
	if db.Mode == Empirical {
		return db.gemmEmpirical(q, m, n, k, sol)
	}
	name := q.Name
	if name == "fp8_static" {
		name = "fp8"
	}
	ms, err := db.gemmTable(name, m, n, k, sol)
	if db.Mode == Hybrid && fault.Missing(err) {
		return db.gemmEmpirical(q, m, n, k, sol)
	}
	return ms, err
}

func (db *DB) gemmTable(dtype string, m, n, k float64, sol func(m, n, k float64) float64) (float64, error) {
	sites := db.gemm.sites[dtype]
	if sites == nil {
		return 0, db.miss(db.gemm.origin, "gemm_dtype="+dtype, listKeys(db.gemm.sites, "gemm_dtype="))
	}
	ms, err := sites.At(m, n, k, sol)
	if err != nil {
		nn, nk := sites.Nearest(n, k)
		return 0, db.miss(db.gemm.origin, fmt.Sprintf("gemm_dtype=%s m=%g n=%g k=%g", dtype, m, n, k),
			fmt.Sprintf("n=%g k=%g", nn, nk))
	}
	return max(ms, 0), nil
}
