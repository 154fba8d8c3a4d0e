package script

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Limits bounds a State. Zero fields take the defaults.
type Limits struct {
	// Sessions kept, the one unused for longest goes first (0: 10,000).
	Sessions int
	// Entries kept per session, counters and scenario states together (0: 1,000). What finds no room stays at its
	// beginning: a sequence gives its first answer, a scenario its first state.
	Entries int
}

// Started is the first state of every scenario, as in WireMock.
const Started = "Started"

// State remembers, per session, how often each mapping matched and which state each scenario is in. It is not safe for
// concurrent use: the caller locks it around Match. Make one with NewState.
type State struct {
	seed     uint64
	limits   Limits
	sessions *simplelru.LRU[string, *session]
	// global counts matches of mappings with that scope.
	global map[string]int
}

type session struct {
	counts    map[string]int
	scenarios map[string]string
}

// NewState returns an empty State whose weighted choices follow seed.
func NewState(seed uint64, l Limits) *State {
	l.Sessions = cmp.Or(l.Sessions, 10_000)
	l.Entries = cmp.Or(l.Entries, 1_000)
	s := &State{seed: seed, limits: l}
	s.Reset()
	return s
}

// Reset forgets everything but the seed.
func (s *State) Reset() {
	s.sessions, s.global = newSessions(s.limits.Sessions), make(map[string]int)
}

// newSessions is an empty list of sessions by last use.
func newSessions(most int) *simplelru.LRU[string, *session] {
	l, err := simplelru.NewLRU[string, *session](most, nil)
	if err != nil {
		panic(fmt.Sprintf("script: room for %d sessions: %v", most, err)) // a negative limit is a bug of the caller
	}
	return l
}

// Sessions is the number of sessions that have state.
func (s *State) Sessions() int { return s.sessions.Len() }

// peek returns a session or nil and changes nothing.
func (s *State) peek(key string) *session {
	e, _ := s.sessions.Peek(key)
	return e
}

// touch returns a session as the newest, making room for it. O(1).
func (s *State) touch(key string) *session {
	e, ok := s.sessions.Get(key)
	if !ok {
		e = &session{counts: make(map[string]int), scenarios: make(map[string]string)}
		s.sessions.Add(key, e)
	}
	return e
}

// matched is how often a mapping matched so far.
func (s *State) matched(m *Mapping, key string) int {
	if m.Scope == scopeGlobal {
		return s.global[m.ID]
	}
	if e := s.peek(key); e != nil {
		return e.counts[m.ID]
	}
	return 0
}

// advance counts a match and moves the scenario.
func (s *State) advance(m *Mapping, key string) {
	moves := m.ScenarioName != "" && m.NewScenarioState != ""
	if m.Scope == scopeGlobal {
		if _, ok := s.global[m.ID]; ok || len(s.global) < s.limits.Entries {
			s.global[m.ID]++
		}
		if !moves {
			return
		}
	}
	e := s.touch(key)
	if _, ok := e.counts[m.ID]; m.Scope != scopeGlobal && (ok || e.room(s.limits)) {
		e.counts[m.ID]++
	}
	if _, ok := e.scenarios[m.ScenarioName]; moves && (ok || e.room(s.limits)) {
		e.scenarios[m.ScenarioName] = m.NewScenarioState
	}
}

func (e *session) room(l Limits) bool { return len(e.counts)+len(e.scenarios) < l.Entries }

// Scenario is the state of a scenario in a session.
func (s *State) Scenario(key, name string) string {
	if e := s.peek(key); e != nil {
		if st, ok := e.scenarios[name]; ok {
			return st
		}
	}
	return Started
}

// SetScenario moves a scenario of a session; Started forgets it.
func (s *State) SetScenario(key, name, state string) {
	e := s.touch(key)
	if state == Started {
		delete(e.scenarios, name)
		return
	}
	if _, ok := e.scenarios[name]; ok || e.room(s.limits) {
		e.scenarios[name] = state
	}
}

// ScenarioStates lists the scenarios of a session that have left their first state, by name.
func (s *State) ScenarioStates(key string) []ScenarioState {
	e := s.peek(key)
	if e == nil {
		return nil
	}
	out := make([]ScenarioState, 0, len(e.scenarios))
	// order: sorted below.
	for name, state := range e.scenarios {
		out = append(out, ScenarioState{Name: name, State: state})
	}
	slices.SortFunc(out, func(a, b ScenarioState) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// ScenarioState is the state of one scenario.
type ScenarioState struct {
	Name  string `json:"name"`
	State string `json:"state"`
}
