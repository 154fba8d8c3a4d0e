package reply

import (
	"sort"
	"strings"
)

// applyStop ends the plan before the first stop string in the content, which starts at token from. The first is the one
// that is complete first; of those that are complete with the same character the one that begins first. Tokens up to
// the one that completes it have been generated and count; they say nothing from where the string begins. Strings that
// are complete within the first Limits.Min tokens do not count, as in vLLM.
func (p *Plan) applyStop(r *Request, from int) {
	first, begin := 0, 0 // byte offsets of what may complete a stop string, and of the content
	if from > 0 {
		begin = int(p.Ends[from-1])
	}
	if m := min(r.Limits.Min, len(p.Ends)); m > from {
		first = int(p.Ends[m-1])
	}
	at, end, which := -1, len(p.Text)+1, ""
	for _, s := range r.Stop {
		if s == "" {
			continue
		}
		search := max(begin, first-len(s)+1)
		if i := strings.Index(p.Text[search:], s); i >= 0 {
			if i += search; i+len(s) < end || i+len(s) == end && i < at {
				at, end, which = i, i+len(s), s
			}
		}
	}
	if at < 0 {
		return
	}
	n := 1 + sort.Search(len(p.Ends), func(i int) bool { return int(p.Ends[i]) >= end })
	if r.KeepStop {
		at = end
	}
	p.Text, p.IDs, p.Ends = p.Text[:at], p.IDs[:n], p.Ends[:n]
	for i := n - 1; i >= 0 && int(p.Ends[i]) > at; i-- {
		p.Ends[i] = uint32(at)
	}
	p.FinishReason, p.StopString = FinishStop, which
	if k := len(p.Segments); k > 0 {
		p.Segments[k-1].Tokens = n - from
	}
}
