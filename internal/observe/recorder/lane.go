package recorder

import (
	"slices"

	"fakellm/engine"
	"fakellm/internal/experiment/report"
)

// lane follows the passes of one rank in which tokens came out. Most gaps are those between neighbouring passes,
// shared by everybody who decodes: a request only notes from which pass to which it got a token in every one, and when
// it completes that stretch raises the weight of its gaps by one, as a difference. A gap enters the statistics, once
// with its weight, when no open request can change that any more.
type lane struct {
	// ends holds the ends of passes base, base+1, …; diff, one longer, the change of weight from the gap before pass
	// base+i on.
	ends []engine.Time
	diff []int32
	base int
	// weight is that of the gap before pass base-1, which ended at prev.
	weight int64
	prev   engine.Time
	open   []*Entry
	limit  int
}

// track is where a request stands on its lane.
type track struct {
	// from and last bound the present stretch of passes; last is never before the first token.
	from, last int
	at         engine.Time
	slot       int
	earlier    []stretch
	zeros      int64
	// odd are gaps that are not between neighbouring passes, in ns.
	odd []int64
}

type stretch struct{ from, last int }

const (
	never     = -2 // not the pass before the first, which is -1
	laneLimit = 4096
)

// mark notes a pass and returns its index.
func (l *lane) mark(end engine.Time) int {
	l.ends = append(l.ends, end)
	l.grow()
	return l.base + len(l.ends) - 1
}

// marks notes several passes and returns the index of the first.
func (l *lane) marks(ends []engine.Time) int {
	first := l.base + len(l.ends)
	l.ends = append(l.ends, ends...)
	l.grow()
	return first
}

// grow keeps diff one longer than ends.
func (l *lane) grow() {
	have, want := len(l.diff), len(l.ends)+1
	l.diff = slices.Grow(l.diff, want-have)[:want]
	clear(l.diff[have:])
}

// tokens gives e n tokens at the pass index, which ended at at, ms unrounded.
func (l *lane) tokens(e *Entry, index int, at engine.Time, ms float64, n int) {
	l.step(e, index, at)
	if e.Output == 0 {
		e.FirstToken = ms
	}
	if e.Output < 2 && e.Output+n >= 2 {
		e.SecondToken = ms
	}
	e.Output += n
	e.LastToken = ms
	e.track.zeros += int64(n - 1)
	e.track.last, e.track.at = index, at
}

// step leads e's stretch to index, or begins a new one.
func (l *lane) step(e *Entry, index int, at engine.Time) {
	t := &e.track
	switch t.last {
	case index - 1:
	case never:
		t.from = index
		t.slot = len(l.open)
		l.open = append(l.open, e)
	default:
		if t.last > t.from {
			t.earlier = append(t.earlier, stretch{t.from, t.last})
		}
		t.odd = append(t.odd, int64(at-t.at))
		t.from = index
	}
}

// run gives e one token at every end, the first being pass first. O(1).
func (l *lane) run(e *Entry, first int, ends []engine.Time, behind float64) {
	n := len(ends)
	l.step(e, first, ends[0])
	if e.Output == 0 {
		e.FirstToken = ends[0].Milliseconds() - behind
	}
	if e.Output < 2 && e.Output+n >= 2 {
		e.SecondToken = ends[1-e.Output].Milliseconds() - behind
	}
	e.Output += n
	at := ends[n-1]
	e.LastToken = at.Milliseconds() - behind
	e.track.last, e.track.at = first+n-1, at
}

// close ends e; its gaps enter the statistics if it counts.
func (l *lane) close(e *Entry, counts bool, gaps *report.Gaps) {
	t := &e.track
	if t.last == never {
		return
	}
	final := len(l.open) - 1
	l.open[t.slot] = l.open[final]
	l.open[t.slot].track.slot = t.slot
	l.open[final] = nil
	l.open = l.open[:final]
	if counts {
		l.add(stretch{t.from, t.last})
		for _, s := range t.earlier {
			l.add(s)
		}
		for _, gap := range t.odd {
			gaps.Add(gap, 1)
		}
		if t.zeros > 0 {
			gaps.Add(0, t.zeros)
		}
	}
	e.track = track{last: never, earlier: t.earlier[:0], odd: t.odd[:0]}
}

// add raises the weight of the gaps within s.
func (l *lane) add(s stretch) {
	if s.last == s.from {
		return
	}
	l.diff[s.from+1-l.base]++
	l.diff[s.last+1-l.base]--
}

// flush hands over the gaps that no open request can weigh any more, when there are many or with all, which ends the
// lane. O(1) amortised per pass.
func (l *lane) flush(gaps *report.Gaps, all bool) {
	if len(l.ends) == 0 || !all && len(l.ends) < max(l.limit, laneLimit) {
		return
	}
	n := len(l.ends)
	if !all {
		n = l.settled()
	}
	l.prev, l.weight = report.AddRow(gaps, l.prev, l.weight, l.ends[:n], l.diff)
	l.base += n
	l.ends = l.ends[:copy(l.ends, l.ends[n:])]
	l.diff = l.diff[:copy(l.diff, l.diff[n:])]
	l.limit = 2 * len(l.ends)
}

// settled returns how many passes from base on come before anything that an open request may weigh.
func (l *lane) settled() int {
	n := len(l.ends)
	for _, e := range l.open {
		from := e.track.from
		if len(e.track.earlier) > 0 {
			from = e.track.earlier[0].from
		}
		n = min(n, from+1-l.base)
	}
	return n
}
