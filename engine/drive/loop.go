package drive

import (
	"maps"
	"slices"
	"time"

	"fakellm/engine"
)

// loop is the only goroutine that touches the machine.
//
// Stamps and the loop's own reading of the clock are taken under one lock, so whatever is stamped after a reading is
// stamped at or after it; only what lies before the reading is settled. An input can therefore never belong to an
// instant that has been settled already.
func (l *Live) loop() {
	defer close(l.done)
	defer l.cfg.Sleeper.Close()
	l.cfg.Sleeper.Start()
	for {
		batch, now, stop := l.collect()
		if stop {
			l.end(ErrClosed)
			return
		}
		l.apply(batch)
		if l.err == nil {
			l.err = l.machine.Advance(now-1, (*ears)(l))
		}
		if l.err != nil {
			l.end(l.err)
		}
		l.answer(batch)
		clear(batch)
		l.spare = batch[:0]
		l.rest()
	}
}

// collect takes the inbox and reads the clock.
func (l *Live) collect() (batch []entry, now engine.Time, stop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch, l.inbox = l.inbox, l.spare
	l.spare = nil
	l.fresh = 0
	return batch, l.clock(), l.stop
}

func (l *Live) apply(batch []entry) {
	for _, e := range batch {
		if e.in == nil || l.err != nil {
			continue
		}
		if e.box != nil {
			l.boxes[e.box.req.ID] = e.box
		}
		if err := l.machine.Apply(e.at, e.in); err != nil {
			if e.box != nil {
				l.finish(e.box, e.at, engine.Rejected, nil, err)
			}
			continue
		}
		if l.cfg.Record != nil {
			l.cfg.Record(e.at, e.in)
		}
	}
}

func (l *Live) answer(batch []entry) {
	for _, e := range batch {
		if e.ask != nil {
			e.ask()
		}
	}
}

// rest sleeps until the machine's next event lies in the past, or news comes.
func (l *Live) rest() {
	next, ok := l.machine.Next()
	if !ok || l.err != nil {
		l.cfg.Sleeper.Sleep(time.Time{})
		return
	}
	due := l.Wall(next + 1)
	if time.Until(due) <= 0 {
		return
	}
	if l.cfg.Sleeper.Sleep(due) && l.cfg.Late != nil {
		l.cfg.Late(time.Since(due))
	}
}

// end fails every open mailbox, in order of submission, those still in the inbox too.
func (l *Live) end(err error) {
	l.mu.Lock()
	l.refuse = err
	left := l.inbox
	l.inbox = nil
	l.mu.Unlock()
	for _, e := range left {
		if e.box != nil {
			l.boxes[e.box.req.ID] = e.box
		}
	}
	at := l.clock()
	for _, id := range slices.Sorted(maps.Keys(l.boxes)) {
		l.finish(l.boxes[id], at, engine.Failed, nil, err)
	}
	l.answer(left)
}

// finish closes a mailbox that the machine does not end itself.
func (l *Live) finish(box *Mailbox, at engine.Time, end engine.End, why *engine.Refusal, err error) {
	box.finish(at, end, why, err)
	box.call()
	l.closed(box)
}

// closed forgets a mailbox that has ended.
func (l *Live) closed(box *Mailbox) {
	delete(l.boxes, box.req.ID)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.open == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// ears is a Live as the sink of its machine.
type ears Live

var _ engine.CacheSink = (*ears)(nil)

// Began implements engine.Sink.
func (e *ears) Began(p *engine.Pass) {
	for _, s := range e.cfg.Sinks {
		s.Began(p)
	}
	for i := range p.Admitted {
		if box, ok := p.Admitted[i].Req.Owner.(*Mailbox); ok {
			box.admit(p.Start, p.Admitted[i])
		}
	}
}

// Ended implements engine.Sink.
func (e *ears) Ended(p *engine.Pass) {
	for _, s := range e.cfg.Sinks {
		s.Ended(p)
	}
	for i := range p.Outputs {
		e.deliver(p.End, &p.Outputs[i])
	}
}

// Left implements engine.Sink.
func (e *ears) Left(d engine.Departure) {
	for _, s := range e.cfg.Sinks {
		s.Left(d)
	}
	e.deliver(d.At, &d.Output)
}

// Changed implements engine.CacheSink.
func (e *ears) Changed(c engine.CacheChange) {
	for _, s := range e.cfg.Sinks {
		if s, ok := s.(engine.CacheSink); ok {
			s.Changed(c)
		}
	}
}

func (e *ears) deliver(at engine.Time, out *engine.Output) {
	box, ok := out.Req.Owner.(*Mailbox)
	if !ok {
		return
	}
	box.put(at, out)
	box.call() // before it counts as closed: after a drain nobody is woken any more
	if out.End != engine.Running {
		(*Live)(e).closed(box)
	}
}
