package enginetest

import "slices"

// twinCopy is a physical block of the twin.
type twinCopy struct {
	hash   uint64
	cached bool
	refs   int
}

// twinPool is the block pool of spec engine-core §5, written with maps and slices and without a thought about speed.
type twinPool struct {
	capacity int
	copies   map[int]*twinCopy
	// holders lists the cached copies of each hash, the primary first.
	holders map[uint64][]int
	// idle lists the cached copies nobody uses, the next victim first.
	idle []int
	next int
}

func newTwinPool(capacity int) *twinPool {
	return &twinPool{capacity: capacity, copies: map[int]*twinCopy{}, holders: map[uint64][]int{}}
}

func (p *twinPool) active() int { return len(p.copies) - len(p.idle) }

func (p *twinPool) lookup(hash uint64) (id int, ok bool) {
	if ids := p.holders[hash]; len(ids) > 0 {
		return ids[0], true
	}
	return 0, false
}

// allocate takes the hits and as many private copies as asked for, or nothing. It returns what it had to remove.
func (p *twinPool) allocate(hits []int, fresh int) (ids []int, removed []uint64, ok bool) {
	idleHits := 0
	for _, id := range hits {
		if p.copies[id].refs == 0 {
			idleHits++
		}
	}
	evictions := max(0, fresh-(p.capacity-len(p.copies)))
	if evictions > len(p.idle)-idleHits && evictions > 0 {
		return nil, nil, false
	}
	for _, id := range hits {
		p.copies[id].refs++
		p.idle = slices.DeleteFunc(p.idle, func(other int) bool { return other == id })
	}
	for range evictions {
		victim := p.idle[0]
		p.idle = p.idle[1:]
		removed = append(removed, p.drop(victim)...)
	}
	ids = slices.Clone(hits)
	for range fresh {
		p.next++
		p.copies[p.next] = &twinCopy{refs: 1}
		ids = append(ids, p.next)
	}
	return ids, removed, true
}

// drop deletes a cached copy and returns its hash if it was the last of it.
func (p *twinPool) drop(id int) []uint64 {
	hash := p.copies[id].hash
	delete(p.copies, id)
	p.holders[hash] = slices.DeleteFunc(p.holders[hash], func(other int) bool { return other == id })
	if len(p.holders[hash]) > 0 {
		return nil
	}
	delete(p.holders, hash)
	return []uint64{hash}
}

// publish caches a private copy and says whether its hash is new.
func (p *twinPool) publish(id int, hash uint64) bool {
	p.copies[id].cached, p.copies[id].hash = true, hash
	p.holders[hash] = append(p.holders[hash], id)
	return len(p.holders[hash]) == 1
}

func (p *twinPool) release(id int) {
	c := p.copies[id]
	c.refs--
	switch {
	case c.refs > 0:
	case c.cached:
		p.idle = append(p.idle, id)
	default:
		delete(p.copies, id)
	}
}

// clear removes all idle copies.
func (p *twinPool) clear() (removed []uint64) {
	for _, id := range p.idle {
		removed = append(removed, p.drop(id)...)
	}
	p.idle = nil
	return removed
}
