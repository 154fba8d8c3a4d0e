package analytic

// Floor returns what physics asks of a pass at least, in milliseconds: its FLOPs at the peaks of their modes, and its
// bytes at the full memory bandwidth. FLOPs are those of the dense products, of the exact attention pairs and of
// experts at balanced load; bytes are the dense weights, the LM head, the experts of one token and the cached KV of
// every request. Prefill by MLA counts FLOPs only. [Model.PassMS] is at least both, whatever the pass (spec
// analytic-timing §3).
func (m *Model) Floor(p Pass) (flopsMS, bytesMS float64) {
	var tokens, requests float64
	for _, g := range p.Prefill {
		n, fresh, prefix := float64(g.Requests), float64(g.New), float64(g.Prefix)
		tokens, requests = tokens+n*fresh, requests+n
		flops, bytes := m.prefillFloor(fresh, prefix)
		flopsMS, bytesMS = flopsMS+n*flops, bytesMS+n*bytes
	}
	for _, g := range p.Decode {
		n := float64(g.Requests) * m.tokens
		tokens, requests = tokens+n, requests+n
		flops, bytes := m.decodeFloor(float64(g.Context))
		flopsMS, bytesMS = flopsMS+n*flops, bytesMS+n*bytes
	}
	if tokens == 0 {
		return 0, 0
	}
	for _, g := range m.products() {
		flopsMS += m.layers * tokens * g.flops
		bytesMS += m.layers * g.bytes
	}
	if m.d.facts.isMoE() {
		x := &m.experts
		flopsMS += m.layers * tokens * m.dp * x.topk / x.ep * x.floorFLOPs
		bytesMS += m.layers * x.topk / x.ep * x.floorExpertMS
	}
	flopsMS += requests * m.head.flops
	bytesMS += m.head.bytes
	return flopsMS / m.divisor, bytesMS / m.divisor
}

// products lists the matrix products of one layer that see every token.
func (m *Model) products() []*gemm {
	var list []*gemm
	if m.mla != nil {
		list = append(list, &m.mla.down, &m.mla.up, &m.mla.out)
	} else {
		list = append(list, &m.qkv, &m.out)
	}
	switch {
	case !m.d.facts.isMoE():
		list = append(list, &m.gateUp, &m.down)
	case m.sharedInner > 0:
		list = append(list, &m.router, &m.sharedUp, &m.sharedDown)
	default:
		list = append(list, &m.router)
	}
	return list
}

// prefillFloor is what attention of one prompt asks, over all layers.
func (m *Model) prefillFloor(fresh, prefix float64) (flopsMS, bytesMS float64) {
	f := fresh + prefix
	if b := m.mla; b != nil {
		expanded := f*b.expand.flops + b.heads*(b.nope+b.rope+b.v)*fresh*(f+prefix)/b.floorPeak
		latent := fresh*b.expand.flops + 2*fresh*b.heads*f*(2*b.rank+b.rope)/b.floorPeak
		return m.layers * min(expanded, latent), 0
	}
	a := &m.attention
	for _, part := range []struct{ layers, window float64 }{{m.layers - m.windows, 0}, {m.windows, m.window}} {
		if part.layers == 0 {
			continue
		}
		s := newSpan(fresh, prefix, part.window)
		flopsMS += part.layers * 4 * a.heads * a.dim * s.pairs / a.floorPeak
		bytesMS += part.layers * 2 * a.kvHeads * a.dim * a.kvBytes * s.read / a.floorBytes
	}
	return flopsMS, bytesMS
}

// decodeFloor is what attention of one decoding request asks, over all layers.
func (m *Model) decodeFloor(context float64) (flopsMS, bytesMS float64) {
	if b := m.mla; b != nil {
		flopsMS = b.expand.flops + 2*b.heads*context*(2*b.rank+b.rope)/b.floorPeak
		return m.layers * flopsMS, m.layers * context * (b.rank + b.rope) * b.kvBytes / b.floorRate
	}
	a := &m.attention
	for _, part := range []struct{ layers, window float64 }{{m.layers - m.windows, 0}, {m.windows, m.window}} {
		c := context
		if part.window > 0 {
			c = min(c, part.window)
		}
		bytesMS += part.layers * 2 * a.kvHeads * a.dim * a.kvBytes * c / a.floorBytes
	}
	return 0, bytesMS
}
