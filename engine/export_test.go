package engine

import (
	"errors"
	"fmt"

	"fakellm/engine/kv"
)

// Audit checks the conservation laws of architecture §7 that can be seen from inside: every request is in one place,
// blocks add up, the books of the cores agree with what they hold. It is for vLLM and TensorRT-LLM.
func (e *Engine) Audit() error {
	var errs []error
	for rank, c := range e.ranks {
		if v, ok := c.(*vllm); ok {
			if err := v.audit(); err != nil {
				errs = append(errs, fmt.Errorf("rank %d: %w", rank, err))
			}
		}
	}
	if inCores := e.inCores(); !e.group.inFlight && inCores != len(e.held) {
		errs = append(errs, fmt.Errorf("%d requests held, %d in the cores", len(e.held), inCores))
	}
	for rank, s := range e.Snapshot().Ranks {
		if s.Running < 0 || s.Waiting < 0 || s.ActiveBlocks < 0 || s.InactiveBlocks < 0 ||
			s.ActiveBlocks+s.InactiveBlocks > s.TotalBlocks {
			errs = append(errs, fmt.Errorf("rank %d: shown %+v", rank, s))
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) inCores() (n int) {
	for _, c := range e.ranks {
		s := c.state()
		n += s.Running + s.Waiting
	}
	return n
}

func (c *vllm) audit() error {
	if err := c.pool.Audit(); err != nil {
		return err
	}
	held := map[kv.Block]int{}
	owed, waiting := 0, 0
	for _, s := range c.byID {
		for _, b := range s.blocks {
			held[b]++
		}
		switch {
		case len(s.blocks) != c.blocksFor(s.allocated):
			return fmt.Errorf("request %d: %d blocks for %d tokens", s.req.ID, len(s.blocks), s.allocated)
		case s.computed > s.len || s.computed > s.allocated || s.published > len(s.blocks):
			return fmt.Errorf("request %d: computed %d of %d, allocated %d", s.req.ID, s.computed, s.len, s.allocated)
		}
		if s.running {
			owed += c.owes(s)
		} else {
			waiting++
		}
	}
	if len(held) != c.pool.Active() {
		return fmt.Errorf("requests hold %d blocks, the pool says %d", len(held), c.pool.Active())
	}
	if owed != c.owed || waiting != c.waiting.n || waiting+len(c.running) != len(c.byID) {
		return fmt.Errorf("owed %d, booked %d; waiting %d, listed %d; running %d of %d",
			owed, c.owed, waiting, c.waiting.n, len(c.running), len(c.byID))
	}
	return nil
}
