package script

import (
	"cmp"
	"fmt"
	"slices"
)

// NearMiss says how far a mapping was from matching.
type NearMiss struct {
	Mapping string `json:"mapping"`
	Name    string `json:"name,omitempty"`
	// Held and Failed are its conditions; Distance is the failed part of all, 0 for a match.
	Held     []string `json:"held"`
	Failed   []string `json:"failed"`
	Distance float64  `json:"distance"`
}

// NearMisses explains a request: the n mappings that came closest, the closest first, equal ones in order of trial. It
// changes nothing. O(mappings · conditions), without the early exit of Match.
func (b *Book) NearMisses(st *State, q *Request, n int) []NearMiss {
	v := newView(q)
	out := make([]NearMiss, 0, len(b.rules))
	for _, r := range b.rules {
		m := NearMiss{Mapping: r.ID, Name: r.Name, Held: []string{}, Failed: []string{}}
		note := func(what string, holds bool) {
			if holds {
				m.Held = append(m.Held, what)
			} else {
				m.Failed = append(m.Failed, what)
			}
		}
		if r.ScenarioName != "" && r.RequiredScenarioState != "" {
			note(fmt.Sprintf("scenario %q in state %q", r.ScenarioName, r.RequiredScenarioState), r.inState(st, q.Session))
		}
		for i := range r.cond {
			note(r.cond[i].what, r.cond[i].holds(v, nil))
		}
		if r.Exhausted == exhaustedNext {
			_, ok := r.pick(st.matched(&r.Mapping, q.Session), v.rounds)
			note("an answer is left", ok)
		}
		if all := len(m.Held) + len(m.Failed); all > 0 {
			m.Distance = float64(len(m.Failed)) / float64(all)
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(x, y NearMiss) int { return cmp.Compare(x.Distance, y.Distance) })
	return out[:min(max(n, 0), len(out))]
}
