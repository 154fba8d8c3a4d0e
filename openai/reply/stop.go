package reply

import (
	"sort"
	"strings"
)

// applyStop ends the plan before the first stop string in the content, the tokens [from, to). The first is the one that
// is complete first; of those that are complete with the same character the one that begins first. Tokens up to the one
// that completes it have been generated and count; they say nothing from where the string begins. Strings that are
// complete within the first Limits.Min tokens do not count, as in vLLM. It reports whether it cut.
func (p *Plan) applyStop(r *Request, from, to int) bool {
	if len(r.Stop) == 0 || from == to {
		return false
	}
	begin, limit := p.offset(from), p.offset(to)
	first := p.offset(max(from, min(r.Limits.Min, to))) // a string must be complete after this
	at, end, which := -1, limit+1, ""
	for _, s := range r.Stop {
		if s == "" {
			continue
		}
		search := min(max(begin, first-len(s)+1), limit)
		if i := strings.Index(p.Text[search:limit], s); i >= 0 {
			if i += search; i+len(s) < end || i+len(s) == end && i < at {
				at, end, which = i, i+len(s), s
			}
		}
	}
	if at < 0 {
		return false
	}
	n := 1 + sort.Search(len(p.Ends), func(i int) bool { return int(p.Ends[i]) >= end })
	if r.KeepStop {
		at = end
	}
	p.cut(n)
	p.Text = p.Text[:at]
	for i := n - 1; i >= 0 && int(p.Ends[i]) > at; i-- {
		p.Ends[i] = uint32(at)
	}
	p.FinishReason, p.StopString = FinishStop, which
	return true
}

// offset is where the text of token i begins.
func (p *Plan) offset(i int) int {
	if i == 0 {
		return 0
	}
	return int(p.Ends[i-1])
}

// cut keeps the first n tokens.
func (p *Plan) cut(n int) {
	p.IDs, p.Ends, p.Text = p.IDs[:n], p.Ends[:n], p.Text[:p.offset(n)]
	p.Reasoning = min(p.Reasoning, n)
	for i := range p.Segments {
		s := &p.Segments[i]
		if s.Tokens >= n {
			s.Tokens = n
			p.Segments = p.Segments[:i+1]
			return
		}
		n -= s.Tokens
	}
}
