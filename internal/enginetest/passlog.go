package enginetest

import (
	"fmt"
	"strings"

	"fakellm/engine"
	"fakellm/engine/kv"
)

// PassLog is a Sink that writes what it hears as lines, one per pass or departure, so that two machines can be compared.
type PassLog struct {
	Lines []string
	// Began counts the starts of passes, which must equal the ends.
	Starts, Ends int
}

// Began implements engine.Sink.
func (l *PassLog) Began(*engine.Pass) { l.Starts++ }

// Ended implements engine.Sink.
func (l *PassLog) Ended(p *engine.Pass) {
	l.Ends++
	l.Lines = append(l.Lines, FormatPass(p))
	if n := len(l.Lines); n > tooMany {
		panic("no end: " + strings.Join(l.Lines[n-8:], "\n"))
	}
}

// tooMany passes are more than any load of a test needs: the engine goes round in circles.
const tooMany = 20000

// Left implements engine.Sink.
func (l *PassLog) Left(d engine.Departure) {
	l.Lines = append(l.Lines, fmt.Sprintf("%d left %s", d.At, formatOutput(d.Output)))
}

// FormatPass writes everything about a pass that a scheduler decides.
func FormatPass(p *engine.Pass) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d-%d", p.Start, p.End)
	if p.Prefill.Requests > 0 {
		fmt.Fprintf(&b, " prefill(%d,%d,%d)", p.Prefill.Requests, p.Prefill.MeanISL, p.Prefill.MeanPrefix)
	}
	if p.Decode.Requests > 0 {
		fmt.Fprintf(&b, " decode(%d,%d,%d)", p.Decode.Requests, p.Decode.ActiveKV, p.Decode.MeanContext)
	}
	fmt.Fprintf(&b, " tokens %d/%d", p.PromptTokens, p.ScheduledTokens)
	for _, a := range p.Admitted {
		again := ""
		if a.Again {
			again = " again"
		}
		fmt.Fprintf(&b, " admit[%d +%d%s]", a.Req.ID, a.Cached, again)
	}
	for _, v := range p.Preempted {
		fmt.Fprintf(&b, " preempt[%d %d]", v.Req.ID, v.Blocks)
	}
	for _, o := range p.Outputs {
		fmt.Fprintf(&b, " %s", formatOutput(o))
	}
	fmt.Fprintf(&b, " accepted %d/%d", p.Accepted, p.Forwards)
	for _, e := range p.Events {
		fmt.Fprintf(&b, " %s", formatEvent(e))
	}
	fmt.Fprintf(&b, " after run %d wait %d active %d inactive %d preempted %d",
		p.After.Running, p.After.Waiting, p.After.ActiveBlocks, p.After.InactiveBlocks, p.After.Preemptions)
	return b.String()
}

func formatOutput(o engine.Output) string {
	s := fmt.Sprintf("out[%d +%d cached %d", o.Req.ID, o.Tokens, o.Cached)
	if o.End != engine.Running {
		s += " " + o.End.String()
	}
	if o.Why != nil {
		s += fmt.Sprintf(" %s %d>%d", o.Why.Setting, o.Why.Need, o.Why.Have)
	}
	return s + "]"
}

func formatEvent(e kv.Event) string {
	s := fmt.Sprintf("stored[#%d", e.ID)
	if e.Removed {
		s = fmt.Sprintf("removed[#%d", e.ID)
	}
	if e.HasParent {
		s += fmt.Sprintf(" after %x", uint64(e.Parent)>>48)
	}
	for _, b := range e.Blocks {
		s += fmt.Sprintf(" %x", uint64(b.Sequence)>>48)
		if len(b.Tokens) > 0 {
			s += fmt.Sprint(b.Tokens)
		}
	}
	return s + "]"
}
