package perf

import (
	"fmt"
	"slices"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/grid"
	"fakellm/timing/aic/table"
)

// moeShape is the exact key of one expert curve.
type moeShape struct {
	topk, experts, hidden, inter, tp, ep int64
}

// moeSlice is the part of the key that decides whether a distribution exists.
type moeSlice struct {
	quant, distribution string
}

// moeTable holds the expert rows, over tokens of all attention ranks together.
type moeTable struct {
	origin
	curves     map[moeSlice]map[moeShape]*grid.Curve
	lowLatency map[moeSlice]map[moeShape]*grid.Curve
	// order lists the types by first appearance.
	order []string
}

// lowLatencyKernel marks rows of a kernel that only small batches use; lowLatencyTokens bounds them.
const (
	lowLatencyKernel = "moe_torch_flow_min_latency"
	lowLatencyTokens = 128
)

// remapKernel renames the type of rows whose kernel makes them a type of their own (spec aic-timing §4.3).
func remapKernel(backend, quant, kernel string) string {
	if backend != "sglang" {
		return quant
	}
	switch {
	case quant == "w4a8_mxfp4_mxfp8" && kernel == "sglang_mxfp4_flashinfer_trtllm_moe":
		return "w4a8_mxfp4_mxfp8_trtllm"
	case quant == "w4a16_mxfp4" && kernel == "sglang_flashinfer_cutlass_moe":
		return "w4a16_mxfp4_cutlass"
	}
	return quant
}

var moeColumns = []table.Column{
	{Name: "kernel_source", Optional: true},
	{Name: "moe_dtype"},
	{Name: "distribution"},
	{Name: "num_tokens", Kind: table.Int},
	{Name: "hidden_size", Kind: table.Int},
	{Name: "inter_size", Kind: table.Int},
	{Name: "topk", Kind: table.Int},
	{Name: "num_experts", Kind: table.Int},
	{Name: "moe_tp_size", Kind: table.Int},
	{Name: "moe_ep_size", Kind: table.Int},
	{Name: "default_eligible", Kind: table.Bool, Optional: true},
	{Name: "latency", Kind: table.Float},
}

// moeRows collects rows by slice and shape.
type moeRows map[moeSlice]map[moeShape][]grid.Point

func (r moeRows) add(slice moeSlice, shape moeShape, p grid.Point) {
	if r[slice] == nil {
		r[slice] = map[moeShape][]grid.Point{}
	}
	r[slice][shape] = append(r[slice][shape], p)
}

func (r moeRows) curves() map[moeSlice]map[moeShape]*grid.Curve {
	out := make(map[moeSlice]map[moeShape]*grid.Curve, len(r))
	for slice, shapes := range r {
		out[slice] = make(map[moeShape]*grid.Curve, len(shapes))
		for shape, points := range shapes {
			c := grid.NewCurve(points)
			out[slice][shape] = &c
		}
	}
	return out
}

func (db *DB) loadMoE() (*moeTable, error) {
	rows, low := moeRows{}, moeRows{}
	var order []string
	o, err := db.frames("moe_perf", moeColumns, func(f *table.Frame, s table.Source) error {
		order = db.addMoE(f, s, rows, low, order)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &moeTable{origin: o, curves: rows.curves(), lowLatency: low.curves(), order: order}, nil
}

// addMoE sorts the rows of one file and returns order with the types that appear in it for the first time.
func (db *DB) addMoE(f *table.Frame, s table.Source, rows, low moeRows, order []string) []string {
	take := kernelFilter(f, s)
	kernel, quant, dist := f.Text("kernel_source"), f.Text("moe_dtype"), f.Text("distribution")
	tokens, hidden, inter := f.Ints("num_tokens"), f.Ints("hidden_size"), f.Ints("inter_size")
	topk, experts := f.Ints("topk"), f.Ints("num_experts")
	tp, ep, ms, eligible := f.Ints("moe_tp_size"), f.Ints("moe_ep_size"), f.Floats("latency"), f.Bools("default_eligible")
	for i := range f.Rows {
		if !take(i) || eligible != nil && !eligible[i] {
			continue
		}
		slice := moeSlice{remapKernel(db.Backend, quant.At(i), kernel.At(i)), dist.At(i)}
		shape := moeShape{topk[i], experts[i], hidden[i], inter[i], tp[i], ep[i]}
		to := rows
		if kernel.At(i) == lowLatencyKernel {
			to = low
		}
		if rows[slice] == nil && !slices.Contains(order, slice.quant) {
			order = append(order, slice.quant)
		}
		to.add(slice, shape, grid.Point{X: float64(tokens[i]), Y: ms[i]})
	}
	return order
}

// MoEQuery is the experts of one layer on one rank.
type MoEQuery struct {
	Hidden, Inter, TopK, Experts int
	TP, EP, AttentionDP          int
	Quant                        Quant
	Distribution                 string
	// Ungated marks experts of two matrices instead of three.
	Ungated bool
}

// MoE returns the ms of the experts over the tokens of one rank; the tokens of all attention ranks meet there.
func (db *DB) MoE(q *MoEQuery, perRank int) (float64, error) {
	flops, err := peak(db.sys, q.Quant)
	if err != nil {
		return 0, err
	}
	if perRank > 1<<40/q.AttentionDP/max(q.TopK, 1)/max(q.Hidden, 1) {
		return 0, fault.New(fault.BadShape, "%d tokens per rank meet at the experts: too many", perRank)
	}
	tokens := float64(perRank * q.AttentionDP)
	sol := db.moeSOL(q, flops)
	switch db.Mode {
	case SOL:
		return sol(tokens), nil
	case Empirical:
		return db.moeEmpirical(q, tokens, sol)
	case Silicon, Hybrid:
	}
	ms, err := db.moeSilicon(q, tokens, sol)
	if db.Mode == Hybrid && fault.Missing(err) {
		return db.moeEmpirical(q, tokens, sol)
	}
	return ms, err
}

func (q *MoEQuery) shape() moeShape {
	return moeShape{int64(q.TopK), int64(q.Experts), int64(q.Hidden), int64(q.Inter), int64(q.TP), int64(q.EP)}
}

// String names the shape in messages.
func (s moeShape) String() string {
	return fmt.Sprintf("topk=%d num_experts=%d hidden_size=%d inter_size=%d moe_tp_size=%d moe_ep_size=%d",
		s.topk, s.experts, s.hidden, s.inter, s.tp, s.ep)
}

func (db *DB) moeSilicon(q *MoEQuery, tokens float64, sol func(float64) float64) (float64, error) {
	shape := q.shape()
	if tokens <= lowLatencyTokens && q.Quant.Name == "nvfp4" && !q.Ungated {
		if c := db.moe.lowLatency[moeSlice{q.Quant.Name, q.Distribution}][shape]; c != nil {
			return db.moeCurve(c, q, tokens, sol)
		}
	}
	c := db.moe.find(moeSlice{q.Quant.Name, q.Distribution}, shape)
	if c == nil {
		slice := moeSlice{q.Quant.Name, q.Distribution}
		return 0, db.miss(db.moe.origin,
			fmt.Sprintf("moe_dtype=%s distribution=%s %v", slice.quant, slice.distribution, shape),
			db.moe.nearest(slice, shape))
	}
	return db.moeCurve(c, q, tokens, sol)
}

// find returns the curve of a shape; a distribution that the type lacks altogether falls back to uniform.
func (t *moeTable) find(slice moeSlice, shape moeShape) *grid.Curve {
	shapes := t.curves[slice]
	if shapes == nil {
		shapes = t.curves[moeSlice{slice.quant, "uniform"}]
	}
	return shapes[shape]
}

func (db *DB) moeCurve(c *grid.Curve, q *MoEQuery, tokens float64, sol func(float64) float64) (float64, error) {
	ms, err := c.At(tokens, sol)
	if err != nil || len(c.X) == 1 && tokens < c.X[0] {
		return 0, db.miss(db.moe.origin, fmt.Sprintf("moe_dtype=%s %v num_tokens=%g", q.Quant.Name, q.shape(), tokens),
			fmt.Sprintf("num_tokens=%g", c.Nearest(tokens)))
	}
	return max(ms, 0), nil
}

// nearest names the collected shape that shares most with the asked one.
func (t *moeTable) nearest(slice moeSlice, shape moeShape) string {
	best, name := -1, ""
	for sl, shapes := range t.curves {
		for sh := range shapes {
			score := 0
			for _, same := range []bool{
				sh.experts == shape.experts && sh.hidden == shape.hidden && sh.inter == shape.inter,
				sl.quant == slice.quant, sh.topk == shape.topk, sl.distribution == slice.distribution,
				sh.ep == shape.ep, sh.tp == shape.tp,
			} {
				score *= 2
				if same {
					score++
				}
			}
			if score < best {
				continue
			}
			s := fmt.Sprintf("moe_dtype=%s distribution=%s %v", sl.quant, sl.distribution, sh)
			if score > best || s < name {
				best, name = score, s
			}
		}
	}
	return name
}

// moeSOL is the roofline of the experts in ms over tokens (spec aic-timing §5.7): integer arithmetic, left to right.
func (db *DB) moeSOL(q *MoEQuery, flops float64) func(float64) float64 {
	g := int64(3)
	if q.Ungated {
		g = 2
	}
	s := q.shape()
	bw := db.sys.GPU.MemBW
	return func(tokens float64) float64 {
		t := int64(tokens) * s.topk
		ops := t * s.hidden * s.inter * g * 2 / s.ep / s.tp
		active := min(s.experts/s.ep, t/s.ep)
		elements := t/s.ep*s.hidden*2 + t/s.ep*s.inter*g/s.tp + s.hidden*s.inter*g/s.tp*active
		return max(float64(ops)/flops, float64(elements)*q.Quant.Mem/bw) * 1000
	}
}
