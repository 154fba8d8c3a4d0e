package perf

// DispatchQuery is the traffic before or after the experts (spec aic-timing §4.2).
type DispatchQuery struct {
	Hidden, TP, EP, AttentionDP int
	// Pre is set before the experts, clear after them.
	Pre       bool
	MoE, Comm Quant
}

// Dispatch returns the ms of bringing the tokens of one rank to the experts or back, as the backend does it.
func (db *DB) Dispatch(q *DispatchQuery, tokens int) (float64, error) {
	g, dp := q.TP*q.EP, q.AttentionDP
	attnTP := max(1, g/dp)
	own := float64(tokens) * float64(q.Hidden)
	all := own * float64(dp)
	collective := func(volume float64) (float64, error) {
		if q.Pre {
			return db.NCCL(q.Comm, "all_gather", g, volume)
		}
		return db.NCCL(q.Comm, "reduce_scatter", g, volume)
	}
	switch {
	case db.Backend == "sglang" && attnTP > 1 && dp > 1:
		return db.dispatchTwoLevel(q, g, attnTP, own, all)
	case db.Backend == "trtllm" && db.sys.GPU.SM == 100 && dp > 1:
		if q.Pre {
			all *= gatherWidth(q.MoE.Name)
		}
		return collective(all)
	case db.Backend == "vllm":
		sum := 0.0
		if attnTP > 1 {
			ms, err := db.AllReduce(g, own)
			if err != nil {
				return 0, err
			}
			sum += ms
		}
		if dp > 1 {
			ms, err := collective(all)
			if err != nil {
				return 0, err
			}
			sum += ms
		}
		return sum, nil
	case attnTP > 1:
		return db.AllReduce(g, own)
	case dp > 1:
		return collective(all)
	}
	return 0, nil
}

// dispatchTwoLevel is sglang's way with tensor and data parallel attention at once: scatter inside the attention group,
// gather over everybody, and back.
func (db *DB) dispatchTwoLevel(q *DispatchQuery, g, attnTP int, own, all float64) (float64, error) {
	inner, outer := "reduce_scatter", "all_gather"
	if !q.Pre {
		inner, outer = "all_gather", "reduce_scatter"
	}
	a, err := db.NCCL(q.Comm, inner, attnTP, own)
	if err != nil {
		return 0, err
	}
	b, err := db.NCCL(q.Comm, outer, g, all)
	return a + b, err
}

// gatherWidth is the share of a 16-bit message that TensorRT-LLM sends when it quantises before the gather.
func gatherWidth(quant string) float64 {
	switch quant {
	case "nvfp4":
		return 0.28125
	case "fp8", "fp8_block":
		return 0.5
	}
	return 1
}
