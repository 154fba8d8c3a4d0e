package script

import (
	"fmt"
	"strconv"
	"strings"

	"fakellm/internal/rng"
)

// Selection is the mapping that answers a request, with all that its answers need. It is immutable, but its template
// functions read the Request, which must not change meanwhile.
type Selection struct {
	rule *rule
	// at is the number of the answer, -1 when each choice draws its own by weight.
	at    int
	count int
	seed  uint64
	view  *view
	caps  captures
}

// Match finds the first mapping whose conditions hold, counts the match in st and moves its scenario. It changes st
// only when it reports true. O(mappings · conditions) plus the decoding of the body if a condition asks for it.
//
// Call it once per request, whatever its number of choices, and lock st around it.
func (b *Book) Match(st *State, q *Request) (Selection, bool) {
	v := newView(q)
	for _, r := range b.rules {
		s := Selection{rule: r, seed: st.seed, view: v}
		if !r.inState(st, q.Session) || !r.cond.match(v, &s.caps) {
			continue
		}
		before := st.matched(&r.Mapping, q.Session)
		at, ok := r.pick(before, v.rounds)
		if !ok {
			continue
		}
		s.at, s.count = at, before+1
		st.advance(&r.Mapping, q.Session)
		return s, true
	}
	return Selection{}, false
}

// inState reports whether the scenario of the rule is where it must be.
func (r *rule) inState(st *State, key string) bool {
	return r.ScenarioName == "" || r.RequiredScenarioState == "" ||
		st.Scenario(key, r.ScenarioName) == r.RequiredScenarioState
}

// exhaustedAt marks an answer that says that a sequence has ended.
const exhaustedAt = -2

// pick says which answer is due after before matches and a number of tool rounds.
func (r *rule) pick(before, rounds int) (at int, ok bool) {
	n := len(r.answers)
	switch {
	case r.Choose == chooseWeighted:
		return -1, true
	case r.Steps != nil:
		at = rounds
	case r.Responses != nil:
		at = before
	}
	if at < n {
		return at, true
	}
	switch r.Exhausted {
	case exhaustedError:
		return exhaustedAt, true
	case exhaustedNext:
		return 0, false
	default:
		return n - 1, true
	}
}

// Mapping is the id of the mapping that answers.
func (s *Selection) Mapping() string { return s.rule.ID }

// Outcome renders the answer of one choice. Equal seed, request and state give equal outcomes. An error means that a
// template could not be rendered.
func (s *Selection) Outcome(sample int) (Outcome, error) {
	at := s.at
	stream := s.rule.ID + "\x00" + s.view.Session + "\x00" + strconv.Itoa(s.count) + "\x00" + strconv.Itoa(sample)
	switch at {
	case exhaustedAt:
		o := Outcome{Mapping: s.rule.ID, Name: s.rule.Name, Reply: len(s.rule.answers)}
		o.Error = &Failure{Status: 500, Type: "server_error", Code: "script_exhausted", Message: fmt.Sprintf(
			"mapping %s has %d answers and all have been given", s.rule.label(), len(s.rule.answers))}
		return o, nil
	case -1:
		at = s.rule.draw(rng.New(s.seed, "script/weights\x00"+stream).Float64())
	}
	o, err := s.rule.answers[at].render(s.scope(sample, stream))
	o.Mapping, o.Name, o.Reply = s.rule.ID, s.rule.Name, at
	if err != nil {
		return o, fmt.Errorf("mapping %s, answer %d: %w", s.rule.label(), at, err)
	}
	return o, nil
}

// draw picks an answer by weight for a uniform number u in [0,1).
func (r *rule) draw(u float64) int {
	rest := u * r.weight
	last := 0
	for i := range r.answers {
		w := r.answers[i].weight
		if w <= 0 {
			continue
		}
		if rest < w {
			return i
		}
		rest -= w
		last = i
	}
	return last
}

func (s *Selection) scope(sample int, stream string) *scope {
	v := s.view
	c := v.lastCall()
	sc := &scope{
		User: v.user, System: strings.Join(v.system, "\n"), Assistant: v.assistant,
		ToolName: c.Name, Model: v.Model, Session: v.Session,
		Turn: v.turn, Rounds: v.rounds, Count: s.count, Sample: sample, Seed: s.seed,
		Groups: s.caps.groups, Named: s.caps.named, Messages: v.Messages, Tools: v.Tools,
		view: v, args: c.Arguments, rand: rng.New(s.seed, "script/template\x00"+stream),
	}
	if n := len(v.results); n > 0 {
		sc.ToolResult = v.results[n-1]
	}
	return sc
}
