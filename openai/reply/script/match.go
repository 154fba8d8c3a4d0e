package script

import (
	"fmt"
	"strconv"

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

// Candidates are the mappings that may answer a request, as far as the request alone can tell.
type Candidates struct {
	view *view
	list []candidate
}

type candidate struct {
	rule *rule
	caps captures
}

// Candidates tries the conditions of all mappings, up to the first that answers whatever the state is. This is the
// costly half of Match and needs no lock. O(mappings · conditions) plus the decoding of the body if a condition asks
// for it.
func (b *Book) Candidates(q *Request) Candidates {
	c := Candidates{view: newView(q)}
	for _, r := range b.rules {
		var caps captures
		if !r.cond.match(c.view, &caps) {
			continue
		}
		c.list = append(c.list, candidate{r, caps})
		if r.RequiredScenarioState == "" && r.Exhausted != exhaustedNext {
			break
		}
	}
	return c
}

// Pick takes the first candidate that the state allows, counts the match in st and moves its scenario. It changes st
// only when it reports true. O(candidates), most often one. Call it once per request, whatever its number of choices,
// and lock st around it.
func (c Candidates) Pick(st *State) (Selection, bool) {
	key := c.view.Session
	for _, k := range c.list {
		if !k.rule.inState(st, key) {
			continue
		}
		before := st.matched(&k.rule.Mapping, key)
		at, ok := k.rule.pick(before, c.view.rounds)
		if !ok {
			continue
		}
		st.advance(&k.rule.Mapping, key)
		return Selection{rule: k.rule, at: at, count: before + 1, seed: st.seed, view: c.view, caps: k.caps}, true
	}
	return Selection{}, false
}

// Match is Candidates and Pick in one, for callers who hold st locked anyway.
func (b *Book) Match(st *State, q *Request) (Selection, bool) { return b.Candidates(q).Pick(st) }

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
		User: v.user, System: v.system, Assistant: v.assistant,
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
