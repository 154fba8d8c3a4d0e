package assembly

import (
	"fakellm/engine"
)

// simState is the answer of /sim/state.
type simState struct {
	Engine  string        `json:"engine"`
	Version string        `json:"version"`
	TimeMS  float64       `json:"time_ms"`
	Counts  Counts        `json:"counts"`
	Workers []workerState `json:"workers"`
}

// workerState is one worker.
type workerState struct {
	Worker int         `json:"worker"`
	Busy   bool        `json:"busy"`
	Ranks  []rankState `json:"ranks"`
}

// rankState is one rank: its queue, its cache and what it holds.
type rankState struct {
	Rank           int            `json:"rank"`
	Running        int            `json:"running"`
	Waiting        int            `json:"waiting"`
	ActiveBlocks   int            `json:"active_blocks"`
	InactiveBlocks int            `json:"inactive_blocks"`
	TotalBlocks    int            `json:"total_blocks"`
	Preemptions    uint64         `json:"preemptions"`
	NewTokenRatio  float64        `json:"new_token_ratio,omitempty"`
	Requests       []requestState `json:"requests"`
}

// requestState is one request.
type requestState struct {
	ID           engine.RequestID `json:"id"`
	State        string           `json:"state"`
	PromptTokens int              `json:"prompt_tokens"`
	Generated    int              `json:"generated_tokens"`
	Computed     int              `json:"computed_tokens"`
	Cached       int              `json:"cached_tokens"`
	AgeMS        float64          `json:"age_ms"`
}

// mostListed bounds the requests that are listed per rank.
const mostListed = 1000

// snapshot copies what every worker holds; it runs inside the pacing loop.
func (s *Server) snapshot() simState {
	v := s.machine.Snapshot()
	out := simState{Engine: s.Describe(), TimeMS: v.Now.Milliseconds()}
	for i, w := range v.Workers {
		ws := workerState{Worker: i, Busy: w.Busy}
		for rank, r := range w.Ranks {
			rs := rankState{
				Rank: rank, Running: r.Running, Waiting: r.Waiting, ActiveBlocks: r.ActiveBlocks, InactiveBlocks: r.InactiveBlocks,
				TotalBlocks: r.TotalBlocks, Preemptions: r.Preemptions, NewTokenRatio: r.NewTokenRatio, Requests: []requestState{},
			}
			for _, q := range s.machine.Requests(i, rank) {
				if len(rs.Requests) == mostListed {
					break
				}
				state := "waiting"
				if q.Running {
					state = "running"
				}
				rs.Requests = append(rs.Requests, requestState{
					ID: q.ID, State: state, PromptTokens: q.PromptTokens, Generated: q.Generated, Computed: q.Computed,
					Cached: q.Cached, AgeMS: (v.Now - q.Arrival).Milliseconds(),
				})
			}
			ws.Ranks = append(ws.Ranks, rs)
		}
		out.Workers = append(out.Workers, ws)
	}
	return out
}
