package fault

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"
)

// Left is what of a response has really left, and when. The zero value is nothing.
type Left struct {
	// Events that left whole, comments and [DONE] not counted, and Bytes of the body, framing not counted.
	Events, Bytes int64
	// First and Last are the instants at which bytes were handed to the connection; zero when none were.
	First, Last time.Time
	// Passed says since when so many events have left, in order; what left at once is one entry.
	Passed []Passed
}

// Passed is how many events had left at an instant.
type Passed struct {
	Events int64
	At     time.Time
}

// When is the instant at which event number n, from 1, had left whole; zero if it has not. O(log events).
func (l *Left) When(n int64) time.Time {
	i, _ := slices.BinarySearchFunc(l.Passed, n, func(p Passed, n int64) int { return cmp.Compare(p.Events, n) })
	if i == len(l.Passed) {
		return time.Time{}
	}
	return l.Passed[i].At
}

// Left is what has left so far. It is complete when Finish has returned.
func (w *Writer) Left() Left {
	w.leftMu.Lock()
	defer w.leftMu.Unlock()
	return w.left
}

// Ended is why a response ended before all that was written had left: ErrInjected when a fault ended it, another error
// when its client had gone, nil when nothing did. A client that goes with everything in hand ends nothing. It is known
// when Finish has returned.
func (w *Writer) Ended() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	if p := w.pump; err == nil && p != nil {
		p.mu.Lock()
		err = p.err
		p.mu.Unlock()
	}
	if err != nil && !errors.Is(err, ErrInjected) && w.offered == w.Left().Bytes {
		return nil
	}
	return err
}

// leave notes that everything written has left by now.
func (w *Writer) leave() {
	w.leftMu.Lock()
	defer w.leftMu.Unlock()
	w.meter.Leave(&w.left, time.Now())
}

// Meter counts the events in bytes that pass, however they are cut. The zero value is ready.
type Meter struct {
	events, bytes int64
	// line is the start of a line that has not ended, data says that the event has data, last that it is [DONE].
	line       []byte
	data, last bool
}

// Leave notes in l that everything that has passed has left by now. O(1) amortised.
func (m *Meter) Leave(l *Left, now time.Time) {
	if m.bytes == l.Bytes {
		return
	}
	l.Last = now
	if l.Bytes == 0 {
		l.First = now
	}
	if m.events > l.Events {
		l.Passed = append(l.Passed, Passed{m.events, now})
	}
	l.Events, l.Bytes = m.events, m.bytes
}

// Pass counts p. O(len(p)).
func (m *Meter) Pass(p []byte) {
	m.bytes += int64(len(p))
	for _, c := range p {
		switch {
		case c != '\n':
			if len(m.line) < len(doneEvent) {
				m.line = append(m.line, c)
			}
			continue
		case len(m.line) > 0:
			m.data = m.data || bytes.HasPrefix(m.line, []byte("data:"))
			m.last = m.last || string(m.line) == doneEvent[:len(doneEvent)-len("\n\n")]
		default:
			if m.data && !m.last {
				m.events++
			}
			m.data, m.last = false, false
		}
		m.line = m.line[:0]
	}
}
