package fault

import (
	"bytes"
	"time"
)

// Left is what of a response has really left, and when. The zero value is nothing.
type Left struct {
	// Events that left whole, comments and [DONE] not counted, and Bytes of the body, framing not counted.
	Events, Bytes int64
	// First and Last are the instants at which bytes were handed to the connection; zero when none were.
	First, Last time.Time
}

// Left is what has left so far. It is complete when Finish has returned.
func (w *Writer) Left() Left {
	w.leftMu.Lock()
	defer w.leftMu.Unlock()
	return w.left
}

// leave notes that everything written has left by now.
func (w *Writer) leave() {
	w.leftMu.Lock()
	defer w.leftMu.Unlock()
	if w.meter.bytes == w.left.Bytes {
		return
	}
	w.left.Last = time.Now()
	if w.left.Bytes == 0 {
		w.left.First = w.left.Last
	}
	w.left.Events, w.left.Bytes = w.meter.events, w.meter.bytes
}

// meter counts the events in bytes that pass, however they are cut. The zero value is ready.
type meter struct {
	events, bytes int64
	// line is the start of a line that has not ended, data says that the event has data, last that it is [DONE].
	line       []byte
	data, last bool
}

// pass counts p. O(len(p)).
func (m *meter) pass(p []byte) {
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
