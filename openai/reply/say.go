package reply

// Part is a piece of a given answer.
type Part struct {
	Kind Kind
	// Text is what is said; for a tool call its arguments.
	Text string
	// ID and Name belong to a tool call. An empty ID gets a seeded one.
	ID, Name string
	// Unknown is how many tokens to say, of filler, where only the length of what was said is known; Text is empty then.
	Unknown int
}

// Say plans an answer whose words are given, part after part, under the limits and stop strings of r. It ends with
// "length" if a limit cuts it, with "tool_calls" if it has a tool call, else with "stop". MinTokens and IgnoreEOS
// lengthen an answer that ends in content, by filler. O(bytes).
func (p *Planner) Say(r *Request, parts ...Part) *Plan {
	b := builder{p: p, r: r, seed: p.seed(r)}
	for i, part := range parts {
		if part.Kind == ToolCall && part.ID == "" {
			part.ID = callID(b.seed + uint64(i))
		}
		if part.Unknown > 0 {
			b.filler(part.Kind, uint64(i)+1, part.Unknown, min(part.Unknown, r.Limits.limit()))
			continue
		}
		b.add(part)
	}
	return b.finish()
}

// builder puts the segments of an answer together.
type builder struct {
	p        *Planner
	r        *Request
	seed     uint64
	plan     Plan
	text     text
	accepted int
	fixed    bool // the last segment is complete as it is, filler would spoil it
	short    bool // the content was made to end at the limit
}

// add appends a part.
func (b *builder) add(part Part) {
	e := b.p.enc
	from := len(b.text.ids)
	if part.Kind == ToolCall {
		b.text.ids = e.AppendCallHead(b.text.ids, part.Name)
		for len(b.text.ends) < len(b.text.ids) {
			b.text.ends = append(b.text.ends, uint32(len(b.text.text)))
		}
	}
	start := len(b.text.ids)
	b.text.ids = e.AppendEncode(b.text.ids, part.Text)
	b.text.text, b.text.ends = e.AppendPieces(b.text.text, b.text.ends, b.text.ids[start:])
	b.segment(Segment{Kind: part.Kind, Tokens: len(b.text.ids) - from, ID: part.ID, Name: part.Name})
}

// filler appends a segment of n tokens of English out of a text of total.
func (b *builder) filler(kind Kind, name uint64, total, n int) {
	if n <= 0 {
		return
	}
	var t text
	t.grow(n)
	b.p.filler.write(&t, b.seed+name, total, n)
	b.splice(&t)
	b.segment(Segment{Kind: kind, Tokens: n})
}

// splice appends a text that was made by itself.
func (b *builder) splice(t *text) {
	base := uint32(len(b.text.text))
	b.text.text = append(b.text.text, t.text...)
	b.text.ids = append(b.text.ids, t.ids...)
	for _, end := range t.ends {
		b.text.ends = append(b.text.ends, base+end)
	}
}

func (b *builder) segment(s Segment) {
	b.plan.Segments = append(b.plan.Segments, s)
	if s.Kind == Reasoning {
		b.plan.Reasoning += s.Tokens
	}
}

// finish applies limits and stop strings.
func (b *builder) finish() *Plan {
	p, l := &b.plan, b.r.Limits
	n := len(b.text.ids)
	_, want, reason := l.resolve(n)
	if want > n && !b.lengthen(want-n) {
		reason = FinishStop // what must not grow ends by itself
	}
	if b.short {
		reason = FinishLength
	}
	p.IDs, p.Ends, p.Text, p.FinishReason = b.text.ids, b.text.ends, string(b.text.text), reason
	if want < n {
		p.cut(want)
	}
	p.Accepted = min(b.accepted, len(p.IDs))
	from := 0
	for _, s := range p.Segments {
		if s.Kind == Content && p.applyStop(b.r, from, from+s.Tokens) {
			return p
		}
		from += s.Tokens
	}
	if p.FinishReason == FinishStop {
		for _, s := range p.Segments {
			if s.Kind == ToolCall {
				p.FinishReason = FinishToolCalls
			}
		}
	}
	return p
}

// lengthen adds n tokens of filler to an answer that ends in free content; it reports whether it did.
func (b *builder) lengthen(n int) bool {
	k := len(b.plan.Segments)
	if b.fixed || k > 0 && b.plan.Segments[k-1].Kind != Content {
		return false
	}
	if k == 0 {
		b.segment(Segment{Kind: Content})
		k++
	}
	b.p.filler.write(&b.text, b.seed, n, n)
	b.plan.Segments[k-1].Tokens += n
	return true
}
