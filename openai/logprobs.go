package openai

import "unicode/utf8"

// chatLogprobs is the logprobs member for a range of positions, nil when they are not wanted or not visible
// (spec openai-endpoint N5, S9).
func (v *renderer) chatLogprobs(r *run, from, to int, kind SegmentKind) *chatLogprobs {
	if r.plan.Probs == nil || (kind != Content && kind != Refusal) {
		return nil
	}
	list := tokenLogprobs(r.plan.Probs, from, to, v.topK)
	if kind == Refusal {
		return &chatLogprobs{Refusal: list}
	}
	return &chatLogprobs{Content: list}
}

// tokenLogprobs lists the positions of a range with k alternatives each.
func tokenLogprobs(p Probs, from, to, k int) []tokenLogprob {
	list := make([]tokenLogprob, 0, to-from)
	for i := from; i < to; i++ {
		tok, top, _ := p.At(i, k)
		t := tokenLogprob{
			Token: valid(tok.Token), Logprob: tok.Logprob, Bytes: bytesOf(tok.Token),
			TopLogprobs: make([]topLogprob, len(top)),
		}
		for j, a := range top {
			t.TopLogprobs[j] = topLogprob{Token: valid(a.Token), Logprob: a.Logprob, Bytes: bytesOf(a.Token)}
		}
		list = append(list, t)
	}
	return list
}

// valid is a token as text; half a code point is shown as replacement characters, its bytes tell the truth.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func bytesOf(s string) []int {
	b := make([]int, len(s))
	for i := range len(s) {
		b[i] = int(s[i])
	}
	return b
}

// legacyLogprobs is the logprobs member of a text choice for a range of positions, whose text starts at character
// offset. It returns the offset after them (spec openai-endpoint L3).
func legacyLogprobs(c *Choice, from, to, k, offset int) (*textLogprobs, int) {
	l := &textLogprobs{
		Tokens: make([]string, 0, to-from), TokenLogprobs: make([]*float64, 0, to-from),
		TopLogprobs: make([]map[string]float64, 0, to-from), TextOffset: make([]int, 0, to-from),
	}
	for i := from; i < to; i++ {
		tok, top, ok := c.Probs.At(i, k)
		l.Tokens = append(l.Tokens, valid(tok.Token))
		l.TextOffset = append(l.TextOffset, offset)
		offset += utf8.RuneCountInString(c.text(i, i+1))
		if !ok {
			l.TokenLogprobs = append(l.TokenLogprobs, nil)
			l.TopLogprobs = append(l.TopLogprobs, nil)
			continue
		}
		lp := tok.Logprob
		l.TokenLogprobs = append(l.TokenLogprobs, &lp)
		m := make(map[string]float64, len(top)+1)
		for _, a := range top {
			m[valid(a.Token)] = a.Logprob
		}
		m[valid(tok.Token)] = lp
		l.TopLogprobs = append(l.TopLogprobs, m)
	}
	return l, offset
}

// visibleLogprobs lists all content and refusal positions of a whole answer.
func visibleLogprobs(c *Choice, k int) *chatLogprobs {
	segs := c.Segments
	if segs == nil {
		segs = []Segment{{Kind: Content, Positions: len(c.Ends)}}
	}
	l := &chatLogprobs{}
	at := 0
	for _, seg := range segs {
		switch seg.Kind {
		case Content:
			l.Content = append(l.Content, tokenLogprobs(c.Probs, at, at+seg.Positions, k)...)
		case Refusal:
			l.Refusal = append(l.Refusal, tokenLogprobs(c.Probs, at, at+seg.Positions, k)...)
		case Reasoning, ToolCall, FunctionCall, Silent, Spoken:
		}
		at += seg.Positions
	}
	return l
}
