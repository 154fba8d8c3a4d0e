package tokenize

import (
	_ "embed"
	"fmt"
	"math/bits"
	"strings"
)

//go:embed vocab/o200k_base.bin
var o200kFile string

//go:embed vocab/cl100k_base.bin
var cl100kFile string

const (
	none    = ^uint32(0) // no token
	idBits  = 18         // ids fit in 18 bits, the rest of a table slot is a tag from the hash
	idMask  = 1<<idBits - 1
	maxText = 255 // bytes of the longest token, at most
)

// vocab is a list of tokens and an open-addressing table over it. A token's rank in merging is its id.
type vocab struct {
	text  string   // all tokens, in id order
	start []uint32 // start[id] is where token id begins in text; one more than there are tokens
	table []uint32 // slot: tag<<idBits | id+1; 0 is empty. Less than half full, so probes are short
	shift uint     // 64 - log2(len(table))
	byte1 [256]uint32
	byte2 []uint32 // the token of two bytes, by first<<8 | second, or none: where every merge begins
}

// loadVocab reads an embedded file (format: internal/genvocab). The text stays in the binary's read-only data.
func loadVocab(data string) (*vocab, error) {
	n := strings.IndexByte(data, 0)
	if n <= 0 || n >= idMask {
		return nil, fmt.Errorf("%d tokens, want 1 to %d", n, idMask-1)
	}
	v := &vocab{text: data[n+1:], start: make([]uint32, n+1)}
	for id := range n {
		v.start[id+1] = v.start[id] + uint32(data[id])
	}
	if int(v.start[n]) != len(v.text) {
		return nil, fmt.Errorf("%d bytes of text, want %d", len(v.text), v.start[n])
	}
	v.byte2 = make([]uint32, 1<<16)
	for i := range v.byte2 {
		v.byte2[i] = none
	}
	logSize := uint(bits.Len(uint(n))) + 1
	v.table, v.shift = make([]uint32, 1<<logSize), 64-logSize
	for id := range uint32(n) {
		v.insert(id)
		if t := v.token(id); len(t) == 2 {
			v.byte2[int(t[0])<<8|int(t[1])] = id
		}
	}
	for b := range v.byte1 {
		v.byte1[b] = v.lookup(string([]byte{byte(b)}))
		if v.byte1[b] == none {
			return nil, fmt.Errorf("no token for byte %#x", b)
		}
	}
	return v, nil
}

// size is the number of tokens.
func (v *vocab) size() int { return len(v.start) - 1 }

// token returns the bytes of id, which must be below size.
func (v *vocab) token(id uint32) string { return v.text[v.start[id]:v.start[id+1]] }

// lookup returns the id of the token s, or none. s is not empty. O(len(s)) expected.
func (v *vocab) lookup(s string) uint32 {
	if len(s) > maxText {
		return none
	}
	h := hash(s)
	tag := uint32(h) &^ idMask
	for i := h >> v.shift; ; i = (i + 1) & uint64(len(v.table)-1) {
		slot := v.table[i]
		if slot == 0 {
			return none
		}
		if slot&^idMask == tag && v.token(slot&idMask-1) == s {
			return slot&idMask - 1
		}
	}
}

// pair returns the id of the token of two bytes, or none.
func (v *vocab) pair(a, b byte) uint32 { return v.byte2[int(a)<<8|int(b)] }

func (v *vocab) insert(id uint32) {
	h := hash(v.token(id))
	i := h >> v.shift
	for v.table[i] != 0 {
		i = (i + 1) & uint64(len(v.table)-1)
	}
	v.table[i] = uint32(h)&^idMask | (id + 1)
}

// hash mixes a non-empty string; its high bits pick the slot and bits 18 to 31 are the tag. Most tokens have at most 8
// bytes and take one multiplication.
func hash(s string) uint64 {
	const k1, k2 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	n := len(s)
	h := uint64(n) * k1
	for len(s) > 8 {
		h = (h ^ le64(s)) * k2
		h ^= h >> 32
		s = s[8:]
	}
	var x uint64
	switch {
	case len(s) == 8:
		x = le64(s)
	case len(s) >= 4:
		x = le32(s) | le32(s[len(s)-4:])<<32
	default:
		x = uint64(s[0]) | uint64(s[len(s)/2])<<8 | uint64(s[len(s)-1])<<16
	}
	h = (h ^ x) * k2
	h ^= h >> 32
	return h * k1
}

func le64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func le32(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}
