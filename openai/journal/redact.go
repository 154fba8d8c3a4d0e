package journal

import (
	"net/http"
	"slices"
	"strings"
)

// secretWords mark headers whose values are redacted, wherever they stand in the name.
func secretWords() []string {
	return []string{"authorization", "key", "token", "secret", "cookie", "password", "credential"}
}

// Redact keeps what tells keys apart for people and nothing that could be used: at most the first three and the last
// four characters, of keys that are long enough to lose them.
func Redact(key string) string {
	const least = 16
	switch {
	case key == "":
		return ""
	case len(key) < least:
		return "…"
	default:
		return strings.ToValidUTF8(key[:3], "") + "…" + strings.ToValidUTF8(key[len(key)-4:], "")
	}
}

// redactValue redacts a header value and keeps a scheme like Bearer.
func redactValue(v string) string {
	scheme, rest, ok := strings.Cut(v, " ")
	if ok && len(scheme) <= 10 && !strings.ContainsAny(scheme, "=;:") {
		return scheme + " " + Redact(strings.TrimSpace(rest))
	}
	return Redact(v)
}

// maxHeaderValue bounds what is kept of one header value, in bytes.
const maxHeaderValue = 1024

// redactHeader copies headers with secrets redacted; extra are lower-case names to redact as well.
func redactHeader(h http.Header, extra []string) map[string][]string {
	words := append(secretWords(), extra...)
	out := make(map[string][]string, len(h))
	for name, values := range h {
		secret := isSecret(strings.ToLower(name), words)
		kept := make([]string, len(values))
		for i, v := range values {
			if secret {
				v = redactValue(v)
			}
			// A copy: the value may be part of a much longer header block.
			kept[i] = strings.Clone(cut(v, maxHeaderValue))
		}
		out[strings.Clone(name)] = kept
	}
	return out
}

func isSecret(name string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// keyOf finds the API key of a request in the places where clients put it (spec openai-endpoint X7).
func keyOf(h http.Header) string {
	if a := h.Get("Authorization"); a != "" {
		if scheme, rest, ok := strings.Cut(a, " "); ok && strings.EqualFold(scheme, "bearer") {
			return strings.TrimSpace(rest)
		}
		return a
	}
	if k := h.Get("Api-Key"); k != "" {
		return k
	}
	return h.Get("X-Api-Key")
}
