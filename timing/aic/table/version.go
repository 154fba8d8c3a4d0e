package table

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pep matches the public part of a version as Python packages write it (PEP 440), with the usual spellings normalised.
var pep = regexp.MustCompile(`^v?(?:(\d+)!)?(\d+(?:\.\d+)*)` +
	`(?:[-_.]?(a|alpha|b|beta|c|rc|pre|preview)[-_.]?(\d*))?` +
	`(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?` +
	`(?:[-_.]?(dev)[-_.]?(\d*))?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

// Version is a parsed PEP 440 version. The zero value is the version 0.
type Version struct {
	epoch   int
	release []int
	// pre orders dev-only < a < b < rc < final: the phase and its number.
	phase, preNum int
	post, dev     int
	local         string
}

// noDev sorts a version without a dev part above any with one.
const noDev = int(^uint(0) >> 1)

// ParseVersion parses s; ok is false for anything that is not a PEP 440 version.
func ParseVersion(s string) (v Version, ok bool) {
	m := pep.FindStringSubmatch(strings.ToLower(strings.TrimSpace(s)))
	if m == nil {
		return v, false
	}
	v.epoch = number(m[1])
	for part := range strings.SplitSeq(m[2], ".") {
		v.release = append(v.release, number(part))
	}
	for len(v.release) > 1 && v.release[len(v.release)-1] == 0 {
		v.release = v.release[:len(v.release)-1]
	}
	v.post, v.dev, v.phase = -1, noDev, 3
	switch m[3] {
	case "a", "alpha":
		v.phase = 0
	case "b", "beta":
		v.phase = 1
	case "c", "rc", "pre", "preview":
		v.phase = 2
	}
	v.preNum = number(m[4])
	if m[5] != "" {
		v.post = number(m[5])
	} else if m[6] != "" {
		v.post = number(m[7])
	}
	if m[8] != "" {
		v.dev = number(m[9])
		if m[3] == "" && v.post < 0 {
			v.phase = -1
		}
	}
	v.local = m[10]
	return v, true
}

// Compare orders versions as PEP 440 does; trailing zeros of the release do not count.
func (v Version) Compare(o Version) int {
	return cmp.Or(
		cmp.Compare(v.epoch, o.epoch),
		slices.Compare(v.release, o.release),
		cmp.Compare(v.phase, o.phase),
		cmp.Compare(v.preNum, o.preNum),
		cmp.Compare(v.post, o.post),
		cmp.Compare(v.dev, o.dev),
		cmp.Compare(v.local, o.local),
	)
}

// number reads a run of digits; "" is 0 and anything too long for an int sorts last.
func number(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return noDev - 1
	}
	return n
}

var numbers = regexp.MustCompile(`\d+`)

// slotRank is the order in which version slots are compared (spec aic-timing §1.1): major, minor, patch, stable above
// release candidate, candidate number, last number after the triple.
func slotRank(s string) []int {
	all := numbers.FindAllString(s, -1)
	rank := make([]int, 6)
	for i := range min(3, len(all)) {
		rank[i] = number(all[i])
	}
	rank[3] = 1
	if i := strings.Index(s, "rc"); i >= 0 {
		rank[3] = 0
		rank[4] = number(numbers.FindString(s[i:]))
	}
	if len(all) > 3 {
		rank[5] = number(all[len(all)-1])
	}
	return rank
}

// leading returns the numbers of the leading dotted triple: 1.3.0rc20 is (1, 3, 0).
func leading(s string) []int {
	var out []int
	for part := range strings.SplitSeq(s, ".") {
		digits := numbers.FindString(part)
		if digits == "" || !strings.HasPrefix(part, digits) {
			break
		}
		out = append(out, number(digits))
		if digits != part {
			break
		}
	}
	return out
}
