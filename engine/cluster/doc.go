// Package cluster puts equal workers on one timeline: it orders what happens at one instant, routes arrivals and tells
// one sink what all of them do.
//
// A [Cluster] is a machine with the four doors of the house: Apply queues an outside event, Next says when something
// happens by itself, Advance runs everything due, Snapshot copies a view. It is pure and belongs to one goroutine; a
// driver of package drive owns it.
//
// # One instant
//
// All passes that end complete, by worker; then outside events are applied, arrivals routed one by one; then the
// workers touched by either start their next pass, by worker. This repeats until nothing changes, so an arrival at the
// instant at which a pass ends joins the pass that starts then (spec simulation-harness §4.2).
//
// Start reading at cluster.go, then instant.go.
package cluster
