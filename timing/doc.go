// Package timing says how long the two halves of a pass take.
//
// A [Source] answers in raw milliseconds; [New] turns one into the engine's step model by rounding to whole nanoseconds
// and scaling by the speed-ups, exactly as spec engine-core §6.5 has it. Sources with data of their own live in the
// packages below: timing/profile (measured grids), timing/aic (operator tables), timing/analytic (closed forms). The
// ones here need no data: [Polynomial], [Fixed] and [Zero].
//
// A Source is immutable once built and safe for concurrent use. A step model counts and memoises, so it belongs to one
// goroutine: build one per engine, replay or sweep cell; that is cheap.
//
// Start reading at source.go, then model.go.
package timing
