// Package trace reads request traces into a workload. One format, one file: mooncake.go. Readers stream, keep nothing
// of a row but its numbers and interned block ids, and name file, line and field in every error.
package trace
