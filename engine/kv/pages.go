package kv

// Pages is SGLang's page pool: how many pages of a rank's memory are free. Which page a token lies in never shows in
// anything a scheduler decides or reports (keys are hashes of content, events carry hashes, equal pages are counted), so
// pages are counted, not numbered: the order in which the reference reuses page ids (spec engine-core §4.8) has no
// effect to reproduce. Every operation is O(1).
type Pages struct {
	total, free int
}

// NewPages returns a pool of total pages, all free.
func NewPages(total int) Pages { return Pages{total: total, free: total} }

// Total is the number of pages of the pool.
func (p *Pages) Total() int { return p.total }

// Free is the number of pages nobody owns: neither a request nor the tree.
func (p *Pages) Free() int { return p.free }

// Take removes n pages from the free ones. It is all or nothing: false changes nothing.
func (p *Pages) Take(n int) bool {
	if n > p.free {
		return false
	}
	p.free -= n
	return true
}

// Give returns n pages. Returning more than were taken is a broken invariant and panics.
func (p *Pages) Give(n int) {
	if p.free += n; p.free > p.total || n < 0 {
		panic("kv: more pages returned than taken")
	}
}

// PagesFor is the number of pages of size tokens that hold n tokens.
func PagesFor(n, size int) int { return (n + size - 1) / size }
