// Package workload says what is asked of a cluster and when: sessions of turns, from a trace or made up from a seed,
// and the feed that releases them, by their timestamps or in a closed loop.
//
// It is pure. A [Load] is immutable once built and may be shared; a [Feed] belongs to one run. Package trace reads
// files into a Load. Start reading at load.go, then feed.go.
package workload
