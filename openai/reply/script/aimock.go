package script

import (
	"fmt"
	"regexp"
	"strings"
)

// fixtures is a fixture file of CopilotKit's aimock, as far as it can be expressed in mappings.
type fixtures struct {
	Fixtures []fixture `json:"fixtures"`
}

type fixture struct {
	Match    fixtureMatch    `json:"match"`
	Response fixtureResponse `json:"response"`
	// Latency and chunk settings of a fixture are the engine's business here; they are read and dropped.
	Latency   *float64 `json:"latency"`
	ChunkSize *int     `json:"chunkSize"`
	Opts      *Value   `json:"opts"`
}

type fixtureMatch struct {
	UserMessage        *string `json:"userMessage"`
	SystemMessage      *string `json:"systemMessage"`
	Model              *string `json:"model"`
	ToolName           *string `json:"toolName"`
	ToolCallID         *string `json:"toolCallId"`
	ToolResultContains *string `json:"toolResultContains"`
	TurnIndex          *int    `json:"turnIndex"`
	SequenceIndex      *int    `json:"sequenceIndex"`
	HasToolResult      *bool   `json:"hasToolResult"`
}

type fixtureResponse struct {
	Content      *string    `json:"content"`
	ToolCalls    []ToolCall `json:"toolCalls"`
	Reasoning    string     `json:"reasoning"`
	FinishReason string     `json:"finishReason"`
	Error        *struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    string `json:"code"`
	} `json:"error"`
	Status int `json:"status"`
}

// ParseAimock reads a fixture file of aimock: user and system messages contain, the first fixture wins, sequenceIndex
// orders the answers of fixtures that match alike. Keys without a counterpart are errors, so nothing is lost silently.
func ParseAimock(name string, data []byte) (*Book, error) {
	root, err := parseTree(name, data)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, fmt.Errorf("%s: empty, an object with fixtures is expected", name)
	}
	d := newDecoder(name)
	var f fixtures
	d.fill(root, &f, "", 0)
	if err := d.err(); err != nil {
		return nil, err
	}
	list := make([]Mapping, 0, len(f.Fixtures))
	sequences := make(map[string]int)
	for i := range f.Fixtures {
		m := f.Fixtures[i].mapping()
		if seq := f.Fixtures[i].Match.SequenceIndex; seq != nil {
			cond, _ := marshal(m.Request)
			at, ok := sequences[string(cond)]
			if !ok {
				at = len(list)
				sequences[string(cond)] = at
				list = append(list, Mapping{Request: m.Request, Responses: []Reply{}, Exhausted: exhaustedNext})
			}
			if *seq != len(list[at].Responses) {
				return nil, fmt.Errorf("%s: fixtures[%d].match.sequenceIndex: %d, expected %d: indexes count from 0 in file order",
					name, i, *seq, len(list[at].Responses))
			}
			list[at].Responses = append(list[at].Responses, *m.Response)
			continue
		}
		list = append(list, m)
	}
	return build(list, func(i int) string { return fmt.Sprintf("%s: mapping %d of the import", name, i) })
}

func (f *fixture) mapping() Mapping {
	contains := func(s *string) *Text {
		if s == nil {
			return nil
		}
		return &Text{Contains: s}
	}
	q := Condition{
		User: contains(f.Match.UserMessage), System: contains(f.Match.SystemMessage),
		ToolResult: contains(f.Match.ToolResultContains), HasToolResults: f.Match.HasToolResult,
	}
	if f.Match.Model != nil {
		// Fixtures name a model family: the id or the id with a dated suffix.
		re := "^" + regexp.QuoteMeta(*f.Match.Model) + "($|-)"
		q.Model = &Text{Matches: &re}
	}
	if f.Match.ToolCallID != nil {
		q.ToolCallID = &Text{EqualTo: f.Match.ToolCallID}
	}
	if f.Match.ToolName != nil {
		q.Tools = []string{*f.Match.ToolName}
	}
	if f.Match.TurnIndex != nil {
		q.Turn = &Range{Min: f.Match.TurnIndex, Max: f.Match.TurnIndex}
	}
	r := Reply{
		Text: f.Response.Content, ToolCalls: f.Response.ToolCalls, Reasoning: f.Response.Reasoning,
		FinishReason: f.Response.FinishReason, Raw: f.templates(),
	}
	if e := f.Response.Error; e != nil {
		r.Error = &Failure{Status: 500, Message: e.Message, Type: e.Type, Code: e.Code}
		if f.Response.Status != 0 {
			r.Error.Status = f.Response.Status
		}
	}
	return Mapping{Request: q, Response: &r}
}

// templates reports whether the answer holds what we would take for a template; fixtures have none.
func (f *fixture) templates() bool {
	has := f.Response.Content != nil && strings.Contains(*f.Response.Content, "{{")
	for i := range f.Response.ToolCalls {
		a := f.Response.ToolCalls[i].Arguments
		has = has || (a != nil && strings.Contains(a.String(), "{{"))
	}
	return has || strings.Contains(f.Response.Reasoning, "{{")
}
