package perf

import (
	"fmt"
	"strings"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/grid"
	"fakellm/timing/aic/table"
)

// reduceTable holds the backend's own all-reduce by group size, over message elements.
type reduceTable struct {
	origin
	curves map[int]*grid.Curve
}

func (db *DB) loadAllReduce() (*reduceTable, error) {
	cols := []table.Column{
		{Name: "kernel_source", Optional: true},
		{Name: "backend", Optional: true},
		{Name: "num_gpus", Kind: table.Int},
		{Name: "message_size", Kind: table.Int},
		{Name: "latency", Kind: table.Float},
	}
	rows := map[int][]grid.Point{}
	o, err := db.frames("custom_allreduce_perf", cols, func(f *table.Frame, s table.Source) error {
		kernel, backend := f.Text("kernel_source"), f.Text("backend")
		gpus, size, ms := f.Ints("num_gpus"), f.Ints("message_size"), f.Floats("latency")
		for i := range f.Rows {
			eager := strings.HasSuffix(kernel.At(i), "_eager") || strings.HasSuffix(backend.At(i), "_eager")
			if eager && db.sys.Name != "b60" {
				continue
			}
			g := int(gpus[i])
			rows[g] = append(rows[g], grid.Point{X: float64(size[i]), Y: ms[i]})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &reduceTable{origin: o, curves: map[int]*grid.Curve{}}
	for g, r := range rows {
		c := grid.NewCurve(r)
		t.curves[g] = &c
	}
	return t, nil
}

// AllReduce returns the ms of the backend's all-reduce of so many elements over g GPUs (spec aic-timing §5.6).
func (db *DB) AllReduce(g int, elements float64) (float64, error) {
	if g <= 1 {
		return 0, nil
	}
	sol := 4 * elements / float64(g) * float64(g-1) / db.sys.Bandwidth(g) * 1000
	if db.Mode == SOL {
		return sol, nil
	}
	if db.sys.Node.GPUs == 72 && g > 4 {
		half, err := CommQuant("half")
		if err != nil {
			return 0, err
		}
		return db.NCCL(half, "all_reduce", g, elements)
	}
	if db.Mode == Empirical {
		return db.allReduceEmpirical(g, elements)
	}
	ms, err := db.allReduceSilicon(g, elements)
	if db.Mode == Hybrid && fault.Missing(err) {
		return db.allReduceEmpirical(g, elements)
	}
	return ms, err
}

func proportional(x float64) float64 { return x }

// allReduceSilicon looks the table up; groups beyond a node are scaled from the largest collected one.
func (db *DB) allReduceSilicon(g int, elements float64) (float64, error) {
	m, scale, ok := db.groupSize(g, func(size int) bool { return db.allReduce.curves[size] != nil })
	slice := fmt.Sprintf("num_gpus=%d message_size=%g", g, elements)
	if !ok {
		return 0, db.miss(db.allReduce.origin, slice, listGroups(db.allReduce.curves))
	}
	ms, err := db.allReduce.curves[m].At(elements, proportional)
	if err != nil {
		return 0, db.miss(db.allReduce.origin, slice, "")
	}
	return max(ms, 0) * scale, nil
}

// groupSize picks the collected group that answers for g GPUs and the factor on its latency: within a node exactly g;
// beyond it the largest collected one, by ring traffic and bandwidth.
func (db *DB) groupSize(g int, has func(int) bool) (size int, scale float64, ok bool) {
	if has(g) {
		return g, 1, true
	}
	if g <= db.sys.Node.GPUs {
		return 0, 0, false
	}
	for m := g; m > 1; m-- {
		if has(m) {
			ring := float64(g-1) / float64(g) * float64(m) / float64(m-1)
			return m, ring * db.sys.Bandwidth(m) / db.sys.Bandwidth(g), true
		}
	}
	return 0, 0, false
}

// listGroups names the collected group sizes.
func listGroups(m map[int]*grid.Curve) string {
	names := map[string]*grid.Curve{}
	for g, c := range m {
		names[fmt.Sprint(g)] = c
	}
	return listKeys(names, "num_gpus=")
}

// ncclKey names one curve of the NCCL table.
type ncclKey struct {
	dtype, op string
	gpus      int
}

// ncclTable holds the system-wide collectives, over message elements.
type ncclTable struct {
	origin
	curves map[ncclKey]*grid.Curve
}

// loadNCCL reads the table of the version that the system file names; oneCCL's rows stand behind NCCL's.
func (db *DB) loadNCCL() (*ncclTable, error) {
	cols := []table.Column{
		{Name: "op_name"},
		{Name: "nccl_dtype", Optional: true},
		{Name: "oneccl_dtype", Optional: true},
		{Name: "num_gpus", Kind: table.Int},
		{Name: "message_size", Kind: table.Int},
		{Name: "latency", Kind: table.Float},
	}
	sources := db.Index.Fixed("nccl", db.sys.Misc.NCCLVersion, "nccl_perf")
	if v := db.sys.Misc.OneCCLVersion; v != "" {
		sources = append(sources, db.Index.Fixed("oneccl", v, "oneccl_perf")...)
	}
	rows := map[ncclKey][]grid.Point{}
	o, err := db.read("nccl_perf", sources, cols, func(f *table.Frame, _ table.Source) error {
		op, dtype := f.Text("op_name"), f.Text("nccl_dtype")
		if dtype.Rows == nil {
			dtype = f.Text("oneccl_dtype")
		}
		gpus, size, ms := f.Ints("num_gpus"), f.Ints("message_size"), f.Floats("latency")
		fresh := map[ncclKey][]grid.Point{}
		for i := range f.Rows {
			key := ncclKey{dtype.At(i), op.At(i), int(gpus[i])}
			fresh[key] = append(fresh[key], grid.Point{X: float64(size[i]), Y: ms[i]})
		}
		for key, r := range fresh {
			if _, ok := rows[key]; !ok {
				rows[key] = r
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &ncclTable{origin: o, curves: map[ncclKey]*grid.Curve{}}
	for key, r := range rows {
		c := grid.NewCurve(r)
		t.curves[key] = &c
	}
	return t, nil
}

// NCCL returns the ms of a collective (all_gather, reduce_scatter, alltoall, all_reduce) of so many elements over g
// GPUs.
func (db *DB) NCCL(q Quant, op string, g int, elements float64) (float64, error) {
	if g <= 1 {
		return 0, nil
	}
	if db.Mode == SOL {
		ms := q.Mem * elements * float64(g-1) / float64(g) / db.sys.Bandwidth(g) * 1000
		if op == "all_reduce" {
			ms *= 2
		}
		return ms, nil
	}
	if db.Mode == Empirical {
		return db.ncclEmpirical(q, op, g, elements)
	}
	ms, err := db.ncclSilicon(q, op, g, elements)
	if db.Mode == Hybrid && fault.Missing(err) {
		return db.ncclEmpirical(q, op, g, elements)
	}
	return ms, err
}

func (db *DB) ncclSilicon(q Quant, op string, g int, elements float64) (float64, error) {
	m, scale, ok := db.groupSize(g, func(size int) bool { return db.nccl.curves[ncclKey{q.Name, op, size}] != nil })
	slice := fmt.Sprintf("nccl_dtype=%s op_name=%s num_gpus=%d message_size=%g", q.Name, op, g, elements)
	if !ok {
		return 0, db.miss(db.nccl.origin, slice, "")
	}
	ms, err := db.nccl.curves[ncclKey{q.Name, op, m}].At(elements, proportional)
	if err != nil {
		return 0, db.miss(db.nccl.origin, slice, "")
	}
	return max(ms, 0) * scale, nil
}

// P2P returns the ms of handing the hidden states of tokens to the next pipeline stage: always over the link between
// nodes, as the reference has it. Without a pipeline it is 0.
func (db *DB) P2P(pp, hidden, tokens int) float64 {
	if pp <= 1 {
		return 0
	}
	latency := db.sys.Node.P2PLatency
	if db.Mode == SOL {
		latency = 0
	}
	return (float64(tokens)*float64(hidden)*2/db.sys.Node.InterBW + latency) * 1000
}
