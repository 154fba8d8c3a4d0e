package openai

import (
	"slices"
	"strings"
)

// part checks one piece of content (spec openai-endpoint R2).
func (c checker) part(field string, b *partBody, kinds []string) (Part, error) {
	if err := required(field+".type", b.Type); err != nil {
		return Part{}, err
	}
	if !slices.Contains(kinds, *b.Type) {
		return Part{}, oneOf(field+".type", b.Type, kinds...)
	}
	p := Part{Kind: *b.Type}
	switch p.Kind {
	case "text":
		if b.Text == nil {
			return p, missing(field + ".text")
		}
		p.Text = *b.Text
	case "refusal":
		if b.Refusal == nil {
			return p, missing(field + ".refusal")
		}
		p.Text = *b.Refusal
	case "image_url":
		return p, c.image(field+".image_url", &p, b)
	case "input_audio":
		return p, c.sound(field+".input_audio", &p, b)
	case "file":
		if b.File == nil || (b.File.FileData == nil && b.File.FileID == nil) {
			return p, missing(field + ".file")
		}
		set(&p.Detail, b.File.Filename)
		set(&p.Data, b.File.FileID)
		set(&p.Data, b.File.FileData)
	}
	return p, nil
}

func (c checker) image(field string, p *Part, b *partBody) error {
	if b.ImageURL == nil {
		return missing(field)
	}
	if err := required(field+".url", b.ImageURL.URL); err != nil {
		return err
	}
	if err := oneOf(field+".detail", b.ImageURL.Detail, "auto", "low", "high", "original"); err != nil {
		return err
	}
	p.Data = *b.ImageURL.URL
	set(&p.Detail, b.ImageURL.Detail)
	if c.policy == PolicyLenient {
		return nil
	}
	scheme, rest, _ := strings.Cut(p.Data, ":")
	ok := rest != ""
	switch strings.ToLower(clip(scheme)) {
	case "http", "https":
		ok = ok && strings.HasPrefix(rest, "//") && len(rest) > len("//")
	case "data":
		ok = ok && strings.Contains(rest, ",")
	case "file": // vLLM and SGLang read files of their own machine
		ok = ok && c.dialect != DialectOpenAI
	default:
		ok = false
	}
	if !ok {
		return badRequest(field+".url", codeValue, "invalid '%s.url': %q is neither an http(s) URL nor a data URL", field, clip(p.Data))
	}
	return nil
}

func (c checker) sound(field string, p *Part, b *partBody) error {
	if b.InputAudio == nil {
		return missing(field)
	}
	if err := required(field+".data", b.InputAudio.Data); err != nil {
		return err
	}
	if err := required(field+".format", b.InputAudio.Format); err != nil {
		return err
	}
	if err := oneOf(field+".format", b.InputAudio.Format, "wav", "mp3"); err != nil {
		return err
	}
	p.Data, p.Detail = *b.InputAudio.Data, *b.InputAudio.Format
	if c.policy != PolicyLenient && !isBase64(p.Data) {
		return badRequest(field+".data", codeValue, "invalid '%s.data': %q is not base64", field, clip(p.Data))
	}
	return nil
}

// isBase64 says whether s is standard base64 with its padding (RFC 4648 §4); line breaks do not count. It decodes
// nothing. O(len(s)).
func isBase64(s string) bool {
	n, pad := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\r' || c == '\n':
			continue
		case c == '=':
			pad++
		case pad > 0 || !alphabet(c):
			return false
		}
		n++
	}
	return n%4 == 0 && pad <= 2
}

// alphabet says whether c is one of the 64 characters.
func alphabet(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}
