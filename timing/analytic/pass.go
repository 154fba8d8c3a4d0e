package analytic

import "fmt"

// PrefillGroup is a number of equal prompts in a pass: new tokens behind cached ones.
type PrefillGroup struct {
	Requests, New, Prefix int
}

// DecodeGroup is a number of equal decoding requests in a pass; Context includes the token being processed.
type DecodeGroup struct {
	Requests, Context int
}

// Pass is the make-up of one mixed pass. The empty pass takes no time.
type Pass struct {
	Prefill []PrefillGroup
	Decode  []DecodeGroup
}

// Op is one operator group of a pass, over all layers, in milliseconds.
type Op struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// work is what the token-wise groups see of a pass.
type work struct {
	tokens, requests float64 // all new tokens; rows of the LM head
	prefill, decode  bool
}

// costs are the operator groups of a pass in milliseconds.
type costs struct {
	embedding, norms, qkv, prefillAttention, decodeAttention, out, mla float64
	gateUp, activation, down, router, experts, dispatch, shared        float64
	allReduce, head, pipeline, host                                    float64
}

// ops lists the groups in the order of the computation, without those that take no time.
func (c *costs) ops() []Op {
	all := []Op{
		{"embedding", c.embedding},
		{"norms", c.norms},
		{"qkv_gemm", c.qkv},
		{"prefill_attention", c.prefillAttention},
		{"decode_attention", c.decodeAttention},
		{"mla_block", c.mla},
		{"output_gemm", c.out},
		{"gate_up_gemm", c.gateUp},
		{"activation", c.activation},
		{"down_gemm", c.down},
		{"router_gemm", c.router},
		{"experts", c.experts},
		{"shared_experts", c.shared},
		{"expert_dispatch", c.dispatch},
		{"all_reduce", c.allReduce},
		{"lm_head", c.head},
		{"pipeline", c.pipeline},
		{"host", c.host},
	}
	kept := all[:0]
	for _, op := range all {
		if op.MS != 0 {
			kept = append(kept, op)
		}
	}
	return kept
}

func (c *costs) total() float64 {
	return c.embedding + c.norms + c.qkv + c.prefillAttention + c.decodeAttention + c.out + c.mla +
		c.gateUp + c.activation + c.down + c.router + c.experts + c.dispatch + c.shared +
		c.allReduce + c.head + c.pipeline + c.host
}

// PassMS prices a mixed pass as one: products, norms and experts see all tokens once, both kinds of attention are
// added. It returns milliseconds and their operator groups, which add up to the total before any divisor. O(groups).
func (m *Model) PassMS(p Pass) (float64, []Op, error) {
	var w work
	for _, g := range p.Prefill {
		if g.Requests < 1 || g.New < 1 || g.Prefix < 0 {
			return 0, nil, fmt.Errorf("prefill of %d requests, %d new tokens, prefix %d: out of range",
				g.Requests, g.New, g.Prefix)
		}
		w.prefill = true
		w.tokens += float64(g.Requests) * float64(g.New)
		w.requests += float64(g.Requests)
	}
	for _, g := range p.Decode {
		if g.Requests < 1 || g.Context < 0 {
			return 0, nil, fmt.Errorf("decode of %d requests, context %d: out of range", g.Requests, g.Context)
		}
		w.decode = true
		w.tokens += float64(g.Requests) * m.tokens
		w.requests += float64(g.Requests) * m.tokens
	}
	if !w.prefill && !w.decode {
		return 0, nil, nil
	}
	var c costs
	m.tokenCosts(&c, w)
	if w.prefill {
		m.prefillCosts(&c, p.Prefill)
	}
	if w.decode {
		m.decodeCosts(&c, p.Decode)
	}
	return c.total() / m.divisor, c.ops(), nil
}

// tokenCosts prices everything that sees tokens and not contexts.
func (m *Model) tokenCosts(c *costs, w work) {
	g, t, layers := &m.d.gpu, w.tokens, m.depth(w.decode)
	bytes := 2 * t * m.hidden
	c.embedding = g.small(bytes)
	c.norms = layers * 2 * g.small(4*bytes)
	c.head = m.head.ms(w.requests)
	c.host = m.hostStep + m.hostPerRequest*w.requests
	if m.d.pp > 1 {
		c.pipeline = float64(m.d.pp-1) * (bytes/m.comm.network + pipelineDelay)
	}
	if m.mla != nil {
		c.mla = layers * m.mla.projections(t)
	} else {
		c.qkv, c.out = layers*m.qkv.ms(t), layers*m.out.ms(t)
	}
	if m.d.facts.isMoE() {
		m.expertCosts(c, w, layers)
		return
	}
	c.gateUp, c.down = layers*m.gateUp.ms(t), layers*m.down.ms(t)
	c.activation = layers * g.small(6*t*m.inner)
	c.allReduce = (2*layers + 1) * m.comm.allReduce(bytes, m.tp)
}

// expertCosts prices router, experts, dispatch and shared experts. A decode-only pass hides the shorter of the routed
// and the shared side behind the other.
func (m *Model) expertCosts(c *costs, w work, layers float64) {
	bytes := 2 * w.tokens * m.hidden
	c.router = layers * m.router.ms(w.tokens)
	c.experts = layers * m.experts.ms(w.tokens)
	var dispatch float64
	if m.group > m.dp {
		dispatch = m.comm.allReduce(bytes, m.group)
	}
	if m.dp > 1 {
		dispatch += m.comm.gather(bytes*m.dp, m.group)
	}
	c.dispatch = 2 * layers * dispatch
	reduces := 1.0
	if m.mla != nil {
		reduces = 2 * layers
	}
	c.allReduce = reduces * m.comm.allReduce(bytes, m.tp)
	if m.sharedInner > 0 {
		c.shared = layers * (m.sharedUp.ms(w.tokens) + m.d.gpu.small(6*w.tokens*m.sharedInner) + m.sharedDown.ms(w.tokens))
		if !w.prefill {
			c.shared = max(0, c.shared-c.router-c.experts-c.dispatch)
		}
	}
}

// depth is the number of layers that a pass walks through: speculation adds its draft layers to decoding.
func (m *Model) depth(decode bool) float64 {
	if decode {
		return m.layers + float64(m.d.nextN)
	}
	return m.layers
}

// prefillCosts adds the attention of prompts, windowed and full layers apart.
func (m *Model) prefillCosts(c *costs, groups []PrefillGroup) {
	if m.mla != nil {
		for _, g := range groups {
			c.mla += m.layers * m.mla.prefill(float64(g.Requests), float64(g.New), float64(g.Prefix))
		}
		return
	}
	var full, windowed prefillSum
	for _, g := range groups {
		n, fresh, p := float64(g.Requests), float64(g.New), float64(g.Prefix)
		m.attention.add(&full, n, fresh, p, 0)
		if m.windows > 0 {
			m.attention.add(&windowed, n, fresh, p, m.window)
		}
	}
	c.prefillAttention = (m.layers - m.windows) * m.attention.prefillMS(full)
	if m.windows > 0 {
		c.prefillAttention += m.windows * m.attention.prefillMS(windowed)
	}
}

// decodeCosts adds the attention of decoding requests; the MLA block counts its own.
func (m *Model) decodeCosts(c *costs, groups []DecodeGroup) {
	requests, sum := 0.0, 0.0
	for _, g := range groups {
		n := float64(g.Requests) * m.tokens
		requests += n
		sum += m.decodeAttention(n, float64(g.Context))
	}
	sum += m.decodeLaunch(requests)
	if m.mla != nil {
		c.mla += sum
	} else {
		c.decodeAttention += sum
	}
}

// decodeLaunch is the part of decode attention that contexts do not change, over all layers.
func (m *Model) decodeLaunch(requests float64) float64 {
	if m.mla != nil {
		return m.depth(true) * m.mla.expand.body(requests)
	}
	return m.depth(true) * m.attention.decodeT0
}

// decodeAttention is the part of decode attention that grows with contexts, over all layers.
func (m *Model) decodeAttention(n, context float64) float64 {
	layers := m.depth(true)
	if m.mla != nil {
		return layers * m.mla.latent(n, 1, context)
	}
	if m.windows == 0 {
		return layers * m.attention.decodeMS(n, context, 0)
	}
	windowed := layers * m.windows / m.layers
	return windowed*m.attention.decodeMS(n, context, m.window) + (layers-windowed)*m.attention.decodeMS(n, context, 0)
}
