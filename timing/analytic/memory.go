package analytic

import "math"

// weights is the size of one rank's weights in bytes, as the reference counts them (spec analytic-timing §5): norms are
// free, a MoE model's LM head is not counted, a tied one is counted twice.
func (m *Model) weights(backend string) float64 {
	f := &m.d.facts
	h, vocab := m.hidden, float64(f.Vocab/m.d.tp)
	w := m.d.gemm.capacityBytes()
	layer := m.attentionWeights(w)
	embeddings := 2 * vocab * h
	switch {
	case f.isMLA():
		embeddings += 2 * float64(f.Vocab) * h
	case !f.isMoE():
		embeddings *= 2
	}
	if f.isMoE() {
		layer += 2*float64(f.Experts)*h + m.expertWeights() + w*3*h*float64(f.SharedExperts*f.MoEIntermediate)/m.tp
	} else {
		layer += w * 3 * h * m.inner
	}
	total := embeddings + m.layers*layer
	if backend == SGLang && f.isMLA() && f.isMoE() && m.d.pp == 1 && m.d.nextN == 0 {
		return m.residentWeights(total, w)
	}
	return total / float64(m.d.pp)
}

// attentionWeights is one layer's attention in bytes.
func (m *Model) attentionWeights(w float64) float64 {
	f, h := &m.d.facts, m.hidden
	if !f.isMLA() {
		wide := m.attention.heads * m.attention.dim
		return w * ((wide+2*m.attention.dim*m.attention.kvHeads)*h + h*wide)
	}
	q, r, o := float64(f.QLoRARank), float64(f.KVLoRARank), float64(f.RopeDim)
	u, z, n := float64(f.NopeDim), float64(f.VDim), m.mla.heads
	upK := q
	if q == 0 {
		upK = h
	}
	return w * ((q+r+o)*h + (u+o)*n*upK + (u+z)*n*r + h*z*n)
}

// expertWeights is one layer's routed experts in bytes.
func (m *Model) expertWeights() float64 {
	f := &m.d.facts
	all := 3 * m.hidden * float64(f.MoEIntermediate) * float64(f.Experts) * m.d.moe.capacityBytes()
	return math.Floor(math.Floor(all/float64(m.d.moeEP)) / float64(m.d.moeTP))
}

// residentWeights corrects the sum for what SGLang keeps of a DeepSeek model: one copy of the embeddings per group,
// dense leading layers without experts (spec aic-timing §9.1).
func (m *Model) residentWeights(total, w float64) float64 {
	f, h := &m.d.facts, m.hidden
	routed := 3 * h * float64(f.MoEIntermediate) * float64(f.Experts) * m.d.moe.capacityBytes() / m.group
	shared := 3 * h * float64(f.MoEIntermediate) * w / m.tp
	gate := 2 * h * float64(f.Experts)
	plain := 3 * h * float64(f.Intermediate) * w / m.tp
	sparse := m.layers - float64(f.DenseLayers)
	total -= 2*float64(f.Vocab)*h*(1-1/m.tp) + m.layers*(routed+shared+gate)
	return total + sparse*(routed+float64(f.SharedExperts)*shared+gate) + float64(f.DenseLayers)*plain
}

// activations is the peak of one rank's activations in bytes for a token budget.
func (m *Model) activations(backend string, tokens float64) float64 {
	f := &m.d.facts
	width := float64(f.Heads * f.HeadDim)
	if f.isMLA() {
		width = m.hidden
	}
	active := 2 * tokens * width * activationFactor(m.d.tp, f.isMoE() || f.isMLA(), backend == SGLang)
	if f.isMLA() && f.isMoE() {
		active += tokens * m.hidden * m.dp * float64(f.Experts) * float64(f.TopK) / float64(m.d.moeEP) / 32
	}
	if backend == SGLang {
		return max(active, leastActiveSGL) * 1.15
	}
	return max(active, leastActive)
}

// activationFactor is the number of live activation copies by tensor parallelism.
func activationFactor(tp int, sparse, sglang bool) float64 {
	row := [3]float64{11, 6.5, 5}
	switch {
	case sparse && sglang:
		row = [3]float64{28, 17, 13}
	case sparse:
		row = [3]float64{22, 13, 10}
	case sglang:
		row = [3]float64{14, 8.5, 6.5}
	}
	switch {
	case tp == 1:
		return row[0]
	case tp < 4:
		return row[1]
	}
	return row[2]
}
