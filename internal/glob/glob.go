// Package glob matches shell patterns over names that hold slashes, such as model ids and routes. It is pure.
package glob

// Match reports whether the whole of s fits pattern: * is any run of bytes, slashes included, ? is one byte. It takes
// O(len(s)·len(pattern)) at worst and does not recurse, so a pattern from outside cannot hold anything up.
func Match(pattern, s string) bool {
	si, pi, star, mark := 0, 0, -1, 0
	for si < len(s) {
		switch {
		case pi < len(pattern) && pattern[pi] == '*':
			star, mark = pi, si
			pi++
		case pi < len(pattern) && (pattern[pi] == '?' || pattern[pi] == s[si]):
			si++
			pi++
		case star >= 0:
			mark++
			si, pi = mark, star+1
		default:
			return false
		}
	}
	for pi < len(pattern) && pattern[pi] == '*' {
		pi++
	}
	return pi == len(pattern)
}
