package tokenize

import "unicode/utf8"

// approxBytes is the length of a token in the approx mode.
const approxBytes = 4

// appendApprox appends one id per group of four bytes, the last group padded with zero bytes: the group itself, read as
// a little-endian number. So equal prefixes of text have equal prefixes of ids, different groups never collide, and no
// table is needed. Text that is UTF-8 has no byte above 0xf4, which leaves ids from 0xf5000000 up for the template.
func appendApprox(dst []uint32, text string) []uint32 {
	for len(text) >= approxBytes {
		dst = append(dst, uint32(le32(text)))
		text = text[approxBytes:]
	}
	if text != "" {
		var id uint32
		for i := range len(text) {
			id |= uint32(text[i]) << (8 * i)
		}
		dst = append(dst, id)
	}
	return dst
}

// appendGroup is the inverse of appendApprox for one id. Zero bytes at the end of a group are taken for padding.
func appendGroup(dst []byte, id uint32) []byte {
	for ; id != 0; id >>= 8 {
		dst = append(dst, byte(id))
	}
	return dst
}

// completeBytes returns how much of text ends with a whole code point: at most 3 bytes are held back.
func completeBytes(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if i := len(text) - back; utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}
