package tokenize

import "unicode/utf8"

// AppendToken appends the bytes of one token, which need not be whole characters. A token of the template appends its
// name, such as <|im_start|>; an id that is neither appends U+FFFD.
func (e *Encoding) AppendToken(dst []byte, id uint32) []byte {
	switch {
	case e.vocab == nil && id < approxSpecial.first:
		return appendGroup(dst, id)
	case e.vocab != nil && int(id) < e.vocab.size():
		return append(dst, e.vocab.token(id)...)
	}
	if name := e.special.name(id); name != "" {
		return append(dst, name...)
	}
	return utf8.AppendRune(dst, utf8.RuneError)
}

// Decode returns the text of ids. For ids that AppendEncode made of valid text it is that text (in the approx mode:
// unless the text has NUL bytes); ids cut anywhere may end in half a character.
func (e *Encoding) Decode(ids []uint32) string {
	var buf []byte
	for _, id := range ids {
		buf = e.AppendToken(buf, id)
	}
	return string(buf)
}

// AppendPieces decodes ids for a stream that sends one piece per token. It appends the text to text and, for every id,
// the length of text so far to ends: the piece of ids[i] is text[ends[i-1]:ends[i]]. No piece ends inside a code point:
// a token that ends there has a shorter, possibly empty, piece and the token that completes the character carries
// all of it. Bytes at the end that never become a character are dropped, as serving engines drop them. Bytes that can
// belong to none, from ids in an order that no text has, become U+FFFD. ends counts from the start of text.
func (e *Encoding) AppendPieces(text []byte, ends []uint32, ids []uint32) ([]byte, []uint32) {
	done := len(text)
	for _, id := range ids {
		text = e.AppendToken(text, id)
		whole := done + completeBytes(text[done:])
		if !utf8.Valid(text[done:whole]) {
			held := string(text[whole:])
			text = append(append(text[:done], validText(string(text[done:whole]))...), held...)
			whole = len(text) - len(held)
		}
		done = whole
		ends = append(ends, uint32(done))
	}
	return text[:done], ends
}
