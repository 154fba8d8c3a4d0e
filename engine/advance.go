package engine

import "fmt"

// stamped is an input that waits for its instant.
type stamped struct {
	at Time
	in Input
}

// Apply hands in an outside event. It takes effect at its instant, after the completions of that instant and before the
// next pass starts; Advance carries it out. Instants must not go back. Bad input is an error and changes nothing.
func (e *Engine) Apply(at Time, in Input) error {
	if e.err != nil {
		return e.err
	}
	last := e.now
	if n := len(e.inbox); n > e.taken {
		last = max(last, e.inbox[n-1].at)
	}
	if at < last {
		return fmt.Errorf("engine: apply at %d: instant %d has passed", at, last)
	}
	switch in := in.(type) {
	case Submit:
		if err := e.check(in.Request); err != nil {
			return err
		}
		if _, twice := e.coming[in.Request.ID]; twice {
			return fmt.Errorf("engine: request %d: already handed in", in.Request.ID)
		}
		e.coming[in.Request.ID] = struct{}{}
	case Cancel, ResetPrefixCache:
	default:
		return fmt.Errorf("engine: apply: unknown input %T", in)
	}
	e.inbox = append(e.inbox, stamped{at: at, in: in})
	return nil
}

// Advance runs everything due up to and including an instant, in event order: at one instant completions, then inputs
// in the order of Apply, then the next pass, and again until nothing changes. Calling it more often changes nothing.
// An error is that of the timing model and ends the engine.
func (e *Engine) Advance(to Time, sink Sink) error {
	for {
		at, ok := e.Next()
		if !ok || at > to {
			break
		}
		e.Complete(at, sink)
		if err := e.applyDue(at, sink); err != nil {
			return err
		}
		if err := e.Drive(at, sink); err != nil {
			return err
		}
	}
	if e.run.planned && e.run.ends[0] <= to {
		if err := e.cut(to, true); err != nil {
			return err
		}
	}
	e.now = max(e.now, to)
	return e.err
}

// applyDue carries out the inputs of an instant. Inputs that a sink applies meanwhile wait for the next repetition.
func (e *Engine) applyDue(at Time, sink Sink) error {
	end := e.taken
	for end < len(e.inbox) && e.inbox[end].at <= at {
		end++
	}
	for e.taken < end {
		in := e.inbox[e.taken].in
		e.inbox[e.taken] = stamped{}
		e.taken++
		var err error
		switch in := in.(type) {
		case Submit:
			delete(e.coming, in.Request.ID)
			err = e.Submit(at, in.Request)
		case Cancel:
			e.Cancel(at, in.ID, sink)
		case ResetPrefixCache:
			err = e.ResetPrefixCache(at)
		}
		if err != nil {
			return err
		}
	}
	if 2*e.taken >= len(e.inbox) {
		e.inbox = e.inbox[:copy(e.inbox, e.inbox[e.taken:])]
		e.taken = 0
	}
	return nil
}
