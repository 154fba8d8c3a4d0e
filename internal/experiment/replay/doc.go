// Package replay runs a workload against a cluster in virtual time and returns what happened to every request.
//
// It is pure: equal arguments give equal results, to the byte. Start reading at replay.go. README.md says how its
// answers are compared with the reference simulator's.
package replay
