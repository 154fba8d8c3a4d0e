package enginetest

import (
	"fmt"
	"strconv"
	"strings"

	"fakellm/engine"
	"fakellm/engine/kv"
)

// PassLog is a Sink that writes what it hears as lines, one per pass or departure, so that two machines can be
// compared.
type PassLog struct {
	Lines []string
	// Starts and Ends count the two sides of passes, which must be equal.
	Starts, Ends int
	// Unit divides instants in the lines; 0 for nanoseconds.
	Unit engine.Time
}

// Began implements engine.Sink.
func (l *PassLog) Began(*engine.Pass) { l.Starts++ }

// Ended implements engine.Sink.
func (l *PassLog) Ended(p *engine.Pass) {
	l.Ends++
	l.Lines = append(l.Lines, FormatPass(p, l.Unit))
	if n := len(l.Lines); n > tooMany {
		panic("no end: " + strings.Join(l.Lines[n-8:], "\n"))
	}
}

// tooMany passes are more than any load of a test needs: the engine goes round in circles.
const tooMany = 20000

// Left implements engine.Sink.
func (l *PassLog) Left(d engine.Departure) {
	l.Lines = append(l.Lines, fmt.Sprintf("%s left %s", stamp(d.At, l.Unit), formatOutput(d.Output)))
}

// Ran implements engine.RunSink.
func (l *PassLog) Ran(r *engine.Run) {
	end := r.Ends[len(r.Ends)-1]
	var line strings.Builder
	fmt.Fprintf(&line, "%s-%s run of %d passes:", stamp(r.Start, l.Unit), stamp(end, l.Unit), len(r.Ends))
	for _, req := range r.Requests {
		fmt.Fprintf(&line, " %d", req.ID)
	}
	for _, o := range r.Outputs {
		line.WriteString(" " + formatOutput(o))
	}
	l.Lines = append(l.Lines, line.String())
}

// stamp writes an instant in units.
func stamp(t, unit engine.Time) string {
	if unit == 0 {
		return strconv.FormatInt(int64(t), 10)
	}
	return strconv.FormatFloat(float64(t)/float64(unit), 'g', -1, 64)
}

// FormatPass writes everything about a pass that a scheduler decides. Instants are divided by unit; 0 for nanoseconds.
func FormatPass(p *engine.Pass, unit engine.Time) string {
	var b strings.Builder
	if p.Worker > 0 || p.Rank > 0 {
		fmt.Fprintf(&b, "rank %d.%d ", p.Worker, p.Rank)
	}
	fmt.Fprintf(&b, "%s-%s", stamp(p.Start, unit), stamp(p.End, unit))
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
	if p.Forwards > 0 {
		fmt.Fprintf(&b, " accepted %d/%d", p.Accepted, p.Forwards)
	}
	for _, e := range p.Events {
		fmt.Fprintf(&b, " %s", formatEvent(e))
	}
	fmt.Fprintf(&b, " after run %d wait %d active %d inactive %d preempted %d",
		p.After.Running, p.After.Waiting, p.After.ActiveBlocks, p.After.InactiveBlocks, p.After.Preemptions)
	if l := p.Load; l != nil {
		fmt.Fprintf(&b, " load prefill %d/%d/%d var %g decode %d/%d var %g queued prefill %d/%d var %g decode %d/%d var %g",
			l.PrefillRequests, l.PrefillTokens, l.PrefillKVTokens, l.PrefillVar, l.DecodeRequests, l.DecodeKVTokens, l.DecodeVar,
			l.QueuedPrefillRequests, l.QueuedPrefillTokens, l.QueuedPrefillVar,
			l.QueuedDecodeRequests, l.QueuedDecodeKVTokens, l.QueuedDecodeVar)
	}
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
