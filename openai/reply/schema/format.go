package schema

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// formats makes a text for every format of the standard, and for those beyond it that pydantic and OpenAPI use. A
// format that is not here says nothing, as the standard wants.
var formats = map[string]func(*generator) string{
	"date-time": func(g *generator) string { return g.date() + "T" + g.clock() + "Z" },
	"date":      (*generator).date,
	"time":      func(g *generator) string { return g.clock() + "Z" },
	"duration":  (*generator).duration,
	"email":     (*generator).email,
	"idn-email": (*generator).email,
	"hostname":  (*generator).host, "idn-hostname": (*generator).host,
	"ipv4": func(g *generator) string {
		return fmt.Sprintf("192.0.2.%d", 1+g.below(254)) // RFC 5737, for documentation
	},
	"ipv6": func(g *generator) string { return fmt.Sprintf("2001:db8::%x:%x", 1+g.below(0xfffe), 1+g.below(0xfffe)) },
	"uri":  (*generator).uri, "iri": (*generator).uri,
	"uri-reference": (*generator).reference, "iri-reference": (*generator).reference,
	"uri-template": func(g *generator) string { return "https://example.org/" + g.one(plainWords) + "/{id}" },
	"uuid":         (*generator).uuid,
	"json-pointer": func(g *generator) string { return fmt.Sprintf("/%s/%d", g.one(plainWords), g.below(10)) },
	"relative-json-pointer": func(g *generator) string {
		return fmt.Sprintf("%d/%s", g.below(3), g.one(plainWords))
	},
	// Beyond the standard.
	"uuid1": (*generator).uuid1, "uuid3": (*generator).uuid3, "uuid4": (*generator).uuid, "uuid5": (*generator).uuid5,
	"ipv4network":     func(g *generator) string { return fmt.Sprintf("10.%d.0.0/16", g.below(256)) },
	"ipv6network":     func(g *generator) string { return fmt.Sprintf("2001:db8:%x::/48", g.below(0xffff)) },
	"ipv4interface":   func(g *generator) string { return fmt.Sprintf("192.0.2.%d/24", 1+g.below(254)) },
	"ipv6interface":   func(g *generator) string { return fmt.Sprintf("2001:db8::%x/64", 1+g.below(0xfffe)) },
	"ipvanyaddress":   func(g *generator) string { return fmt.Sprintf("192.0.2.%d", 1+g.below(254)) },
	"ipvanynetwork":   func(g *generator) string { return fmt.Sprintf("10.%d.0.0/16", g.below(256)) },
	"ipvanyinterface": func(g *generator) string { return fmt.Sprintf("192.0.2.%d/24", 1+g.below(254)) },
	"base64":          (*generator).base64, "byte": (*generator).base64, "base64url": (*generator).base64,
	"path": (*generator).path, "file-path": (*generator).path, "directory-path": (*generator).path,
	"phone":       func(g *generator) string { return "+1-212-555-01" + g.digits(2) },
	"json-string": func(g *generator) string { return "{}" },
	"color":       func(g *generator) string { return fmt.Sprintf("#%06x", g.below(1<<24)) },
	"regex":       func(g *generator) string { return "^" + g.one(plainWords) + "[a-z]*$" },
}

func (g *generator) date() string {
	return fmt.Sprintf("20%02d-%02d-%02d", 20+g.below(10), 1+g.below(12), 1+g.below(28))
}

func (g *generator) clock() string {
	return fmt.Sprintf("%02d:%02d:%02d", g.below(24), g.below(60), g.below(60))
}

func (g *generator) duration() string {
	return g.one([]string{
		fmt.Sprintf("P%dD", 1+g.below(30)), fmt.Sprintf("PT%dH%dM", 1+g.below(23), 1+g.below(59)),
		fmt.Sprintf("P%dDT%dH", 1+g.below(9), 1+g.below(23)), fmt.Sprintf("PT%dS", 1+g.below(59)),
	})
}

// email is short in later tries, for schemas with a low maxLength.
func (g *generator) email() string {
	if g.below(3) == 0 {
		return g.one([]string{"a", "bo", "cy"}) + "@b.co"
	}
	return strings.ToLower(g.one(firstNames)) + "." + strings.ToLower(g.one(lastNames)) + "@example.com"
}

func (g *generator) host() string {
	return g.one(plainWords) + "." + g.one([]string{"example.com", "example.org", "example.net"})
}

func (g *generator) uri() string {
	return "https://" + g.one([]string{"example.com/", "example.org/", "www.example.net/"}) + g.one(plainWords)
}

func (g *generator) reference() string { return "/" + g.one(plainWords) + "/" + g.one(plainWords) }

func (g *generator) path() string { return "/data/" + g.one(plainWords) + "/" + g.one(plainWords) }

// base64 is short and without padding, so that it serves both alphabets.
func (g *generator) base64() string {
	return base64.RawStdEncoding.EncodeToString([]byte(g.words(12, 12)))
}

func (g *generator) uuid() string  { return g.uuidOf(4) }
func (g *generator) uuid1() string { return g.uuidOf(1) }
func (g *generator) uuid3() string { return g.uuidOf(3) }
func (g *generator) uuid5() string { return g.uuidOf(5) }

// uuidOf is random but for its version.
func (g *generator) uuidOf(version uint64) string {
	a, b := g.rnd.Next(), g.rnd.Next()
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, version<<12|a&0xfff, 0x8000|b>>48&0x3fff,
		b&0xffffffffffff)
}
