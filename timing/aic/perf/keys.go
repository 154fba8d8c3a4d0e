package perf

import (
	"maps"
	"slices"
	"strings"
)

// listKeys names the keys of a table for the "nearest" part of a message, at most eight of them, sorted.
func listKeys[V any](m map[string]V, prefix string) string {
	keys := slices.Sorted(maps.Keys(m))
	if len(keys) == 0 {
		return ""
	}
	if len(keys) > 8 {
		keys = append(keys[:8], "...")
	}
	return prefix + strings.Join(keys, ",")
}
