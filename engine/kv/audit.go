package kv

import "fmt"

// Audit walks the whole pool and returns the first broken invariant: counters that disagree with the copies, an LRU
// list or an index that misses one or holds a stranger. It takes O(blocks) and is for tests.
func (p *Pool) Audit() error {
	copies, inactive, primaries := 0, 0, 0
	for i := range p.blocks {
		c := &p.blocks[i]
		if c.kind() == unused {
			continue
		}
		copies++
		if c.kind() != private && !c.inUse() {
			inactive++
		}
		if c.kind() == private && !c.inUse() {
			return fmt.Errorf("block %d: private and held by nobody", i)
		}
		if c.kind() == primary {
			primaries++
			if b, ok := p.Lookup(c.hash); !ok || b != Block(i) {
				return fmt.Errorf("block %d: the index has %d for its hash", i, b)
			}
		}
		if c.kind() == duplicate {
			if b, ok := p.Lookup(c.hash); !ok || b == Block(i) {
				return fmt.Errorf("block %d: a duplicate without primary", i)
			}
		}
	}
	if copies != p.copies || inactive != p.inactive || primaries != p.index.count {
		return fmt.Errorf("counted %d copies, %d inactive, %d primaries, booked %d, %d, %d",
			copies, inactive, primaries, p.copies, p.inactive, p.index.count)
	}
	if p.reserved < 0 || p.copies+p.reserved > p.capacity {
		return fmt.Errorf("%d copies and %d reserved in a pool of %d", p.copies, p.reserved, p.capacity)
	}
	listed := 0
	for b := p.lruHead; b != none; b = p.blocks[b].next {
		if listed++; p.blocks[b].inUse() || listed > inactive {
			return fmt.Errorf("block %d: in the LRU list by mistake", b)
		}
	}
	if listed != inactive {
		return fmt.Errorf("%d of %d inactive blocks are listed", listed, inactive)
	}
	return nil
}
