package schema

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// textShape is what the schemas say about a string.
type textShape struct {
	low, high         int // length in code points
	patterns, formats []string
	base64            bool
	lowBy, patternBy  *object
	formatBy          *object
}

func (sp *spec) textShape() textShape {
	t := textShape{high: manyItems, lowBy: sp.objects[0]}
	for _, o := range sp.objects {
		if n := o.count("minLength"); n > t.low {
			t.low, t.lowBy = n, o
		}
		if o.has("maxLength") {
			t.high = min(t.high, o.count("maxLength"))
		}
		if p, ok := o.m["pattern"].(string); ok && !slices.Contains(t.patterns, p) {
			t.patterns, t.patternBy = append(t.patterns, p), o
		}
		if f := o.text("format"); formats[f] != nil && !slices.Contains(t.formats, f) {
			t.formats, t.formatBy = append(t.formats, f), o
		}
		t.base64 = t.base64 || o.text("contentEncoding") == "base64"
	}
	return t
}

const (
	textTries = 60
	// longestText bounds a string in code points; a longer minLength is refused.
	longestText = 1 << 16
	// maxChars bounds the bytes of all texts tried for one value.
	maxChars = 1 << 21
)

// text makes a string: for a format or a pattern if there is one, else words that suit the member's name.
func (g *generator) text(sp *spec) (any, *Error) {
	t := sp.textShape()
	if t.low > t.high {
		return nil, impossible(t.lowBy, "minLength", "%d is more than maxLength %d", t.low, t.high)
	}
	if t.low > longestText {
		return nil, unsupported(t.lowBy, "minLength", "more than %d characters are not made", longestText)
	}
	var short, mismatch bool
	for try := range textTries {
		if g.chars > maxChars || g.work > maxWork {
			break
		}
		g.work += try & 1
		s, ok := g.candidate(&t, try)
		g.chars += len(s)
		if !ok {
			mismatch = true
			continue
		}
		if n := utf8.RuneCountInString(s); n < t.low || n > t.high {
			short = true
			continue
		}
		if !slices.ContainsFunc(t.patterns, func(p string) bool { return !g.matches(p, s) }) {
			return s, nil
		}
		if g.slow {
			return nil, unsupported(t.patternBy, "pattern", "takes too long to match")
		}
		mismatch = true
	}
	switch {
	case mismatch && t.patternBy != nil:
		return nil, impossible(t.patternBy, "pattern", "no text found that fits all patterns and lengths")
	case short && t.formatBy != nil:
		return nil, impossible(t.formatBy, "format", "no text found with %d to %d characters", t.low, t.high)
	default:
		return nil, impossible(t.lowBy, "minLength", "no text found with %d to %d characters", t.low, t.high)
	}
}

// candidate proposes a string; which way, depends on the try.
func (g *generator) candidate(t *textShape, try int) (string, bool) {
	ways := len(t.formats) + len(t.patterns)
	if len(t.patterns) > 1 && try%2 == 1 {
		return g.joined(t.patterns, t.low, t.high)
	}
	switch i := try % max(ways, 1); {
	case ways == 0 && t.base64:
		n := 3 * max(1, t.low/4+g.below(4))
		return base64.StdEncoding.EncodeToString([]byte(g.words(n, n)))[:4*n/3], true
	case ways == 0:
		return g.plainText(t.low, t.high), true
	case i < len(t.formats):
		return formats[t.formats[i]](g), true
	default:
		return g.match(t.patterns[i-len(t.formats)], t.low, t.high)
	}
}

// plainText is a value that suits the member's name if it has the right length, else words.
func (g *generator) plainText(low, high int) string {
	if s := g.hinted(); s != "" && len(s) >= low && len(s) <= high {
		return s
	}
	return g.words(low, high)
}

// words makes low to high letters of words, about twenty if that is allowed.
func (g *generator) words(low, high int) string {
	goal := min(max(low, 8+g.below(16)), high)
	b := make([]byte, 0, goal+16)
	for len(b) < goal {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, plainWords[g.below(len(plainWords))]...)
	}
	if len(b) <= high {
		return string(b)
	}
	b = b[:goal]
	if goal > 0 && b[goal-1] == ' ' {
		b[goal-1] = 's'
	}
	return string(b)
}

// sentence is a few words with a capital and a full stop.
func (g *generator) sentence() string {
	s := "The " + g.words(24, manyItems) + "."
	return s
}

func (g *generator) one(list []string) string { return list[g.below(len(list))] }

// hinted is a value for a well-known member name, or nothing.
func (g *generator) hinted() string {
	name := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(g.hint))
	for _, h := range hints {
		for suffix := range strings.FieldsSeq(h.names) {
			if strings.HasSuffix(name, suffix) || strings.HasSuffix(name, suffix+"s") {
				return h.make(g)
			}
		}
	}
	return ""
}

// hints are tried in order, by the end of a name.
var hints = []struct {
	names string
	make  func(*generator) string
}{
	{"email mail", func(g *generator) string { return formats["email"](g) }},
	{"url uri link website homepage href", func(g *generator) string { return formats["uri"](g) }},
	{"phone phonenumber mobile", func(g *generator) string { return "+1-555-01" + g.digits(2) }},
	{"uuid guid", func(g *generator) string { return formats["uuid"](g) }},
	{"firstname givenname", func(g *generator) string { return g.one(firstNames) }},
	{"lastname familyname surname", func(g *generator) string { return g.one(lastNames) }},
	{"username login handle", func(g *generator) string { return strings.ToLower(g.one(firstNames)) + g.digits(2) }},
	{"filename path file", func(g *generator) string { return "/data/" + g.one(plainWords) + ".txt" }},
	{"cityname city town location place destination origin", func(g *generator) string { return g.one(cities) }},
	{"name author person customer participant attendee", func(g *generator) string {
		return g.one(firstNames) + " " + g.one(lastNames)
	}},
	{"country nation", func(g *generator) string { return g.one(countries) }},
	{"currency", func(g *generator) string { return g.one([]string{"EUR", "USD", "GBP", "JPY", "CHF"}) }},
	{"language locale", func(g *generator) string { return g.one([]string{"en", "de", "fr", "es", "ja"}) }},
	{"zip zipcode postcode postalcode", func(g *generator) string { return "1" + g.digits(4) }},
	{"street address", func(g *generator) string { return g.digits(1) + "2 " + g.one(lastNames) + " Street" }},
	{"birthday date day deadline", func(g *generator) string { return formats["date"](g) }},
	{"createdat updatedat timestamp datetime", func(g *generator) string { return formats["date-time"](g) }},
	{"color colour", func(g *generator) string { return g.one([]string{"red", "green", "blue", "amber", "white"}) }},
	{"query question sql", func(g *generator) string { return g.words(12, manyItems) }},
	{
		"description summary content reason reasoning explanation text message body answer output thought comment " +
			"note step",
		(*generator).sentence,
	},
	{"id key code sku", func(g *generator) string { return g.one(plainWords) + "-" + g.digits(4) }},
	{"tag keyword category label type kind topic status", func(g *generator) string { return g.one(plainWords) }},
}

func (g *generator) digits(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('0' + g.below(10))
	}
	return string(b)
}
