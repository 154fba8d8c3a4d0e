// Package drive moves a machine (an engine, a cluster) through time.
//
// There are two drivers and no third. [Virtual] jumps from event to event without a clock or a goroutine. [Live] is
// one goroutine on the wall clock that does exactly what Virtual would have done by now: inputs are stamped when they
// enter, and a loop that wakes late processes what was due at the time it was due. So a recorded live run replays
// offline to the same timeline, and lateness delays bytes, never the modelled times.
//
// A Live is safe for concurrent use, and so is a [Mailbox]; the machine belongs to the driver. Start reading at
// machine.go.
package drive
