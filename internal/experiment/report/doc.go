// Package report turns records of requests into figures: the summary in the reference's own keys, one JSON line per
// request, a table to read.
//
// The record is the contract between stages: offline replay and the HTTP bench write it, everything here and behind
// reads it. The package is pure. Start reading at record.go, then summary.go.
package report
