package kv

import "slices"

// Resident appends the hash of every cached block to dst, ascending. O(blocks log blocks): for looking, not for serving.
func (p *Pool) Resident(dst []SequenceHash) []SequenceHash {
	from := len(dst)
	for i := range p.blocks {
		if kind := p.blocks[i].kind(); kind == primary || kind == anonymous {
			dst = append(dst, p.blocks[i].hash)
		}
	}
	slices.Sort(dst[from:])
	return dst
}
