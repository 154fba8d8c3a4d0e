// Package recorder turns what a machine tells into records and gap statistics. It feeds nothing back by itself: whoever
// runs a closed loop is called when a request ends.
//
// It takes runs: a request costs O(1) per run, not per token. It is pure and belongs to one goroutine. Start reading at
// recorder.go, then lane.go.
package recorder
