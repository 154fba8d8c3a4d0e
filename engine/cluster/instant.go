package cluster

import (
	"fmt"
	"slices"

	"fakellm/engine"
)

// Advance runs everything due up to and including to, in the order of the package comment, and tells sink. If sink is
// an [engine.RunSink] and the workers are configured for it, steady decode is told in bulk. An error (the timing model
// cannot price a pass) is final: every later call returns it too. Each event costs O(log workers) beside the pass
// itself.
func (c *Cluster) Advance(to engine.Time, sink engine.Sink) error {
	if c.err != nil {
		return c.err
	}
	told := c.listen(sink)
	for {
		at, ok := c.Next()
		if !ok || at > to {
			break
		}
		c.now = max(c.now, at)
		if err := c.instant(at, told); err != nil {
			c.err = err
			return err
		}
	}
	c.now = max(c.now, to)
	return nil
}

// instant settles the time at: completions, inputs, starts, until nothing changes.
func (c *Cluster) instant(at engine.Time, sink engine.Sink) error {
	for {
		for {
			w, ok := c.agenda.due(at)
			if !ok {
				break
			}
			c.agenda.set(w, 0, false)
			c.workers[w].Complete(at, sink)
			c.touch(w)
		}
		for {
			in, ok := c.inputs.take(at)
			if !ok {
				break
			}
			if err := c.enter(at, in, sink); err != nil {
				return err
			}
		}
		if len(c.touched) == 0 {
			return nil
		}
		if err := c.drive(at, sink); err != nil {
			return err
		}
	}
}

// touch notes that w must be driven before the instant is over.
func (c *Cluster) touch(w int32) {
	if !c.marked[w] {
		c.marked[w] = true
		c.touched = append(c.touched, w)
	}
}

func (c *Cluster) enter(at engine.Time, in engine.Input, sink engine.Sink) error {
	switch in := in.(type) {
	case engine.Submit:
		w := c.router.Route(at, in.Request, c.active)
		if w < 0 || w >= len(c.workers) {
			return fmt.Errorf("router chose worker %d of %d for request %d", w, len(c.workers), in.Request.ID)
		}
		if err := c.workers[w].Submit(at, in.Request); err != nil {
			return fmt.Errorf("worker %d: %w", w, err)
		}
		c.held[in.Request.ID] = int32(w)
		c.touch(int32(w))
	case engine.Cancel:
		if w, ok := c.held[in.ID]; ok && w != queued {
			c.workers[w].Cancel(at, in.ID, sink)
			c.touch(w)
		}
	case engine.ResetPrefixCache:
		for i, w := range c.workers {
			if err := w.ResetPrefixCache(at); err != nil {
				return fmt.Errorf("worker %d: %w", i, err)
			}
			c.touch(int32(i))
		}
	}
	return nil
}

// drive lets the touched workers start their next pass, in ascending order, and notes when they are due again.
func (c *Cluster) drive(at engine.Time, sink engine.Sink) error {
	slices.Sort(c.touched)
	for _, w := range c.touched {
		c.marked[w] = false
		if err := c.workers[w].Drive(at, sink); err != nil {
			return fmt.Errorf("worker %d: %w", w, err)
		}
		due, ok := c.workers[w].Next()
		c.agenda.set(w, due, ok)
	}
	c.touched = c.touched[:0]
	return nil
}
