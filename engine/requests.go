package engine

import (
	"cmp"
	"slices"
)

// RequestState is what an outsider may know of one request. All lengths are in tokens.
type RequestState struct {
	ID      RequestID
	Running bool
	// PromptTokens and Generated make up its length, Computed of it has KV, Cached was reused at its first admission.
	PromptTokens, Generated, Computed, Cached int
	// Arrival is when the machine took it in.
	Arrival Time
}

// Requests lists what a rank holds, by id. O(n log n): for looking, not for serving.
func (e *Engine) Requests(rank int) []RequestState {
	var out []RequestState
	switch c := e.ranks[rank].(type) {
	case *vllm:
		for _, s := range c.byID { // order: sorted below
			out = append(out, RequestState{
				ID: s.req.ID, Running: s.running, PromptTokens: s.prompt, Generated: s.generated(), Computed: s.computed,
				Cached: s.cached, Arrival: s.req.Arrival,
			})
		}
	case *sglangCore:
		running := make(map[RequestID]bool, len(c.running))
		for _, s := range c.running {
			running[s.req.ID] = true
		}
		for _, s := range c.byID { // order: sorted below
			out = append(out, RequestState{
				ID: s.req.ID, Running: running[s.req.ID], PromptTokens: s.prompt, Generated: s.output(),
				Computed: s.materialized, Cached: s.reused, Arrival: s.req.Arrival,
			})
		}
	}
	slices.SortFunc(out, func(a, b RequestState) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
